//! What must happen after a commit, and therefore at least once.
//!
//! An operation leaves a row in the transaction of its change; the host's job calls
//! [`Service::deliver_due`](crate::Service::deliver_due), which claims rows, sends and settles. A
//! row holds ids and no secret: what is sent is made when it is sent.

mod deliver;
mod mail;

pub use mail::{Email, Mail, Mailer};

use crate::ids::DeliveryId;
use crate::operation::{Context, Write};
use crate::store::{DeliveryRecord, StoreResult};

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
