//! Sending mail by SMTP.

use std::time::Duration;

use async_trait::async_trait;
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::Error;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use secrets_core::ports::mail::{DeliveryError, Email, Mailer};

/// Timeout for each response of the mail server.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// Timeout for sending one e-mail. It is shorter than the time for which a background worker claims
/// the e-mail, so that no other worker sends it too.
const DELIVERY_TIMEOUT: Duration = Duration::from_mins(1);

/// Sends mail through an SMTP server.
pub struct SmtpMailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

/// Error for a string that is not a valid URL of a mail server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadServer;

impl SmtpMailer {
    /// Creates a mailer for a server (`smtps://USER:PASSWORD@HOST`; with STARTTLS
    /// `smtp://HOST?tls=required`) and a sender address. Connects only when mail is sent.
    pub fn new(url: &str, from: Mailbox) -> Result<Self, BadServer> {
        let builder = AsyncSmtpTransport::<Tokio1Executor>::from_url(url).map_err(|_| BadServer)?;
        Ok(Self { transport: builder.timeout(Some(RESPONSE_TIMEOUT)).build(), from })
    }

    fn message(&self, email: &Email) -> Result<Message, DeliveryError> {
        let to = email.to.as_str().parse();
        let to = to.map_err(|_| refused("the recipient's address is not valid in mail"))?;
        Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(email.subject.as_str())
            .header(ContentType::TEXT_PLAIN)
            .body(email.text.as_str().to_owned())
            .map_err(|_| refused("the message cannot be encoded as mail"))
    }
}

#[async_trait]
impl Mailer for SmtpMailer {
    async fn send(&self, email: &Email) -> Result<(), DeliveryError> {
        let message = self.message(email)?;
        match tokio::time::timeout(DELIVERY_TIMEOUT, self.transport.send(message)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(delivery_error(&error)),
            Err(_) => Err(DeliveryError::Failed("the mail server timed out".to_owned())),
        }
    }
}

fn refused(reason: &str) -> DeliveryError {
    DeliveryError::Refused(reason.to_owned())
}

/// Converts an SMTP error without its text, which usually contains the recipient's address.
fn delivery_error(error: &Error) -> DeliveryError {
    if let Some(code) = error.status() {
        let reason = format!("the mail server answered {code}");
        return if error.is_permanent() {
            DeliveryError::Refused(reason)
        } else {
            DeliveryError::Failed(reason)
        };
    }
    let reason = match () {
        () if error.is_timeout() => "the mail server did not answer in time",
        () if error.is_tls() => "cannot establish a TLS connection to the mail server",
        () if error.is_client() => "the mail server does not support a required feature",
        () if error.is_response() => "the mail server's response is invalid",
        () => "the mail server cannot be reached",
    };
    DeliveryError::Failed(reason.to_owned())
}
