//! Replacing the credential in the secrets by the new credential, in one transaction (tx3 in the
//! [module docs](super)).

use std::mem;
use std::pin::pin;

use futures_util::poll;

use super::super::keys::InjectedKeys;
use super::super::schedule::{span, work_at};
use super::attempt::Attempt;
use super::conclude::attempt_details;
use super::policy::{Effect, Reason};
use super::work::{WorkError, WorkResult};
use crate::access::EnvironmentScope;
use crate::engine::{Caller, Context, Failures, Lock, WorkItem, Write};
use crate::failpoint;
use crate::model::rotations::{AttemptState, Outcome, RotationStatus, WebhookEvent};
use crate::model::{Error, Subject, Time};
use crate::ports::rotators::Timings;
use crate::secrets::writing::write_rotated;
use crate::store::{
    AttemptRecord, RotationFailure, RotationRecord, RotationSchedule, RotationSlots, StoreResult,
};

/// Reason why the new credential cannot be written to the secrets.
enum SwapError {
    /// The secrets cannot be written because of a rule: plan limit, validation, or a deleted
    /// project or environment.
    ByRule(Reason),
    /// The work must stop because of another failure. A worker resumes it later from the stored
    /// state.
    WorkError(WorkError),
}

impl Attempt<'_, '_> {
    /// Writes the new credential to the secrets, and updates rotation, attempt, webhook events and
    /// audit log, in one transaction. Rolls the attempt back if the secrets cannot be written (plan
    /// limit, validation, deleted project or environment).
    pub(super) async fn swap(&mut self) -> WorkResult<()> {
        let engine = self.work.engine;
        let caller = Caller::system();
        let mut cx = Context::<Write>::open(engine, &caller, false).await?;
        let before = (self.record.clone(), self.work.rotation.clone());
        match self.serve(&mut cx).await {
            Ok(()) => {
                failpoint::reached("in-swap").await;
                commit(cx).await?;
                engine.counters().count_rotation(Outcome::Success);
                let item = WorkItem::RotationRecord(self.record.rotation);
                engine.shared::<Failures>().clear(item);
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
        let scope = EnvironmentScope::of_rotation(cx, place).map_err(refused)?;
        let values = keys.values(&self.target, &self.login).map_err(refused)?;
        write_rotated(cx, &scope, values).await.map_err(refused)?;

        self.record.state = AttemptState::Concluded;
        self.record.pending = None;
        self.record.outcome = Some(Outcome::Success);
        self.record.completed_at = Some(now);
        cx.tx().update_attempt(&self.record).await.map_err(halt)?;
        let timings = &self.work.rotators.timings;
        update_after_success(&mut self.work.rotation, &self.record, timings, now);
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
}

/// Updates the record of a rotation after a successful attempt.
fn update_after_success(
    rotation: &mut RotationRecord,
    attempt: &AttemptRecord,
    timings: &Timings,
    now: Time,
) {
    let is_held = matches!(rotation.status, RotationStatus::Paused | RotationStatus::Disabled);
    let grace = timings.grace(rotation);
    let interval = u64::try_from(timings.interval(rotation).num_seconds());
    rotation.slots = RotationSlots {
        active: Some(attempt.slot),
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
        code: attempt.error_code.clone(),
        message: attempt.error_message.clone(),
        since: None,
        count: 0,
    };
    rotation.updated_at = now;
    rotation.schedule.work_at = work_at(rotation, false, now);
}

impl Reason {
    fn gone() -> Self {
        Self::new("deleted", "the project or the environment was deleted", Effect::Disabled)
    }
}

/// Classifies an error from writing the secrets: a refusal, such as a plan limit, is a reason to
/// roll back; any other failure stops the work.
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
async fn commit(mut cx: Context<'_, Write>) -> StoreResult<()> {
    let (keyring, manifests) = (cx.engine.keyring(), mem::take(&mut cx.manifests));
    let mut tx = cx.into_session();
    manifests.store(keyring, tx.as_mut()).await?;
    let mut commit = pin!(tx.commit());
    if let std::task::Poll::Ready(done) = poll!(commit.as_mut()) {
        return done;
    }
    failpoint::reached("before-swap-answer").await;
    commit.await
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::model::Code;
    use crate::model::rotations::Slot;
    use crate::testing::fixtures::{at, attempt, rotation_in};

    /// Creates a rotation in status `error` whose secrets contain the credential of slot A, and an
    /// attempt to change slot B.
    fn failing() -> (RotationRecord, AttemptRecord) {
        let mut rotation = rotation_in(uuid::Uuid::from_u128(1).into(), "db", at(0));
        rotation.status = RotationStatus::Error;
        rotation.slots =
            RotationSlots { active: Some(Slot::A), checks: 7, ..RotationSlots::default() };
        let code = Some("unreachable".to_owned());
        rotation.failure = RotationFailure { code, message: None, since: Some(at(1)), count: 3 };
        let attempt = AttemptRecord { slot: Slot::B, ..attempt(&rotation, 2) };
        (rotation, attempt)
    }

    #[test]
    fn a_success_serves_the_new_slot_and_retires_the_other_after_the_grace_period() {
        let (mut rotation, attempt) = failing();

        update_after_success(&mut rotation, &attempt, &Timings::default(), at(100));

        assert_eq!(
            rotation.slots,
            RotationSlots {
                active: Some(Slot::B),
                retire_at: Some(at(100) + TimeDelta::days(1)),
                check_at: Some(at(160)),
                checks: 0,
            }
        );
        assert_eq!(rotation.schedule.work_at, Some(at(160)));
        assert_eq!((rotation.schedule.last_at, rotation.updated_at), (Some(at(100)), at(100)));
        let pause = rotation.schedule.next_at - at(100) - TimeDelta::days(30);
        assert!(pause.abs() <= TimeDelta::hours(1), "{pause}");
    }

    #[test]
    fn a_first_success_retires_no_slot() {
        let (mut rotation, attempt) = failing();
        rotation.slots.active = None;

        update_after_success(&mut rotation, &attempt, &Timings::default(), at(100));

        assert_eq!(rotation.slots.retire_at, None);
    }

    #[test]
    fn a_success_ends_a_failure_and_keeps_the_warning_of_its_attempt() {
        let (mut rotation, mut attempt) = failing();
        attempt.error_code = Some("trust".to_owned());
        attempt.error_message = Some("a warning".to_owned());

        update_after_success(&mut rotation, &attempt, &Timings::default(), at(100));

        assert_eq!(
            rotation.failure,
            RotationFailure {
                code: Some("trust".to_owned()),
                message: Some("a warning".to_owned()),
                since: None,
                count: 0,
            }
        );
    }

    #[test]
    fn a_success_makes_a_rotation_active_unless_it_is_held() {
        use RotationStatus::{Active, Disabled, Error, Paused};

        for (before, after) in
            [(Active, Active), (Error, Active), (Paused, Paused), (Disabled, Disabled)]
        {
            let (mut rotation, attempt) = failing();
            rotation.status = before;
            rotation.schedule.remaining = Some(5);

            update_after_success(&mut rotation, &attempt, &Timings::default(), at(100));

            assert_eq!(rotation.status, after, "{before:?}");
            assert_eq!(rotation.schedule.remaining, Some(30 * 24 * 60 * 60), "{before:?}");
        }
    }

    #[test]
    fn a_refusal_rolls_back_and_another_failure_stops_the_work() {
        for (error, code) in [
            (Error::NotFound(Subject::Environment), Some("deleted")),
            (Error::NotFound(Subject::Project), Some("deleted")),
            (Error::forbidden("no"), Some("not_written")),
            (Error::invalid("key", "no"), Some("not_written")),
            (Error::Conflict(Subject::Secret), Some("not_written")),
            (
                Error::Refused { code: Code::InvalidRequest, reason: "no".into() },
                Some("not_written"),
            ),
            (Error::NotFound(Subject::Rotation), None),
            (Error::Stale(Subject::Rotation), None),
            (Error::internal("broken"), None),
        ] {
            let text = error.to_string();

            let found = match refused(error) {
                SwapError::ByRule(reason) => Some(reason.code),
                SwapError::WorkError(_) => None,
            };

            assert_eq!(found, code, "{text}");
        }
    }
}
