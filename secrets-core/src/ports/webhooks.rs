//! Webhooks: the interface to an HTTP client that sends deliveries.

use std::fmt;

use async_trait::async_trait;

use crate::ports::webhook_url::WebhookUrl;

/// Sends webhook deliveries over HTTP.
#[async_trait]
pub trait WebhookSender: Send + Sync {
    /// Sends one POST request and returns the receiver's response. Ends within 15 seconds, follows
    /// no redirect, and connects only to addresses that the egress policy allows at that moment.
    /// The outbox handles retries.
    async fn send(&self, request: &WebhookRequest) -> Result<WebhookAnswer, SendError>;
}

/// A signed webhook delivery, as an HTTP request.
pub struct WebhookRequest {
    /// URL of the receiver.
    pub url: WebhookUrl,
    /// Headers, with lower-case names.
    pub headers: Vec<(&'static str, String)>,
    /// JSON body.
    pub body: String,
}

/// A receiver's response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookAnswer {
    /// HTTP status.
    pub status: u16,
    /// Unparsed `Retry-After` header.
    pub retry_after: Option<String>,
}

/// Reason why there is no response. Never contains a part of the URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendError {
    /// The host name has no address, no address responds, or the response is not valid HTTP.
    Unreachable,
    /// The egress policy forbids the address, or forbids it without TLS.
    NotAllowed,
    /// No complete response in time.
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

/// Shows nothing: the URL may contain a token.
impl fmt::Debug for WebhookRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookRequest(…)")
    }
}
