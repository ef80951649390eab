//! Responses of the service.

use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::failure::{Exit, Failure};

/// Maximum size of a response, in bytes. Larger responses are refused; the service does not send
/// them.
const MAX_BYTES: usize = 256 * 1024 * 1024;

/// Response that was received completely.
pub(crate) struct Response {
    status: StatusCode,
    headers: HeaderMap,
    body: Zeroizing<Vec<u8>>,
}

/// JSON body of the service's error response.
#[derive(Deserialize)]
struct ErrorBody {
    error: String,
    code: Option<String>,
    details: Option<Value>,
}

impl std::fmt::Debug for Response {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Response").field("status", &self.status).finish_non_exhaustive()
    }
}

impl Response {
    /// Receives a response completely. Returns `None` if the response is too large.
    pub(super) async fn read(response: reqwest::Response) -> reqwest::Result<Option<Self>> {
        Self::read_up_to(MAX_BYTES, response).await
    }

    async fn read_up_to(
        max_bytes: usize,
        mut response: reqwest::Response,
    ) -> reqwest::Result<Option<Self>> {
        let is_too_large = |length: u64| length > max_bytes as u64;
        if response.content_length().is_some_and(is_too_large) {
            return Ok(None);
        }
        let (status, headers) = (response.status(), response.headers().clone());
        let mut body = Zeroizing::new(Vec::new());
        while let Some(chunk) = response.chunk().await? {
            if body.len() + chunk.len() > max_bytes {
                return Ok(None);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Some(Self { status, headers, body }))
    }

    /// Returns the status code.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns a header, if it is present and is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the body as it was received.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Parses a JSON body. With the service's option `envelope = "both"`, the body is repeated in
    /// the field `data`, which is removed.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let unreadable = |_| {
            let message =
                "the response is not what this version expects; check --server and the versions";
            Failure::new(Exit::Protocol, message)
        };
        let mut value: Value = serde_json::from_slice(&self.body).map_err(unreadable)?;
        if let Some(object) = value.as_object_mut()
            && object.len() > 1
        {
            object.remove("data");
        }
        serde_json::from_value(value).map_err(unreadable)
    }

    /// Returns this response if its status is successful; otherwise fails with the service's error.
    pub(super) fn checked(self) -> Result<Self, Failure> {
        if self.status.is_success() || self.status == StatusCode::NOT_MODIFIED {
            return Ok(self);
        }
        Err(self.failure())
    }

    /// Converts the response, which has an error status, to a failure.
    pub(crate) fn failure(&self) -> Failure {
        let Ok(body) = serde_json::from_slice::<ErrorBody>(&self.body) else {
            return self.foreign();
        };
        let exit = exit(self.status, body.code.as_deref());
        let mut message = body.error;
        for line in field_lines(body.details.as_ref()) {
            message.push_str("\n  ");
            message.push_str(&line);
        }
        if exit == Exit::NotSignedIn {
            message.push_str("; `secrets login` signs in");
        }
        Failure { exit, message, code: body.code, details: body.details }
    }

    /// Returns the failure for a response that does not come from the service, but for example from
    /// a proxy in between.
    fn foreign(&self) -> Failure {
        let status = self.status;
        if status.is_redirection() {
            let message =
                format!("the server answered {status}: redirects are not followed; check --server");
            return Failure::new(Exit::Protocol, message);
        }
        let exit = match status.as_u16() {
            429 => Exit::RateLimited,
            500..=599 => Exit::Unavailable,
            _ => Exit::Protocol,
        };
        Failure::new(exit, format!("the server answered {status}, not the service's error format"))
    }
}

/// Returns the exit code for an error response. The service's error code takes precedence over the
/// HTTP status.
fn exit(status: StatusCode, code: Option<&str>) -> Exit {
    match (code, status.as_u16()) {
        (Some("already_exists" | "version_conflict"), _) | (_, 409 | 412) => Exit::Conflict,
        (Some("plan_limit_exceeded"), _) | (_, 403) => Exit::Forbidden,
        (_, 401) => Exit::NotSignedIn,
        (_, 404) => Exit::NotFound,
        (_, 429) => Exit::RateLimited,
        (_, 400 | 413 | 422) => Exit::Data,
        (_, 500..=599) => Exit::Unavailable,
        _ => Exit::Protocol,
    }
}

/// Returns a line for each invalid field that `details.fields` lists: the name of the field and the
/// rule that it violates.
fn field_lines(details: Option<&Value>) -> Vec<String> {
    let fields = details.and_then(|details| details.get("fields")).and_then(Value::as_array);
    let fields = fields.map(Vec::as_slice).unwrap_or_default();
    fields.iter().filter_map(field_line).collect()
}

fn field_line(field: &Value) -> Option<String> {
    let text = |name: &str| field.get(name).and_then(Value::as_str);
    let name = text("key").or_else(|| text("field"))?;
    Some(format!("{name}: {}", text("message")?))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use reqwest::Body;

    use super::*;

    /// Reads a response of two chunks, of which at most 10 bytes are accepted. With `with_length`, the
    /// total length is known before the chunks arrive. Returns the body.
    async fn read(chunks: [&'static str; 2], with_length: bool) -> Option<Vec<u8>> {
        let body = if with_length {
            Body::from(chunks.concat())
        } else {
            Body::wrap_stream(stream::iter(chunks.map(Ok::<_, Infallible>)))
        };
        let response = reqwest::Response::from(http::Response::new(body));
        assert_eq!(response.content_length().is_some(), with_length);
        let read = Response::read_up_to(10, response).await.unwrap();
        read.map(|response| response.body().to_vec())
    }

    #[tokio::test]
    async fn a_response_is_read_up_to_the_limit() {
        for with_length in [false, true] {
            let largest = read(["12345", "67890"], with_length).await;
            assert_eq!(largest.as_deref(), Some(b"1234567890".as_slice()));
            assert_eq!(read(["12345", "678901"], with_length).await, None);
        }
    }
}
