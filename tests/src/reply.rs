//! Responses of the test server, with functions to check them.

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::{HeaderMap, Response};
use serde_json::Value;

/// HTTP response that was read completely.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Status code of the response.
    pub status: u16,
    /// Headers of the response.
    pub headers: HeaderMap,
    /// Body of the response.
    pub body: Bytes,
}

impl Reply {
    pub(crate) async fn read(response: Response<Incoming>) -> Self {
        Self::try_read(response).await.unwrap()
    }

    /// Reads a response completely; returns `None` if the connection broke.
    pub(crate) async fn try_read(response: Response<Incoming>) -> Option<Self> {
        let (parts, body) = response.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        Some(Self { status: parts.status.as_u16(), headers: parts.headers, body })
    }

    /// Asserts that the reply has this status.
    #[track_caller]
    pub fn is(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }

    /// Asserts that the reply is an error with this code.
    #[track_caller]
    pub fn code(&self, code: &str) -> &Self {
        assert_eq!(self.json()["code"], code, "{}", self.text());
        self
    }

    /// Asserts that the reply is an error with this error message.
    #[track_caller]
    pub fn says(&self, error: &str) -> &Self {
        assert_eq!(self.json()["error"], error, "{}", self.text());
        self
    }

    /// Asserts that the reply is an error that names this field as invalid.
    #[track_caller]
    pub fn names(&self, field: &str) -> &Self {
        let json = self.json();
        let fields = json["details"]["fields"].as_array().cloned().unwrap_or_default();
        assert!(fields.iter().any(|known| known["field"] == field), "{field}: {}", self.text());
        self
    }

    /// Parses the body of the reply as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.text()))
    }

    /// Returns the ID of the object in the JSON body: the field `id`, or the field `id` in the
    /// field `secret`.
    #[track_caller]
    #[must_use]
    pub fn id(&self) -> String {
        let json = self.json();
        let id = json["id"].as_str().or(json["secret"]["id"].as_str());
        id.unwrap_or_else(|| panic!("no id: {}", self.text())).to_owned()
    }

    /// Returns the body as a string.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the value of the header with this name, if the reply has it.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the value of the header with this name as a number. Panics if the reply does not
    /// have it.
    #[track_caller]
    #[must_use]
    pub fn number(&self, name: &str) -> i64 {
        self.header(name).unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
    }
}
