//! Replacing the served credential by the new one, in one transaction (tx3 in the [module
//! docs](super)).

use std::pin::pin;

use futures_util::poll;

use super::super::keys::InjectedKeys;
use super::super::schedule::{span, work_at};
use super::attempt::Attempt;
use super::conclude::attempt_details;
use super::policy::{Effect, Reason};
use super::work::{WorkError, WorkResult};
use crate::engine::{Caller, Context, Lock, Write};
use crate::failpoint;
use crate::model::rotations::{AttemptState, Outcome, RotationStatus, WebhookEvent};
use crate::model::{Error, Subject};
use crate::secrets::writing::write_rotated;
use crate::store::{RotationFailure, RotationSchedule, RotationSlots, StoreResult};

/// Reason why the new credential cannot be served.
enum SwapError {
    /// The secrets cannot be written: plan limit, validation, or deleted project or environment.
    ByRule(Reason),
    /// The work must stop; the stored state determines how it resumes.
    WorkError(WorkError),
}

impl Attempt<'_, '_> {
    /// Makes the new credential the served one: writes secrets, rotation, attempt, webhook events
    /// and audit entry in one transaction. Rolls the attempt back if the secrets cannot be written
    /// (plan limit, validation, deleted project or environment).
    pub(super) async fn swap(&mut self) -> WorkResult<()> {
        let engine = self.work.engine;
        let caller = Caller::system();
        let mut cx = Context::<Write>::open(engine, &caller).await?;
        let before = (self.record.clone(), self.work.rotation.clone());
        match self.serve(&mut cx).await {
            Ok(()) => {
                failpoint::reached("in-swap").await;
                commit(cx).await?;
                failpoint::reached("after-swap").await;
                Ok(())
            }
            Err(refused) => {
                drop(cx);
                (self.record, self.work.rotation) = before;
                match refused {
                    SwapError::ByRule(reason) => self.begin_roll_back(&reason).await,
                    SwapError::WorkError(halt) => Err(halt),
                }
            }
        }
    }

    async fn serve(&mut self, cx: &mut Context<'_, Write>) -> Result<(), SwapError> {
        let environment = self.work.rotation.environment;
        // Lock order used everywhere: environment, then rotation.
        let gone = || SwapError::ByRule(Reason::gone());
        cx.lock(Lock::Secrets(environment)).await.map_err(|error| match error {
            Error::Stale(_) => gone(),
            other => refused(other),
        })?;
        self.work.lock_row(cx.tx()).await.map_err(SwapError::WorkError)?;
        let now = cx.now();
        let place = cx.tx().rotation_location(self.record.rotation).await.map_err(halt)?;
        let place = place.filter(|place| !place.is_deleted).ok_or_else(gone)?;

        let keys = InjectedKeys::from_text(&self.work.rotation.settings.keys).map_err(refused)?;
        let scope = cx.rotation_environment(place).map_err(refused)?;
        let values = keys.values(&self.target, &self.login).map_err(refused)?;
        write_rotated(cx, &scope, values).await.map_err(refused)?;

        self.record.state = AttemptState::Concluded;
        self.record.pending = None;
        self.record.outcome = Some(Outcome::Success);
        self.record.completed_at = Some(now);
        cx.tx().update_attempt(&self.record).await.map_err(halt)?;
        self.update_after_success(now);
        cx.tx().update_rotation(&self.work.rotation).await.map_err(halt)?;
        self.work
            .enqueue_event(cx.tx(), &self.record, WebhookEvent::Completed)
            .await
            .map_err(refused)?;
        let mut details = attempt_details(&self.record);
        let injected = keys.all().map(|key| key.to_string()).to_vec();
        details.push(("injected_secrets", injected.into()));
        self.work.record(cx.tx(), "rotation.completed", &details).await.map_err(halt)
    }

    /// Updates the rotation after a success.
    fn update_after_success(&mut self, now: crate::model::Time) {
        let timings = self.work.rotators.timings;
        let rotation = &mut self.work.rotation;
        let is_held = matches!(rotation.status, RotationStatus::Paused | RotationStatus::Disabled);
        let grace = timings.grace(rotation);
        let interval = u64::try_from(timings.interval(rotation).num_seconds());
        rotation.slots = RotationSlots {
            active: Some(self.record.slot),
            retire_at: rotation.slots.active.map(|_| now + grace),
            check_at: timings.checks.first().map(|pause| now + span(*pause)),
            checks: 0,
        };
        rotation.schedule = RotationSchedule {
            next_at: timings.next(rotation, now),
            // The interval starts again, even if the rotation is paused.
            remaining: rotation.schedule.remaining.map(|_| interval.unwrap_or_default()),
            last_at: Some(now),
            work_at: None,
        };
        rotation.status = if is_held { rotation.status } else { RotationStatus::Active };
        rotation.failure = RotationFailure {
            code: self.record.error_code.clone(),
            message: self.record.error_message.clone(),
            since: None,
            count: 0,
        };
        rotation.updated_at = now;
        rotation.schedule.work_at = work_at(rotation, false, now);
    }
}

impl Reason {
    fn gone() -> Self {
        Self::new("deleted", "the project or the environment was deleted", Effect::Disabled)
    }
}

/// Classifies an error. A refusal, such as a plan limit, is a reason to roll back; any other
/// failure stops the work.
fn refused(error: Error) -> SwapError {
    match error {
        Error::NotFound(Subject::Environment | Subject::Project) => {
            SwapError::ByRule(Reason::gone())
        }
        Error::Refused { .. }
        | Error::Invalid(_)
        | Error::Conflict(_)
        | Error::Forbidden(_)
        | Error::PlanLimit(_) => {
            let message = format!("the new credential could not be written: {error}");
            SwapError::ByRule(Reason::new("not_written", message, Effect::Error))
        }
        other => SwapError::WorkError(other.into()),
    }
}

fn halt(error: crate::store::StoreError) -> SwapError {
    SwapError::WorkError(error.into())
}

/// Commits the transaction. A failpoint lets a test stop the process after the store received the
/// commit but before the store responded.
async fn commit(cx: Context<'_, Write>) -> StoreResult<()> {
    let tx = cx.into_session();
    let mut commit = pin!(tx.commit());
    if let std::task::Poll::Ready(done) = poll!(commit.as_mut()) {
        return done;
    }
    failpoint::reached("before-swap-answer").await;
    commit.await
}
