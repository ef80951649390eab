//! E-mail: the interface to a mail server.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use zeroize::Zeroizing;

use crate::model::{BaseUrl, EmailAddress};

/// Mailer, and base URL of the links in e-mails. The base URL is configured and not taken from a
/// request: a client could put any host name into the request, and recipients would trust the link.
#[derive(Clone)]
pub struct Mail {
    /// Mailer.
    pub mailer: Arc<dyn Mailer>,
    /// Base URL of links.
    pub links: BaseUrl,
}

/// Sends e-mail.
#[async_trait]
pub trait Mailer: Send + Sync {
    /// Sends a message once, within a minute. The outbox handles retries.
    async fn send(&self, email: &Email) -> Result<(), DeliveryError>;
}

/// An e-mail message. `Debug` does not show its content, because the text may contain a token.
pub struct Email {
    /// Recipient.
    pub to: EmailAddress,
    /// Subject, one line.
    pub subject: String,
    /// Plain text body.
    pub text: Zeroizing<String>,
}

impl fmt::Debug for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Email(…)")
    }
}

/// Reason why a message was not delivered. The text is for the log and contains no address, name or
/// content of the message.
#[derive(Debug)]
pub enum DeliveryError {
    /// Permanent failure, such as an unknown address: a retry would not help.
    Refused(String),
    /// Temporary failure, such as a network error: a retry may succeed.
    Failed(String),
}
