//! Mailer for tests that records messages instead of sending them.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use secrets_core::ports::mail::{DeliveryError, Email, Mail, Mailer};

/// Base URL of the links in mail messages.
pub const MAIL_LINKS: &str = "https://mail.secrets.example";

/// Mail message that the mailer has accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// E-mail address of the recipient.
    pub to: String,
    /// Subject of the message.
    pub subject: String,
    /// Text of the message, without the headers.
    pub text: String,
}

/// Result that the mailer returns for a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Answer {
    /// Accepts the message.
    #[default]
    Takes,
    /// Fails temporarily: the service may send the message again.
    Fails,
    /// Fails permanently: the service must not send the message again.
    Refuses,
}

/// Mailer for tests that records the accepted messages and counts the attempts to send a message.
#[derive(Default)]
pub struct RecordingMailer {
    answer: Mutex<Answer>,
    sent: Mutex<Vec<Message>>,
    tried: Mutex<usize>,
}

impl RecordingMailer {
    /// Sets the result for all later messages.
    pub fn answer(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    /// Returns the accepted messages.
    #[must_use]
    pub fn sent(&self) -> Vec<Message> {
        self.sent.lock().unwrap().clone()
    }

    /// Returns the number of attempts to send a message.
    #[must_use]
    pub fn tried(&self) -> usize {
        *self.tried.lock().unwrap()
    }
}

#[async_trait]
impl Mailer for RecordingMailer {
    async fn send(&self, email: &Email) -> Result<(), DeliveryError> {
        *self.tried.lock().unwrap() += 1;
        match *self.answer.lock().unwrap() {
            Answer::Takes => {}
            Answer::Fails => return Err(DeliveryError::Failed("not now".to_owned())),
            Answer::Refuses => return Err(DeliveryError::Refused("never".to_owned())),
        }
        self.sent.lock().unwrap().push(Message {
            to: email.to.to_string(),
            subject: email.subject.clone(),
            text: email.text.to_string(),
        });
        Ok(())
    }
}

impl Message {
    /// Returns the invitation token from the link in the message.
    #[must_use]
    pub fn token(&self) -> String {
        let link = format!("{MAIL_LINKS}/invitations/");
        let (_, rest) = self.text.split_once(&link).unwrap();
        rest.lines().next().unwrap().to_owned()
    }
}

/// Creates the mail settings of a service that sends with this mailer. Links begin with
/// [`MAIL_LINKS`].
pub(crate) fn sent_by(mailer: &Arc<RecordingMailer>) -> Mail {
    Mail { mailer: mailer.clone(), links: MAIL_LINKS.parse().unwrap() }
}
