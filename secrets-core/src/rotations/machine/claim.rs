//! Claiming of rotations with due work, so that only one worker at a time works on a rotation.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;

use super::super::connection;
use super::super::schedule::{rotates, span};
use super::super::sealing::RotationContext;
use super::attempt::Attempt;
use super::permits::{MAX_SCHEDULED, RotationPermits, RotationPlace};
use super::work::{Work, WorkError, WorkResult};
use crate::engine::{Engine, Failures, Job, Schedule, WorkItem, Worker};
use crate::limits::Permit;
use crate::model::lock::lock;
use crate::model::rotations::{RotationStatus, TriggerType};
use crate::model::{Error, Result, RotationId, Time};
use crate::ports::rotators::Rotators;
use crate::store::{DueRotation, Lease, RotationRecord, StoreResult};

/// Timeout for all work on one claimed rotation. A single call to a target database ends within 30
/// seconds. Interrupted work is resumed after the lease has ended.
const MAX_WORK_TIME: Duration = Duration::from_mins(10);

/// Maximum number of rotations with due work that one call of [`claim_rotations`] examines. If
/// there are more, the next call continues with the rest.
const MAX_CANDIDATES: u32 = 4_096;

/// Maximum number of rotations of one team that a call of [`claim_rotations`] fails to reserve.
/// After that, the call skips the team's rotations, because each try needs database queries.
const MAX_REFUSED: usize = 16;

/// Last rotation that the previous call of [`claim_rotations`] examined; the next call starts after
/// it. `None` if the previous call loaded all remaining rotations with due work, so that the next
/// call starts at the first.
#[derive(Default)]
struct Position(Mutex<Option<DueRotation>>);

/// Name of the worker [`RotationWorker`], also used in the metrics.
const WORKER: &str = "rotations";

/// Worker that rotates due credentials and continues unfinished attempts.
#[derive(Debug, Clone, Copy)]
pub struct RotationWorker;

#[async_trait]
impl Worker for RotationWorker {
    fn name(&self) -> &'static str {
        WORKER
    }

    fn schedule(&self) -> Schedule {
        Schedule {
            timeout: MAX_WORK_TIME,
            max_jobs: MAX_SCHEDULED,
            ..Schedule::every(Duration::from_secs(1))
        }
    }

    async fn jobs(&self, engine: &Arc<Engine>, _room: usize) -> Result<Vec<Job>> {
        // The number of permits limits the number of jobs.
        let claims = claim_rotations(engine).await?.into_iter();
        let job = |claim| {
            let engine = Arc::clone(engine);
            Box::pin(async move {
                work(&engine, claim).await;
                Ok(())
            }) as Job
        };
        Ok(claims.map(job).collect())
    }
}

/// A rotation that this node has claimed, to be passed to [`work`]. No other node works on the
/// rotation until the lease ends.
#[derive(Debug)]
pub struct Claim {
    lease: Lease,
    _permit: Permit<RotationPlace>,
}

/// Claims rotations with due work: rotations that are due, unfinished attempts, previous
/// credentials to disable, and credentials to check. At the same time, a node works on at most four
/// of them, at most two of the same team, and at most one of the same team and database host.
pub async fn claim_rotations(engine: &Engine) -> Result<Vec<Claim>> {
    let mut claims = Vec::new();
    let permits = permits(engine);
    let node = [RotationPlace::Node(TriggerType::Scheduled)];
    if engine.ports().rotators.is_none() {
        return Ok(claims);
    }
    if !permits.are_free(&node) {
        return oldest_waits(engine).await.map(|()| claims);
    }
    let position = engine.shared::<Position>();
    let after = *lock(&position.0);
    let mut reads = engine.store().read().await?;
    let work = reads.due_rotations(engine.now(), after, MAX_CANDIDATES).await?;
    drop(reads);
    let is_full = work.len() == MAX_CANDIDATES as usize;
    // Only if this page contains all due rotations: otherwise, rotations on other pages may still
    // wait for permits.
    if after.is_none() && !is_full {
        permits.forget_others(work.iter().map(|due| due.id));
    }
    let (mut last, mut waiting_since) = (None, None);
    let mut refused = HashMap::<_, usize>::new();
    let failures = engine.shared::<Failures>();
    for due in work {
        if !permits.are_free(&node) {
            waiting_since = Some(due.work_at);
            break;
        }
        last = Some(due).filter(|_| is_full);
        let item = WorkItem::Rotation(due.id);
        let is_refused = refused.get(&due.team).is_some_and(|count| *count >= MAX_REFUSED);
        if is_refused || permits.must_wait(&due.id) || failures.must_wait(item, engine.now()) {
            continue;
        }
        match claim_rotation(engine, due.id, TriggerType::Scheduled).await {
            Ok(Some(claim)) => claims.push(claim),
            Ok(None) => *refused.entry(due.team).or_default() += 1,
            Err(error @ Error::Unavailable(_)) if claims.is_empty() => return Err(error),
            // The claims made so far are worked on.
            Err(Error::Unavailable(_)) => break,
            Err(error) => {
                failures.report(item, &error, engine.now());
            }
        }
    }
    *lock(&position.0) = last;
    // The first page has the oldest work.
    if after.is_none() {
        engine.counters().set_waiting_since(WORKER, waiting_since);
    }
    Ok(claims)
}

/// Stores the time since which the oldest due rotation has been waiting, for the metrics. Called if
/// this node claims no rotation because it already works on its maximum number.
async fn oldest_waits(engine: &Engine) -> Result<()> {
    let oldest = engine.store().read().await?.due_rotations(engine.now(), None, 1).await?;
    engine.counters().set_waiting_since(WORKER, oldest.first().map(|due| due.work_at));
    Ok(())
}

/// Ends all leases. A lease reserves a rotation for one worker. Call this function only while no
/// other process uses the store.
pub async fn end_rotation_leases(engine: &Engine) -> StoreResult<()> {
    let mut tx = engine.store().begin().await?;
    tx.release_all_leases().await?;
    tx.commit().await
}

/// Reserves a rotation for this node. Returns `None` if another worker has reserved it, no permit
/// is available, the rotation was deleted, its project is being purged (the purge waits for the end
/// of the last lease), or the service has no database drivers. `trigger` selects the limits: those
/// of scheduled rotations, or those of rotations that a user started and waits for.
pub(in crate::rotations) async fn claim_rotation(
    engine: &Engine,
    rotation: RotationId,
    trigger: TriggerType,
) -> Result<Option<Claim>> {
    let Some(rotators) = engine.ports().rotators.as_ref() else { return Ok(None) };
    let Some(places) = places(engine, rotation, trigger).await? else { return Ok(None) };
    let permit = match trigger {
        TriggerType::Scheduled => permits(engine).acquire(rotation, places),
        TriggerType::Manual => permits(engine).acquire_once(places),
    };
    let Some(permit) = permit else { return Ok(None) };
    let now = engine.now();
    // With short timeouts, so that the claims before this one are worked on in time.
    let mut tx = engine.store().begin_for_request(false).await?;
    let lease = tx.acquire_lease(rotation, now, now + span(rotators.timings.lease)).await?;
    tx.commit().await?;
    Ok(lease.map(|lease| Claim { lease, _permit: permit }))
}

/// Returns the resources that limit concurrent work on a rotation: its database host, its team and
/// this node. If the connection settings cannot be decrypted, a string that is unique to the
/// rotation stands for the host. `None` if the rotation was deleted, or if its project is being
/// purged.
async fn places(
    engine: &Engine,
    id: RotationId,
    trigger: TriggerType,
) -> Result<Option<Vec<RotationPlace>>> {
    let unknown = format!("rotation {id}");
    let mut reads = engine.store().read().await?;
    let (Some(rotation), Some(location)) =
        (reads.rotation(id).await?, reads.rotation_location(id).await?)
    else {
        return Ok(None);
    };
    if location.is_purged() {
        return Ok(None);
    }
    // An internal error, because another node may have the driver. After `Error::Unavailable`, the
    // caller would not claim other rotations either.
    engine.ports().database_kind(&rotation.settings.integration).map_err(Error::internal)?;
    let team = location.project.team;
    let target = match RotationContext::new(engine.keyring(), location) {
        Ok(context) => {
            let sealer = context.sealer(engine.keyring());
            connection::open(engine.ports(), &sealer, reads.as_mut(), &rotation).await.ok()
        }
        Err(_) => None,
    };
    let host = target.as_ref().map_or(&unknown, |target| &target.host);
    Ok(Some(vec![
        RotationPlace::Node(trigger),
        RotationPlace::Team(trigger, team),
        RotationPlace::host(team, host),
    ]))
}

/// Performs the next work on a claimed rotation. If the work is interrupted, another worker resumes
/// it from the stored state after the lease has ended.
pub async fn work(engine: &Engine, claim: Claim) {
    let Some(rotators) = engine.ports().rotators.as_ref() else { return };
    let item = WorkItem::Rotation(claim.lease.rotation);
    match work_once(engine, rotators, claim.lease).await {
        // If the lease was lost, another node works on the rotation.
        Ok(()) | Err(WorkError::Lost) => {}
        Err(WorkError::Failed(error)) => {
            engine.shared::<Failures>().report(item, &error, engine.now());
        }
    }
}

async fn work_once(engine: &Engine, rotators: &Rotators, lease: Lease) -> WorkResult<()> {
    let Some(mut work) = Work::open(engine, rotators, lease).await? else { return Ok(()) };
    let done = work.next_step().await;
    let (failures, item) = (engine.shared::<Failures>(), WorkItem::Rotation(lease.rotation));
    if let Err(WorkError::Failed(_)) = done {
        engine.shared::<Interrupted>().insert(lease.rotation);
    }
    let mut tx = engine.store().begin().await?;
    let done = if let Err(WorkError::Failed(error)) = done {
        // The lease is the delay before the next try: no node works on the rotation until it ends.
        let until = engine.now() + failures.report(item, &error, engine.now());
        tx.extend_lease(&Lease { until, ..work.lease }).await?;
        Ok(())
    } else {
        failures.clear(item);
        take_unfinished(engine, lease.rotation);
        tx.release_lease(&work.lease).await?;
        done
    };
    tx.commit().await?;
    done
}

impl Work<'_> {
    /// Performs the most urgent work on the rotation: resuming an unfinished attempt, disabling the
    /// previous credential, checking the credential in the secrets, or starting a new attempt.
    async fn next_step(&mut self) -> WorkResult<()> {
        let now = self.engine.now();
        let open = self.engine.store().read().await?.open_attempt(self.rotation.id).await?;
        if let Some(attempt) = open {
            return Attempt::resume(self, attempt).await;
        }
        match due_work(&self.rotation, now) {
            Some(DueWork::Retire) => return self.retire().await,
            Some(DueWork::Check) => return self.check().await,
            Some(DueWork::Rotate) => return self.rotate().await,
            None => {}
        }
        // Nothing to do. Store the new time of work, or the rotation would be claimed again and
        // again.
        let mut tx = self.begin().await?;
        self.write(tx.as_mut()).await?;
        Ok(tx.commit().await?)
    }
}

/// Kind of work that is due on a rotation without an unfinished attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DueWork {
    /// Disable the login of the previous credential, whose grace period has ended.
    Retire,
    /// Check that the credential in the secrets can log in.
    Check,
    /// Start an attempt to rotate the credential.
    Rotate,
}

/// Returns the most urgent work that is due on a rotation without an unfinished attempt; `None` if
/// no work is due.
fn due_work(rotation: &RotationRecord, now: Time) -> Option<DueWork> {
    let is_due = |at: Option<Time>| at.is_some_and(|at| at <= now);
    let is_disabled = rotation.status == RotationStatus::Disabled;
    if is_due(rotation.slots.retire_at) {
        Some(DueWork::Retire)
    } else if !is_disabled && is_due(rotation.slots.check_at) {
        Some(DueWork::Check)
    } else if is_rotation_due(rotation, now) {
        Some(DueWork::Rotate)
    } else {
        None
    }
}

/// True if the status of the rotation permits a scheduled attempt, and the attempt is due.
pub(super) fn is_rotation_due(rotation: &RotationRecord, now: Time) -> bool {
    rotates(rotation) && rotation.schedule.next_at <= now
}

/// Rotations whose attempt was interrupted by an error in this process, not by a crash. Resuming
/// such an attempt does not count towards its maximum number of resumptions.
#[derive(Default)]
struct Interrupted(Mutex<BTreeSet<RotationId>>);

/// Maximum number of rotations in [`Interrupted`].
const MAX_INTERRUPTED: usize = 10_000;

impl Interrupted {
    fn insert(&self, rotation: RotationId) {
        let mut interrupted = lock(&self.0);
        if interrupted.len() < MAX_INTERRUPTED {
            interrupted.insert(rotation);
        }
    }
}

/// Returns true if the attempt of the rotation was interrupted by an error in this process, and
/// removes the rotation from [`Interrupted`].
pub(super) fn take_unfinished(engine: &Engine, rotation: RotationId) -> bool {
    lock(&engine.shared::<Interrupted>().0).remove(&rotation)
}

fn permits(engine: &Engine) -> Arc<RotationPermits> {
    engine.shared()
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests;
