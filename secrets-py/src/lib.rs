//! Native module of the Python package `secrets_service`. This crate only translates between
//! Python and secrets-core.

mod bundle;
mod failure;
mod hidden;
mod offline;
mod open;
mod process;
mod record;
mod service;
mod values;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use self::process::Process;

/// Native part of the Python package: Python classes and functions that use the same Rust code as
/// the service.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::bundle::{Bundle, bundle_key_kind, new_key_pair, public_key};
    #[pymodule_export]
    use super::end;
    #[pymodule_export]
    use super::hidden::hide;
    #[pymodule_export]
    use super::offline::{is_plausible_token, parse, render, scan, verify_webhook};
    #[pymodule_export]
    use super::record::{Undecryptable, open_record};
    #[pymodule_export]
    use super::service::{Service, Session};
}

/// Prevents the threads of this package from entering the Python interpreter. Called when the
/// interpreter shuts down.
#[pyfunction]
fn end(py: Python<'_>) {
    Process::end(py);
}

/// Creates a Python `ValueError` for an invalid argument.
fn invalid(message: &str) -> PyErr {
    PyValueError::new_err(message.to_owned())
}
