//! What must happen after a commit, and therefore at least once.
//!
//! An operation leaves a row in the transaction of its change. The host has a job for each
//! [`Channel`], which claims rows ([`Service::claim_due`](crate::Service::claim_due)), sends and
//! settles ([`Service::deliver`](crate::Service::deliver)). A row holds ids and no secret: what is
//! sent is made when it is sent.

mod deliver;
mod mail;

pub use deliver::Claimed;
pub(crate) use deliver::settle;
pub use mail::{Email, Mail, Mailer};

use crate::ids::DeliveryId;
use crate::invitations;
use crate::operation::{Context, Write};
use crate::rotations::webhooks;
use crate::store::{DeliveryRecord, StoreResult};

/// How something leaves: what goes one way waits for nothing that goes another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// As e-mail.
    Mail,
    /// To webhooks.
    Webhooks,
}

impl Channel {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Mail, Self::Webhooks];

    /// What it is called in the outbox.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Mail => invitations::DELIVERY,
            Self::Webhooks => webhooks::DELIVERY,
        }
    }

    fn of_kind(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|channel| channel.kind() == kind)
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

impl Context<'_, Write> {
    /// Leaves something to be sent once this transaction is committed.
    pub(crate) async fn leave(
        &mut self,
        kind: &'static str,
        payload: serde_json::Value,
    ) -> StoreResult<()> {
        let now = self.now();
        let delivery = DeliveryRecord {
            id: DeliveryId::draw(now),
            kind: kind.to_owned(),
            payload: payload.to_string(),
            attempts: 0,
            next_attempt_at: now,
            created_at: now,
        };
        self.tx().insert_delivery(&delivery).await
    }
}
