//! Webhooks: the interface to an HTTP client that sends deliveries.

use std::fmt;

use async_trait::async_trait;

use crate::ports::webhook_url::WebhookUrl;

/// Sends webhook deliveries over HTTP.
#[async_trait]
pub trait WebhookSender: Send + Sync {
    /// Sends one POST request and returns the receiver's response. Ends within 15 seconds, follows
    /// no redirect, and connects only to addresses that the egress policy allows at that time.
    /// Retries are done by the outbox.
    async fn send(&self, request: &WebhookRequest) -> Result<WebhookAnswer, SendError>;
}

/// A signed webhook event, as an HTTP request.
pub struct WebhookRequest {
    /// URL of the receiver.
    pub url: WebhookUrl,
    /// HTTP headers, with lower-case names.
    pub headers: Vec<(&'static str, String)>,
    /// Body of the request, as JSON.
    pub body: String,
}

/// HTTP response of a webhook's receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookAnswer {
    /// HTTP status of the response.
    pub status: u16,
    /// Value of the `Retry-After` header, unparsed; `None` if the response has no such header.
    pub retry_after: Option<String>,
}

/// Reason why there is no response from the receiver. Never contains a part of the URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendError {
    /// The host name has no address, no address responds, or the response is not valid HTTP.
    Unreachable,
    /// The egress policy forbids the address, or forbids it without TLS.
    NotAllowed,
    /// The receiver sent no complete response in time.
    TimedOut,
    /// The receiver does not offer TLS, or its certificate cannot be verified.
    Tls,
}

impl SendError {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Unreachable => "the receiver cannot be reached",
            Self::NotAllowed => "the egress policy does not allow this receiver",
            Self::TimedOut => "the receiver did not answer in time",
            Self::Tls => "the TLS connection to the receiver failed",
        }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl std::error::Error for SendError {}

/// Formats no field, because the URL may contain a token.
impl fmt::Debug for WebhookRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookRequest(…)")
    }
}
