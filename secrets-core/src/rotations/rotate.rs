//! Manual rotation: a user requests that a credential is rotated now.

use std::time::Duration;

use futures_util::future::{Either, select};
use serde::Serialize;

use super::ConcludedAttempt;
use super::list::locked_rotation;
use super::machine::{claim_rotation, plan, time_out, work};
use super::sealing::RotationContext;
use crate::access::LockedRow;
use crate::engine::Engine;
use crate::engine::{Audit, Caller, Callers, Context, Operation, Task, Write};
use crate::model::rotations::{RotationStatus, TriggerType};
use crate::model::{AttemptId, EnvironmentPath, Error, Result, RotationId, Subject};

/// Interval between checks of an attempt's status while another worker is working on it.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Starts an attempt to rotate a credential, without waiting for its end. If an attempt is already
/// in progress, returns that attempt. [`RotateNow`] also waits for the end.
#[derive(Debug)]
pub struct PlanRotation {
    /// Environment of the rotation.
    pub at: EnvironmentPath,
    /// Rotation name.
    pub name: String,
}

/// Task that rotates a credential now and returns the result, within 45 seconds. If an attempt is
/// already in progress, waits for that attempt.
#[derive(Debug)]
pub struct RotateNow {
    /// Environment of the rotation.
    pub at: EnvironmentPath,
    /// Rotation name.
    pub name: String,
}

/// A rotation attempt that is in progress.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct PlannedRotation {
    /// Rotation ID.
    pub rotation: RotationId,
    /// Attempt ID.
    pub attempt: AttemptId,
}

impl Operation for PlanRotation {
    const NAME: &'static str = "rotation.rotate";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("rotation.started");
    type Access = Write;
    type Output = PlannedRotation;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<PlannedRotation> {
        let row = LockedRow::Environment;
        let (_, mut rotation) = locked_rotation(cx, &self.at, &self.name, row).await?;
        let id = rotation.id;
        cx.set_resource("rotation", id.uuid(), rotation.settings.name.as_str());
        if rotation.status == RotationStatus::Disabled {
            return Err(Error::forbidden("this rotation is disabled: set its status to active"));
        }
        cx.ports().database_kind(&rotation.settings.integration)?;
        if let Some(open) = cx.reads().open_attempt(id).await? {
            cx.add_detail("version", open.sequence);
            cx.add_detail("joined", true);
            return Ok(PlannedRotation { rotation: id, attempt: open.id });
        }
        let place = cx.reads().rotation_location(id).await?;
        let place = place.ok_or(Error::NotFound(Subject::Rotation))?;
        let place = RotationContext::new(cx.keyring(), place)?;
        let (now, keyring) = (cx.now(), cx.keyring());
        let trigger = (TriggerType::Manual, cx.caller.actor());
        let attempt = plan(cx.tx(), (keyring, &place), &mut rotation, trigger, now).await?;
        cx.tx().update_rotation(&rotation).await?;
        cx.add_detail("version", attempt.sequence);
        cx.add_detail("trigger_type", attempt.trigger.as_str());
        Ok(PlannedRotation { rotation: id, attempt: attempt.id })
    }
}

impl Task for RotateNow {
    const NAME: &'static str = <PlanRotation as Operation>::NAME;
    const CALLERS: Callers = <PlanRotation as Operation>::CALLERS;
    type Output = ConcludedAttempt;

    async fn run(self, engine: &Engine, caller: &Caller) -> Result<ConcludedAttempt> {
        rotate(engine, caller, self.at, self.name).await
    }
}

/// Rotates a credential now and returns the result, within 45 seconds. If an attempt is already in
/// progress, waits for that attempt. The future must run in a task of its own, so that a
/// disconnecting client does not stop it halfway.
pub(super) async fn rotate(
    engine: &Engine,
    caller: &Caller,
    at: EnvironmentPath,
    name: String,
) -> Result<ConcludedAttempt> {
    let rotators = engine.ports().rotators.as_ref().ok_or_else(no_rotators)?;
    let begun = engine.perform(caller, PlanRotation { at, name }).await?;
    let wait = Box::pin(wait(engine, begun));
    let budget = rotators.timer.sleep(rotators.timings.budget);
    match select(wait, budget).await {
        Either::Left((entry, _)) => entry,
        Either::Right(((), wait)) => {
            // Dropping the future stops the work on the attempt and releases its permit.
            drop(wait);
            time_out(engine, begun).await
        }
    }
}

/// Waits for the end of an attempt. If no other worker works on the attempt, this function performs
/// the attempt.
async fn wait(engine: &Engine, begun: PlannedRotation) -> Result<ConcludedAttempt> {
    let rotators = engine.ports().rotators.as_ref().ok_or_else(no_rotators)?;
    loop {
        if let Some(entry) = history_entry(engine, begun.attempt).await? {
            return Ok(entry);
        }
        match claim_rotation(engine, begun.rotation, TriggerType::Manual).await? {
            Some(claim) => work(engine, claim).await,
            None => rotators.timer.sleep(POLL_INTERVAL).await,
        }
    }
}

/// Returns the result of an attempt; `None` while the attempt is in progress.
pub(super) async fn history_entry(
    engine: &Engine,
    attempt: AttemptId,
) -> Result<Option<ConcludedAttempt>> {
    let attempt = engine.store().read().await?.attempt(attempt).await?;
    let attempt = attempt.ok_or(Error::NotFound(Subject::Rotation))?;
    attempt.completed_at.is_some().then(|| ConcludedAttempt::new(attempt)).transpose()
}

/// Creates the error for rotations on a service that is configured without database drivers.
pub(super) fn no_rotators() -> Error {
    Error::Unavailable("no rotators are configured on this host".into())
}
