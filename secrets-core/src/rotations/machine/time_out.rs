//! Timeout of manual rotations.

use super::super::HistoryEntry;
use super::super::rotate::{BegunRotation, no_rotators};
use super::super::schedule::span;
use super::policy::{Effect, FAILURES, Reason};
use super::work::{Halt, Work};
use crate::engine::Engine;
use crate::model::{Error, Result, RotationId, Subject};
use crate::store::Lease;

impl Engine {
    /// Concludes an attempt that took too long. Its effect at the target is unknown but harmless:
    /// only the slot that is not served was changed, and the next attempt changes it again.
    pub(in super::super) async fn time_out(&self, begun: BegunRotation) -> Result<HistoryEntry> {
        let rotators = self.ports().rotators.as_ref().ok_or_else(no_rotators)?;
        if let Some(lease) = self.seize_lease(begun.rotation).await?
            && let Some(mut work) = Work::open(self, rotators, lease).await?
        {
            let open = self.store().read().await?.open_attempt(begun.rotation).await?;
            if let Some(attempt) = open.filter(|attempt| attempt.id == begun.attempt) {
                let message =
                    "the database took longer than 45 seconds, so the attempt was stopped";
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

    /// Takes the lease even if another worker holds it. That worker loses it and stops at its next
    /// step.
    pub(in super::super) async fn seize_lease(&self, id: RotationId) -> Result<Option<Lease>> {
        let Some(rotators) = self.ports().rotators.as_ref() else { return Ok(None) };
        let length = span(rotators.timings.lease);
        let now = self.now();
        let mut tx = self.store().begin().await?;
        // Every lease ends before this time, so any existing lease counts as expired.
        let lease = tx.take_lease(id, now + length * 2, now + length).await?;
        tx.commit().await?;
        Ok(lease)
    }
}
