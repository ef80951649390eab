//! Mail by SMTP.

use std::time::Duration;

use async_trait::async_trait;
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::Error;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use secrets_core::ports::mail::{DeliveryError, Email, Mailer};

/// The most a server may take for each of its answers.
const PATIENCE: Duration = Duration::from_secs(20);

/// The most it may take for all of them together: less than a claim of the outbox lasts.
const TOTAL: Duration = Duration::from_mins(1);

/// Hands mail to a server.
pub struct SmtpMailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

/// Not the address of a mail server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadServer;

impl SmtpMailer {
    /// For a server (`smtps://USER:PASSWORD@HOST`; with STARTTLS `smtp://HOST?tls=required`) that
    /// takes mail of this sender. Connects when there is something to send.
    pub fn new(url: &str, from: Mailbox) -> Result<Self, BadServer> {
        let builder = AsyncSmtpTransport::<Tokio1Executor>::from_url(url).map_err(|_| BadServer)?;
        Ok(Self { transport: builder.timeout(Some(PATIENCE)).build(), from })
    }

    fn message(&self, email: &Email) -> Result<Message, DeliveryError> {
        let to = email.to.as_str().parse();
        let to = to.map_err(|_| refused("the recipient's address cannot be written in mail"))?;
        Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(email.subject.as_str())
            .header(ContentType::TEXT_PLAIN)
            .body(email.text.as_str().to_owned())
            .map_err(|_| refused("the message cannot be written as mail"))
    }
}

#[async_trait]
impl Mailer for SmtpMailer {
    async fn send(&self, email: &Email) -> Result<(), DeliveryError> {
        let message = self.message(email)?;
        match tokio::time::timeout(TOTAL, self.transport.send(message)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(told(&error)),
            Err(_) => Err(DeliveryError::Failed("the mail server took too long".to_owned())),
        }
    }
}

fn refused(reason: &str) -> DeliveryError {
    DeliveryError::Refused(reason.to_owned())
}

/// In words of our own: a server's answer usually repeats the recipient.
fn told(error: &Error) -> DeliveryError {
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
        () if error.is_tls() => "no secure connection to the mail server",
        () if error.is_client() => "the mail server does not offer what is needed",
        () if error.is_response() => "the mail server's answer makes no sense",
        () => "the mail server cannot be reached",
    };
    DeliveryError::Failed(reason.to_owned())
}
