//! Outbox: effects that follow a commit, delivered at least once.
//!
//! An operation enqueues a row in the transaction of its change. For each [`Channel`], the host
//! runs a worker that claims rows ([`Service::claim_due`](crate::Service::claim_due)), sends them
//! and records the outcome ([`Service::deliver`](crate::Service::deliver)). A row holds IDs and no
//! secret: the message is built when it is sent.

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

/// Delivery channel. Channels are independent: a delay in one does not affect another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// E-mail.
    Mail,
    /// Webhooks.
    Webhooks,
}

impl Channel {
    /// All channels.
    pub const ALL: [Self; 2] = [Self::Mail, Self::Webhooks];

    /// Kind of the channel's rows in the outbox.
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

/// Reason why a message was not sent. The text is for the log: it names no recipient and repeats no
/// content.
#[derive(Debug)]
pub enum DeliveryError {
    /// Permanent failure: a retry would not help.
    Refused(String),
    /// Temporary failure: a retry may succeed.
    Failed(String),
}

impl Context<'_, Write> {
    /// Enqueues a delivery, to be sent once this transaction is committed.
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
