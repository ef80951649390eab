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
    /// Client that sends e-mail.
    pub mailer: Arc<dyn Mailer>,
    /// Base URL of the links in e-mails.
    pub links: BaseUrl,
}

/// Client that sends e-mail through a mail server.
#[async_trait]
pub trait Mailer: Send + Sync {
    /// Sends a message once. Ends within a minute. Retries are done by the outbox.
    async fn send(&self, email: &Email) -> Result<(), DeliveryError>;
}

/// An e-mail message. `Debug` does not show its content, because the text may contain a token.
pub struct Email {
    /// E-mail address of the recipient.
    pub to: EmailAddress,
    /// Subject of the message: one line.
    pub subject: String,
    /// Body of the message, as plain text.
    pub text: Zeroizing<String>,
}

impl fmt::Debug for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Email(…)")
    }
}

/// Reason why a message was not delivered. The string in a variant is for the log and contains no
/// address, name or content of the message.
#[derive(Debug)]
pub enum DeliveryError {
    /// Permanent failure, such as an unknown address: a retry would not help.
    Refused(String),
    /// Temporary failure, such as a network error: a retry may succeed.
    Failed(String),
}
