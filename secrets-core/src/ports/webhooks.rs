//! The port to receivers.

use std::fmt;

use async_trait::async_trait;

use crate::ports::webhook_url::WebhookUrl;

/// Sends deliveries.
#[async_trait]
pub trait WebhookSender: Send + Sync {
    /// Sends a request once, with POST, and gives what was answered; trying again is the outbox's
    /// business. Ends within 15 seconds, follows no redirect, and dials only what the operator's
    /// policy permits at that moment.
    async fn send(&self, request: &WebhookRequest) -> Result<WebhookAnswer, SendError>;
}

/// A delivery, signed.
pub struct WebhookRequest {
    /// Where it goes.
    pub url: WebhookUrl,
    /// Its headers, in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// Its body, JSON.
    pub body: String,
}

/// What a receiver answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookAnswer {
    /// The status.
    pub status: u16,
    /// When it wants to be asked again, as it wrote it.
    pub retry_after: Option<String>,
}

/// Why there is no answer. Nothing of the address is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendError {
    /// No address for the name, or none that answers, or an answer that makes no sense.
    Unreachable,
    /// An address that may not be reached, or not without TLS.
    NotAllowed,
    /// No whole answer in time.
    TimedOut,
    /// No TLS, or a certificate that proves nothing.
    Tls,
}

impl SendError {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Unreachable => "the receiver cannot be reached",
            Self::NotAllowed => "the receiver is where nothing may be sent from here",
            Self::TimedOut => "the receiver did not answer in time",
            Self::Tls => "no secure connection to the receiver",
        }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl std::error::Error for SendError {}

/// An address may hold a token.
impl fmt::Debug for WebhookRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookRequest(…)")
    }
}
