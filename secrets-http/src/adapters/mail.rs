//! Sending mail by SMTP.

use std::error::Error as _;
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

/// Enhanced status codes with which a mail server refuses the recipient's address for good
/// (RFC 3463, section 3.2): no such mailbox, no such domain, invalid, ambiguous, moved, and no mail
/// server (RFC 7505).
///
/// Only these make a failure permanent. A reply code alone does not show what is refused: a server
/// also answers 5yz to a wrong password (535, RFC 4954), a client that must log in first (530), a
/// connection (554, RFC 5321), or a client that may not relay (550). The cause is then our
/// configuration or the server's policy, which can be corrected while the mail waits. The same
/// holds for the codes of the sender's address (5.1.7, 5.1.8) and for 5.1.0, which does not show
/// whose address is refused.
const RECIPIENT_REFUSED: [&str; 6] = ["5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.1.6", "5.1.10"];

/// Converts an SMTP error without its text, which usually contains the recipient's address.
fn delivery_error(error: &Error) -> DeliveryError {
    if let Some(code) = error.status() {
        let reason = format!("the mail server answered {code}");
        let text = error.source().map(ToString::to_string).unwrap_or_default();
        return if error.is_permanent() && is_recipient_refused(&text) {
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

/// True if the text of a response begins with an enhanced status code (RFC 2034) that refuses the
/// recipient's address.
fn is_recipient_refused(text: &str) -> bool {
    let status = text.split_whitespace().next();
    status.is_some_and(|status| RECIPIENT_REFUSED.contains(&status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refusal_of_the_recipient_is_permanent() {
        let cases = [
            ("5.1.1 <bob@example.com>: no such user", true),
            ("5.1.2 no such domain", true),
            ("5.1.3 bad address", true),
            ("5.1.6 moved", true),
            ("5.1.10 null MX", true),
            ("5.1.0 address rejected", false),
            ("5.1.7 bad sender", false),
            ("5.1.8 unknown domain of the sender", false),
            ("5.1.100 unknown", false),
            ("5.5.1 authentication required", false),
            ("5.7.1 relaying denied", false),
            ("5.7.8 wrong password", false),
            ("no such user, see 5.1.1", false),
            ("", false),
        ];

        for (text, expected) in cases {
            assert_eq!(is_recipient_refused(text), expected, "{text}");
        }
    }
}
