//! What a request can fail by, and the answer to each.

use std::sync::Arc;

use secrets_core::model::{Code, Error, ErrorBody, Time};
use warp::http::header::{ALLOW, CONNECTION, RETRY_AFTER, WWW_AUTHENTICATE};
use warp::http::{HeaderValue, StatusCode};
use warp::reply::Response;

use crate::reply;

/// Why a request has no answer of its own: an operation's error, or one that only HTTP knows.
#[derive(Debug)]
pub enum Fault {
    /// The operation did not happen.
    Operation(Error),
    /// The path is known, the method is not.
    Method(Vec<&'static str>),
    /// The body is larger than the route takes.
    TooLarge(usize),
    /// The body did not arrive in time.
    TooSlow,
}

/// The error behind an answer, for the log.
#[derive(Debug, Clone)]
pub struct Logged(pub Arc<Error>);

impl Fault {
    /// The status of the answer and its text, for a page to tell.
    pub fn told(&self) -> (StatusCode, String) {
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

    /// The answer. `now` tells how long to wait where waiting helps.
    pub fn into_response(self, now: Time) -> Response {
        let (status, text) = self.told();
        match self {
            Self::Operation(error) => operation(error, now),
            Self::Method(allowed) => {
                let mut response = plain(status, &text);
                if let Ok(allowed) = HeaderValue::from_str(&allowed.join(", ")) {
                    response.headers_mut().insert(ALLOW, allowed);
                }
                response
            }
            Self::TooLarge(_) => plain(status, &text),
            Self::TooSlow => {
                let mut response = plain(status, &text);
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                response
            }
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Operation(error)
    }
}

/// The status of each error; a new one does not compile without.
#[deny(clippy::wildcard_enum_match_arm)]
fn status(error: &Error) -> StatusCode {
    match error {
        Error::Invalid(_) | Error::Refused { .. } => StatusCode::BAD_REQUEST,
        Error::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        Error::Elsewhere(_) | Error::Forbidden(_) => StatusCode::FORBIDDEN,
        Error::NotFound(_) => StatusCode::NOT_FOUND,
        Error::Conflict(_) | Error::Stale(_) => StatusCode::CONFLICT,
        Error::PlanLimit(_) | Error::RateLimited(_) => StatusCode::TOO_MANY_REQUESTS,
        Error::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn operation(error: Error, now: Time) -> Response {
    let status = status(&error);
    let mut response = reply::json(status, &ErrorBody::of(&error));
    let headers = response.headers_mut();
    match &error {
        Error::Unauthenticated(_) => {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        Error::RateLimited(until) => {
            // Rounded up: a moment too early would be refused again.
            let seconds = (until.timestamp() - now.timestamp()).max(1);
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        Error::Unavailable(_) => {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("5"));
        }
        _ => {}
    }
    if status.is_server_error() {
        response.extensions_mut().insert(Logged(Arc::new(error)));
    }
    response
}

/// An error that only HTTP knows.
fn plain(status: StatusCode, error: &str) -> Response {
    let code = Code::InvalidRequest.as_str();
    reply::json(status, &ErrorBody { error: error.to_owned(), code, details: None, limit: None })
}
