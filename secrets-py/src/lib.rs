//! The package `secrets_service` for Python. This crate only translates: what it does is
//! secrets-core's.

mod bundle;
mod failure;
mod offline;
mod open;
mod process;
mod record;
mod service;
mod upkeep;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use self::process::Process;

/// Secrets, opened by the crates that seal them.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::bundle::{Bundle, bundle_key_kind, new_key_pair, public_key};
    #[pymodule_export]
    use super::end;
    #[pymodule_export]
    use super::offline::{is_plausible_token, parse, render, scan, verify_webhook};
    #[pymodule_export]
    use super::record::{Undecryptable, open_record};
    #[pymodule_export]
    use super::service::{Service, Session};
}

/// Forbids the threads of this package to touch the interpreter from now on.
#[pyfunction]
fn end(py: Python<'_>) {
    Process::end(py);
}

/// An argument that cannot be one.
fn invalid(message: &str) -> PyErr {
    PyValueError::new_err(message.to_owned())
}
