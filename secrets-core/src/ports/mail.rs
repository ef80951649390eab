//! E-mail.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use zeroize::Zeroizing;

use crate::model::{BaseUrl, EmailAddress};

/// Mailer and base URL of the links in mails. The base URL is configured, not taken from a request:
/// a request could name any host, and the mail would vouch for it.
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

/// An e-mail message. `Debug` shows nothing, because the text may hold a token.
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

/// Why something was not sent. The reason is for the log: it names nobody and repeats nothing.
#[derive(Debug)]
pub enum DeliveryError {
    /// Sending it again would not help.
    Refused(String),
    /// It may arrive another time.
    Failed(String),
}
