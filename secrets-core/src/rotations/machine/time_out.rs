//! Timeout of manual rotations.

use chrono::TimeDelta;

use super::super::ConcludedAttempt;
use super::super::rotate::{PlannedRotation, no_rotators};
use super::super::schedule::span;
use super::policy::{Effect, FAILURES, Reason};
use super::work::{Work, WorkError, WorkResult};
use crate::engine::Engine;
use crate::model::rotations::Outcome;
use crate::model::{Error, Result, RotationId};
use crate::ports::rotators::Rotators;
use crate::rotations::rotate::history_entry;
use crate::store::{Lease, Tx};

/// Upper bound of the remaining time of a lease. A lease lasts a minute or, if it delays the next
/// try after failures, up to an hour. The rest allows for differences between the clocks of nodes.
const MAX_LEASE: TimeDelta = TimeDelta::days(1);

/// Ends an attempt as failed because it took too long. The password at the target database may
/// already be changed, but only for the database user whose credential is not in the secrets; the
/// next attempt sets this password again.
///
/// Takes over the lease and ends the attempt in one transaction. Requests that reach the time limit
/// together thus wait for each other, and the first one ends the attempt.
pub(in crate::rotations) async fn time_out(
    engine: &Engine,
    begun: PlannedRotation,
) -> Result<ConcludedAttempt> {
    let rotators = engine.ports().rotators.as_ref().ok_or_else(no_rotators)?;
    let mut tx = engine.store().begin().await?;
    if let Some(lease) = take_over_lease(engine, rotators, tx.as_mut(), begun.rotation).await?
        && let Some(mut work) = Work::open_with(tx.as_mut(), engine, rotators, lease).await?
    {
        match end(&mut work, tx.as_mut(), begun).await {
            Ok(true) => {
                tx.release_lease(&work.lease).await?;
                tx.commit().await?;
                engine.counters().count_rotation(Outcome::Failed);
            }
            // The attempt has ended, or the rotation was deleted: another worker keeps its lease.
            Ok(false) | Err(WorkError::Lost) => drop(tx),
            Err(WorkError::Failed(error)) => return Err(error),
        }
    }
    let entry = history_entry(engine, begun.attempt).await?;
    entry.ok_or_else(|| Error::Unavailable("the attempt was not ended in time".into()))
}

/// Ends the attempt as failed if it is still in progress. Returns true if the attempt was in
/// progress.
async fn end(work: &mut Work<'_>, tx: &mut dyn Tx, begun: PlannedRotation) -> WorkResult<bool> {
    work.lock_row(tx).await?;
    let open = tx.open_attempt(begun.rotation).await?;
    let Some(attempt) = open.filter(|attempt| attempt.id == begun.attempt) else {
        return Ok(false);
    };
    let message = "the database took longer than 45 seconds, so the attempt was stopped";
    let reason = Reason::new("timed_out", message, Effect::BackOff(FAILURES));
    work.conclude_in(tx, attempt, Outcome::Failed, reason).await?;
    Ok(true)
}

/// Takes over the lease of a rotation (the exclusive right to work on it) even if another worker
/// holds it. The next step of the other worker then fails with [`WorkError::Lost`]. Returns `None`
/// if the rotation does not exist or the service has no database drivers.
pub(in crate::rotations) async fn force_lease(
    engine: &Engine,
    id: RotationId,
) -> Result<Option<Lease>> {
    let Some(rotators) = engine.ports().rotators.as_ref() else { return Ok(None) };
    let mut tx = engine.store().begin().await?;
    let lease = take_over_lease(engine, rotators, tx.as_mut(), id).await?;
    tx.commit().await?;
    Ok(lease)
}

/// Takes over the lease like [`force_lease`], in a transaction. Locks the rotation's row.
async fn take_over_lease(
    engine: &Engine,
    rotators: &Rotators,
    tx: &mut dyn Tx,
    id: RotationId,
) -> Result<Option<Lease>> {
    let now = engine.now();
    // Any existing lease counts as expired.
    Ok(tx.acquire_lease(id, now + MAX_LEASE, now + span(rotators.timings.lease)).await?)
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Service;
    use crate::crypto::Key;
    use crate::model::ManualClock;
    use crate::store::MemoryStore;
    use crate::testing::fixtures::{World, at, rotation};
    use crate::testing::rotator::{MemoryDatabase, rotators};

    #[tokio::test]
    async fn a_lease_that_is_taken_over_lasts_a_minute() {
        let builder = Service::builder(Arc::new(MemoryStore::new()), &Key::generate())
            .clock(Arc::new(ManualClock::new(at(0))))
            .rotators(rotators(&MemoryDatabase::new()));
        let service = builder.build().await.unwrap();
        let store = service.engine().store();
        let world = World::build(store).await;
        let held = rotation(&world.staging, "db");
        let mut tx = store.begin().await.unwrap();
        tx.insert_rotation(&held, &[]).await.unwrap();
        // The lease that delays the next try after failures.
        let other = tx.acquire_lease(held.id, at(0), at(3_600)).await.unwrap().unwrap();
        tx.commit().await.unwrap();

        let lease = force_lease(service.engine(), held.id).await.unwrap().unwrap();

        assert!(lease.epoch > other.epoch);
        assert_eq!(lease.until, at(60));
    }
}
