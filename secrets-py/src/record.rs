//! Function that decrypts a stored record without a service.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use secrets_core::crypto::{self, Key, ProjectKey, Purpose, RecordContext, Sealed};
use secrets_core::model::ids;
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::invalid;

create_exception!(
    secrets_service,
    Undecryptable,
    PyException,
    "A record does not decrypt: it was moved, changed or truncated, or the key is wrong."
);

/// Decrypts a stored record. Fails unless the record is intact and was encrypted for this context
/// (purpose, IDs, key name and version).
#[pyfunction]
#[pyo3(signature = (
    record, *, key, key_version, purpose, hidden, instance, project, environment, object, key_name, version
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub(crate) fn open_record(
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
    let key = ProjectKey::new(&key_of("key", key)?, key_version);
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

/// Creates an encryption key from its 32 bytes. `name` is the name of the argument, for the error
/// message.
pub(crate) fn key_of(name: &str, bytes: &[u8]) -> PyResult<Key> {
    let bytes = bytes.try_into().map_err(|_| invalid(&format!("{name}: must be 32 bytes")))?;
    Ok(Key::from_bytes(Zeroizing::new(bytes)))
}

fn id(name: &str, text: &str) -> PyResult<Uuid> {
    ids::parse(text).ok_or_else(|| invalid(&format!("{name}: must be a UUID")))
}

fn undecryptable(error: crypto::Undecryptable) -> PyErr {
    Undecryptable::new_err(error.to_string())
}
