//! The package `secrets_service` for Python. This crate only translates: what it does is
//! secrets-core's.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use secrets_core::crypto::{self, Key, ProjectKey, Purpose, RecordContext, Sealed, TokenText};
use secrets_core::ids;
use uuid::Uuid;
use zeroize::Zeroizing;

create_exception!(
    secrets_service,
    Undecryptable,
    PyException,
    "A record does not decrypt: it was moved, changed or cut, or the key is another."
);

/// Secrets, opened by the crates that seal them.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{Undecryptable, is_plausible_token, open_record};
}

/// Opens a sealed record: gives its value if the record is whole and belongs where it is said to.
#[pyfunction]
#[pyo3(signature = (
    record, *, key, key_version, purpose, hidden, instance, project, environment, object, key_name, version
))]
#[expect(clippy::too_many_arguments, reason = "in Python they are named")]
fn open_record(
    record: &[u8],
    key: &[u8],
    key_version: u32,
    purpose: u8,
    hidden: bool,
    instance: &str,
    project: &str,
    environment: Option<&str>,
    object: &str,
    key_name: &str,
    version: u64,
) -> PyResult<String> {
    if key_name.len() > 255 {
        return Err(invalid("key_name: must be at most 255 bytes"));
    }
    let key = ProjectKey::new(&key_of(key)?, key_version);
    let context = RecordContext {
        purpose: Purpose::from_number(purpose)
            .ok_or_else(|| invalid("purpose: no such purpose"))?,
        hidden,
        instance: id("instance", instance)?.into(),
        project: id("project", project)?.into(),
        environment: environment.map(|text| id("environment", text)).transpose()?.map(Into::into),
        object: id("object", object)?,
        key: key_name,
        version,
    };
    match Sealed::from_bytes(record.to_vec()).open(&key, &context) {
        Ok(value) => Ok(value.reveal().to_owned()),
        Err(error) => Err(undecryptable(error)),
    }
}

/// Whether a text can be a service token: says no to a typing error, without asking a server.
#[pyfunction]
fn is_plausible_token(text: &str) -> bool {
    TokenText::is_plausible(text)
}

fn key_of(bytes: &[u8]) -> PyResult<Key> {
    let bytes = bytes.try_into().map_err(|_| invalid("key: must be 32 bytes"))?;
    Ok(Key::from_bytes(Zeroizing::new(bytes)))
}

fn id(name: &str, text: &str) -> PyResult<Uuid> {
    ids::parse(text).ok_or_else(|| invalid(&format!("{name}: must be a UUID")))
}

fn invalid(message: &str) -> PyErr {
    PyValueError::new_err(message.to_owned())
}

fn undecryptable(error: crypto::Undecryptable) -> PyErr {
    Undecryptable::new_err(error.to_string())
}
