//! Timeout of manual rotations.

use super::super::ConcludedAttempt;
use super::super::rotate::{PlannedRotation, no_rotators};
use super::super::schedule::span;
use super::policy::{Effect, FAILURES, Reason};
use super::work::{Work, WorkError};
use crate::engine::Engine;
use crate::model::{Error, Result, RotationId, Subject};
use crate::rotations::rotate::history_entry;
use crate::store::Lease;

/// Ends an attempt that took too long as failed. The password at the target database may already be
/// changed, but only for the database user whose credential is not in the secrets; the next attempt
/// sets this password again.
pub(in crate::rotations) async fn time_out(
    engine: &Engine,
    begun: PlannedRotation,
) -> Result<ConcludedAttempt> {
    let rotators = engine.ports().rotators.as_ref().ok_or_else(no_rotators)?;
    if let Some(lease) = force_lease(engine, begun.rotation).await?
        && let Some(mut work) = Work::open(engine, rotators, lease).await?
    {
        let open = engine.store().read().await?.open_attempt(begun.rotation).await?;
        if let Some(attempt) = open.filter(|attempt| attempt.id == begun.attempt) {
            let message = "the database took longer than 45 seconds, so the attempt was stopped";
            let reason = Reason::new("timed_out", message, Effect::BackOff(FAILURES));
            match work.conclude_failed(attempt, reason).await {
                Ok(()) | Err(WorkError::Lost) => {}
                Err(WorkError::Failed(error)) => return Err(error),
            }
        }
        let mut tx = engine.store().begin().await?;
        tx.release_lease(&work.lease).await?;
        tx.commit().await?;
    }
    let entry = history_entry(engine, begun.attempt).await?;
    entry.ok_or(Error::NotFound(Subject::Rotation))
}

/// Takes over the lease of a rotation even if another worker holds it. The other worker notices the
/// loss at its next step and stops.
pub(in crate::rotations) async fn force_lease(
    engine: &Engine,
    id: RotationId,
) -> Result<Option<Lease>> {
    let Some(rotators) = engine.ports().rotators.as_ref() else { return Ok(None) };
    let length = span(rotators.timings.lease);
    let now = engine.now();
    let mut tx = engine.store().begin().await?;
    // Every lease ends before this time, so any existing lease counts as expired.
    let lease = tx.acquire_lease(id, now + length * 2, now + length).await?;
    tx.commit().await?;
    Ok(lease)
}
