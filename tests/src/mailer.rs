//! A mailer that keeps what it is given.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use secrets_core::ports::mail::{DeliveryError, Email, Mail, Mailer};

/// Where links in mail begin.
pub const MAIL_LINKS: &str = "https://mail.secrets.example";

/// A message that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// To whom.
    pub to: String,
    /// About what.
    pub subject: String,
    /// What it says.
    pub text: String,
}

/// What becomes of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Answer {
    /// It is taken.
    #[default]
    Takes,
    /// It is not, this time.
    Fails,
    /// It never will be.
    Refuses,
}

/// Keeps messages, and how often it was asked to take one.
#[derive(Default)]
pub struct RecordingMailer {
    answer: Mutex<Answer>,
    sent: Mutex<Vec<Message>>,
    tried: Mutex<usize>,
}

impl RecordingMailer {
    /// Answers so from now on.
    pub fn answer(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    /// What was taken.
    #[must_use]
    pub fn sent(&self) -> Vec<Message> {
        self.sent.lock().unwrap().clone()
    }

    /// How often it was asked.
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
    /// The token in its link.
    #[must_use]
    pub fn token(&self) -> String {
        let link = format!("{MAIL_LINKS}/invitations/");
        let (_, rest) = self.text.split_once(&link).unwrap();
        rest.lines().next().unwrap().to_owned()
    }
}

/// Mail that this mailer sends, with links that begin at [`MAIL_LINKS`].
pub(crate) fn sent_by(mailer: &Arc<RecordingMailer>) -> Mail {
    Mail { mailer: mailer.clone(), links: MAIL_LINKS.parse().unwrap() }
}
