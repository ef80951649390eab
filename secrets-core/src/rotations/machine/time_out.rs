//! Ending what takes too long for one who waits.

use super::super::HistoryEntry;
use super::super::rotate::{BegunRotation, no_rotators};
use super::super::schedule::span;
use super::policy::{Effect, FAILURES, Reason};
use super::work::{Halt, Work};
use crate::engine::Engine;
use crate::model::{Error, Result, RotationId, Subject};
use crate::store::Lease;

impl Engine {
    /// Ends an attempt that nobody may wait for any longer. What became of it at the target is not
    /// known and does not matter: only the slot that is not served was touched, and the next attempt
    /// changes it again.
    pub(in super::super) async fn time_out(&self, begun: BegunRotation) -> Result<HistoryEntry> {
        let rotators = self.ports().rotators.as_ref().ok_or_else(no_rotators)?;
        if let Some(lease) = self.seize_lease(begun.rotation).await?
            && let Some(mut work) = Work::open(self, rotators, lease).await?
        {
            let open = self.store().read().await?.open_attempt(begun.rotation).await?;
            if let Some(attempt) = open.filter(|attempt| attempt.id == begun.attempt) {
                let message = "the database took longer than 45 seconds, and was not waited for";
                let reason = Reason::new("timed_out", message, Effect::BackOff(FAILURES));
                match work.conclude_failed(attempt, reason).await {
                    Ok(()) | Err(Halt::Lost) => {}
                    Err(Halt::Failed(error)) => return Err(error),
                }
            }
            let mut tx = self.store().begin().await?;
            tx.end_lease(&work.lease).await?;
            tx.commit().await?;
        }
        let entry = self.history_entry(begun.attempt).await?;
        entry.ok_or(Error::NotFound(Subject::Rotation))
    }

    /// Takes the lease whoever has it: they lose it, and stop at their next step.
    pub(in super::super) async fn seize_lease(&self, id: RotationId) -> Result<Option<Lease>> {
        let Some(rotators) = self.ports().rotators.as_ref() else { return Ok(None) };
        let length = span(rotators.timings.lease);
        let now = self.now();
        let mut tx = self.store().begin().await?;
        // No lease lasts longer than that from now.
        let lease = tx.take_lease(id, now + length * 2, now + length).await?;
        tx.commit().await?;
        Ok(lease)
    }
}
