//! E-mail.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use zeroize::Zeroizing;

use crate::model::{BaseUrl, EmailAddress};

/// How mail is sent, and where the links in it begin. They cannot begin where a request was sent: a
/// request could name any host, and the mail would vouch for it.
#[derive(Clone)]
pub struct Mail {
    /// What sends.
    pub mailer: Arc<dyn Mailer>,
    /// Where links begin.
    pub links: BaseUrl,
}

/// Sends e-mail.
#[async_trait]
pub trait Mailer: Send + Sync {
    /// Sends once, within a minute; trying again is the outbox's business.
    async fn send(&self, email: &Email) -> Result<(), DeliveryError>;
}

/// A message. Its text may hold a token, so nothing of it is shown.
pub struct Email {
    /// To whom.
    pub to: EmailAddress,
    /// About what, on one line.
    pub subject: String,
    /// The message, plain text.
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
