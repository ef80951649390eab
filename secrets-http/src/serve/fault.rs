//! Errors of a request, and their responses.

use std::sync::Arc;

use secrets_core::model::{Bound, Code, Error, ErrorBody, Time};
use warp::http::header::{ALLOW, CONNECTION, RETRY_AFTER, WWW_AUTHENTICATE};
use warp::http::{HeaderValue, StatusCode};
use warp::reply::Response;

use crate::serve::reply;

/// Error of a request: the error of an operation, or an error specific to HTTP.
#[derive(Debug)]
pub enum Fault {
    /// Error that an operation has returned.
    Operation(Error),
    /// The path does not support the method. Contains the allowed methods.
    Method(Vec<&'static str>),
    /// The body is larger than the route's limit, which is given in bytes.
    TooLarge(usize),
    /// The client has not sent the body in time.
    TooSlow,
}

/// Error that led to a response. The response carries it so that it can be logged.
#[derive(Debug, Clone)]
pub struct Logged(pub Arc<Error>);

impl Fault {
    /// Returns the limit that caused the error, if the service refused the request because of one
    /// of its limits.
    pub fn bound(&self) -> Option<Bound> {
        match self {
            Self::Operation(error) => error.bound(),
            Self::TooLarge(_) => Some(Bound::RequestSize),
            Self::Method(_) | Self::TooSlow => None,
        }
    }

    /// Returns the HTTP status and the message of the response. Used for HTML pages.
    pub fn status_and_message(&self) -> (StatusCode, String) {
        match self {
            Self::Operation(error) => (status(error), error.to_string()),
            Self::Method(_) => (StatusCode::METHOD_NOT_ALLOWED, "method not allowed".to_owned()),
            Self::TooLarge(limit) => {
                (StatusCode::PAYLOAD_TOO_LARGE, format!("the body must be at most {limit} bytes"))
            }
            Self::TooSlow => {
                (StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time".to_owned())
            }
        }
    }

    /// Converts the error to a response. `Retry-After` is computed from `now`.
    pub fn into_response(self, now: Time) -> Response {
        if let Self::Operation(error) = self {
            return operation_response(error, now);
        }
        let (status, text) = self.status_and_message();
        let mut response = error_response(status, &text);
        match self {
            Self::Method(allowed) => {
                if let Ok(allowed) = HeaderValue::from_str(&allowed.join(", ")) {
                    response.headers_mut().insert(ALLOW, allowed);
                }
            }
            Self::TooSlow => {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Self::Operation(_) | Self::TooLarge(_) => {}
        }
        response
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Operation(error)
    }
}

/// Returns the HTTP status of an error. The `match` has no wildcard arm, so that every new error
/// must be given a status.
#[deny(clippy::wildcard_enum_match_arm)]
fn status(error: &Error) -> StatusCode {
    match error {
        Error::Refused { code: Code::AnswerTooLarge, .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Error::Invalid(_) | Error::Refused { .. } => StatusCode::BAD_REQUEST,
        Error::Unauthenticated(_) | Error::Expired => StatusCode::UNAUTHORIZED,
        Error::AddressNotAllowed(_) | Error::Forbidden(_) | Error::ApprovalRequired(_) => {
            StatusCode::FORBIDDEN
        }
        Error::NotFound(_) => StatusCode::NOT_FOUND,
        Error::Conflict(_) | Error::Stale(_) | Error::Outdated(_) => StatusCode::CONFLICT,
        Error::PlanLimit(_) | Error::RateLimited { .. } => StatusCode::TOO_MANY_REQUESTS,
        Error::Unavailable(_) | Error::Unconfirmed(_) => StatusCode::SERVICE_UNAVAILABLE,
        Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn operation_response(error: Error, now: Time) -> Response {
    let status = status(&error);
    let mut response = reply::json(status, &ErrorBody::of(&error));
    let headers = response.headers_mut();
    if matches!(error, Error::Unauthenticated(_) | Error::Expired) {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Some(seconds) = error.retry_after(now.timestamp()) {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if status.is_server_error() {
        response.extensions_mut().insert(Logged(Arc::new(error)));
    }
    response
}

/// Creates the response for an error that is specific to HTTP, with a JSON body.
fn error_response(status: StatusCode, error: &str) -> Response {
    let code = Code::InvalidRequest.as_str();
    reply::json(status, &ErrorBody { error: error.to_owned(), code, details: None, limit: None })
}
