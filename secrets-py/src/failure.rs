//! Conversion of errors into the Python exceptions of the package.

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use secrets_core::engine::StartError;
use secrets_core::model::{Error, ErrorBody};
use secrets_core::store::StoreError;
use secrets_core::store::sql::Failure;

/// Creates the exception for a failed operation. `now` is the current time in seconds since 1970;
/// the exception for a rate limit gets the number of seconds from `now` to the end of the limit.
pub(crate) fn refused(py: Python<'_>, error: &Error, now: i64) -> PyErr {
    let retry_after = error.retry_after(now);
    let answer = match serde_json::to_string(&ErrorBody::of(error)) {
        Ok(answer) => answer,
        Err(error) => return crate::invalid(&error.to_string()),
    };
    made(py, "of_answer", (error.kind(), answer, retry_after))
}

/// Creates the exception for a service that cannot start. The message of the exception contains no
/// text from the database server, because that text could contain the password.
pub(crate) fn not_started(py: Python<'_>, error: &StartError) -> PyErr {
    let reason = match error {
        StartError::Store(StoreError::Unavailable(cause) | StoreError::Corrupt(cause)) => {
            cause.downcast_ref::<Failure>()
        }
        _ => None,
    };
    let message = match reason {
        Some(reason) => format!("{error}: {reason}"),
        None => error.to_string(),
    };
    made(py, "NotStarted", (message,))
}

/// Creates an exception by calling the class or function `name` of `secrets_service._errors`.
pub(crate) fn made<'py>(py: Python<'py>, name: &str, arguments: impl PyCallArgs<'py>) -> PyErr {
    let exception = py
        .import("secrets_service._errors")
        .and_then(|module| module.getattr(name))
        .and_then(|class| class.call1(arguments));
    exception.map_or_else(|error| error, PyErr::from_value)
}
