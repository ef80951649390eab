//! End of an unsuccessful attempt: stores its history, the rotation's status, the webhook events
//! and the audit entry in one transaction.

use serde_json::Value;

use super::super::keys::InjectedKeys;
use super::super::schedule::{MAX_TIME_IN_ERROR, span};
use super::super::webhooks::{EventData, EventPlace, enqueue_event};
use super::policy::{Effect, Reason, UNDECRYPTABLE};
use super::work::{Work, WorkResult};
use crate::model::rotations::{AttemptState, Outcome, RotationStatus, WebhookEvent};
use crate::model::{Result, Time};
use crate::notices;
use crate::ports::rotators::Timings;
use crate::store::{AttemptRecord, RotationRecord, Tx};

/// Returns the details for the audit entry at the end of an attempt: the attempt's number, its
/// trigger, and the user who requested it.
pub(super) fn attempt_details(attempt: &AttemptRecord) -> Vec<(&'static str, Value)> {
    let details =
        [("version", attempt.sequence.into()), ("trigger_type", attempt.trigger.as_str().into())];
    let requested = attempt.triggered_by.map(|user| ("triggered_by", user.to_string().into()));
    details.into_iter().chain(requested).collect()
}

/// Codes of the reasons that end an attempt while a command to the target database may be running.
const UNKNOWN_RESULT: [&str; 3] = ["crashed", "timed_out", UNDECRYPTABLE];

/// True if an attempt that failed for this reason may have set a password that is no longer stored.
/// The login of the slot's user must then be disabled later.
fn may_have_changed(attempt: &AttemptRecord, reason: &Reason) -> bool {
    match attempt.state {
        AttemptState::Applied | AttemptState::Verified | AttemptState::RollingBack => true,
        // The error of an earlier try is stored only if the result of the try is unknown. The
        // result of a try whose worker crashed is unknown too.
        AttemptState::Applying => {
            attempt.error_code.is_some()
                || attempt.resumed > 0
                || UNKNOWN_RESULT.contains(&reason.code)
        }
        AttemptState::Planned | AttemptState::Concluded => false,
    }
}

/// True if the status of a rotation has changed to `error` or `disabled` from another status.
fn has_begun_to_fail(before: RotationStatus, after: RotationStatus) -> bool {
    before != after && matches!(after, RotationStatus::Error | RotationStatus::Disabled)
}

/// Updates a rotation after an unsuccessful attempt: its status, its number of failures and the
/// time of the next attempt. A paused or disabled rotation keeps its status, unless the reason
/// disables it.
fn record_failure(rotation: &mut RotationRecord, reason: &Reason, timings: &Timings, now: Time) {
    rotation.failure.count = rotation.failure.count.saturating_add(1);
    rotation.failure.code = Some(reason.code.to_owned());
    rotation.failure.message = Some(reason.message.clone());
    let is_error = match reason.effect {
        Effect::BackOff(limit) => rotation.failure.count >= limit,
        Effect::Error => true,
        Effect::Disabled => {
            rotation.status = RotationStatus::Disabled;
            return;
        }
    };
    match rotation.status {
        RotationStatus::Paused | RotationStatus::Disabled => {}
        RotationStatus::Active if !is_error => {
            rotation.schedule.next_at = timings.retry_at(rotation.failure.count, now);
        }
        RotationStatus::Active | RotationStatus::Error => {
            let since = *rotation.failure.since.get_or_insert(now);
            rotation.schedule.next_at = now + span(timings.probe);
            rotation.status = if now - since >= MAX_TIME_IN_ERROR {
                RotationStatus::Disabled
            } else {
                RotationStatus::Error
            };
        }
    }
}

impl Work<'_> {
    /// Ends an unsuccessful attempt: stores its outcome and reason, and updates the rotation.
    /// Returns the changed attempt record.
    pub(super) async fn conclude(
        &mut self,
        attempt: AttemptRecord,
        outcome: Outcome,
        reason: Reason,
    ) -> WorkResult<AttemptRecord> {
        let mut tx = self.begin().await?;
        let attempt = self.conclude_in(tx.as_mut(), attempt, outcome, reason).await?;
        tx.commit().await?;
        self.engine.counters().count_rotation(outcome);
        Ok(attempt)
    }

    /// Ends an unsuccessful attempt like [`conclude`](Self::conclude), in a transaction in which
    /// the rotation's row is locked. After the commit, the caller must count the attempt in the
    /// metrics.
    pub(super) async fn conclude_in(
        &mut self,
        tx: &mut dyn Tx,
        attempt: AttemptRecord,
        outcome: Outcome,
        reason: Reason,
    ) -> WorkResult<AttemptRecord> {
        let now = self.engine.now();
        let is_left_open = outcome == Outcome::Failed && may_have_changed(&attempt, &reason);
        let was_applied = attempt.state != AttemptState::Applying;
        let attempt = AttemptRecord {
            state: AttemptState::Concluded,
            pending: None,
            outcome: Some(outcome),
            error_code: Some(reason.code.to_owned()),
            error_message: Some(reason.message.clone()),
            completed_at: Some(now),
            ..attempt
        };
        tx.update_attempt(&attempt).await?;
        let before = self.rotation.status;
        record_failure(&mut self.rotation, &reason, &self.rotators.timings, now);
        if has_begun_to_fail(before, self.rotation.status) {
            let (team, rotation) = (self.place.place.project.team, &mut self.rotation);
            notices::announce_failure(self.engine, tx, team, rotation, attempt.id).await?;
        }
        if is_left_open {
            let retire_at = now + span(self.rotators.timings.retire);
            // If the command did not run, the user still has the previous credential, which may be
            // in its grace period.
            let kept = self.rotation.slots.retire_at.filter(|_| !was_applied);
            self.rotation.slots.retire_at = kept.or(Some(retire_at));
        }
        self.write(tx).await?;
        self.enqueue_event(tx, &attempt, WebhookEvent::Failed).await?;
        let action = match outcome {
            Outcome::RolledBack => "rotation.rolled_back",
            Outcome::Success | Outcome::Failed => "rotation.failed",
        };
        let mut details = attempt_details(&attempt);
        details.push(("code", reason.code.into()));
        self.record_failed(tx, action, &details).await?;
        Ok(attempt)
    }

    /// Enqueues an event for each webhook of the rotation that is enabled and subscribed to it.
    pub(super) async fn enqueue_event(
        &self,
        tx: &mut dyn Tx,
        attempt: &AttemptRecord,
        event: WebhookEvent,
    ) -> Result<()> {
        let injected = match self.rotation.slots.active {
            Some(_) => InjectedKeys::from_text(&self.rotation.settings.keys)?.all().into(),
            None => Vec::new(),
        };
        let place = EventPlace::new(&self.place.place, &self.rotation);
        let event_data = EventData::new(place, attempt, injected);
        Ok(enqueue_event(tx, event, &event_data, self.engine.now()).await?)
    }
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::ports::rotator::Fault;
    use crate::testing::fixtures::{at, attempt as record_of, rotation_in};

    /// Creates a rotation that has failed twice and has this status.
    fn rotation(status: RotationStatus) -> RotationRecord {
        let mut rotation = rotation_in(uuid::Uuid::from_u128(1).into(), "db", at(0));
        rotation.status = status;
        rotation.failure.count = 2;
        rotation
    }

    /// Records a failure of the rotation with this effect, at Unix time 1,000.
    fn fail(rotation: &mut RotationRecord, effect: Effect) {
        let reason = Reason::new("code", "message", effect);
        record_failure(rotation, &reason, &Timings::default(), at(1_000));
    }

    #[test]
    fn a_failure_is_counted_and_named() {
        let mut rotation = rotation(RotationStatus::Active);

        fail(&mut rotation, Effect::BackOff(5));

        assert_eq!(rotation.failure.count, 3);
        assert_eq!(rotation.failure.code.as_deref(), Some("code"));
        assert_eq!(rotation.failure.message.as_deref(), Some("message"));
    }

    #[test]
    fn the_effect_of_a_failure_depends_on_the_status() {
        use Effect::{BackOff, Disabled as Disable, Error as Fail};
        use RotationStatus::{Active, Disabled, Error, Paused};

        for (before, effect, after) in [
            (Active, BackOff(4), Active),
            (Active, BackOff(3), Error),
            (Active, BackOff(2), Error),
            (Active, Fail, Error),
            (Active, Disable, Disabled),
            (Error, BackOff(4), Error),
            (Error, Fail, Error),
            (Error, Disable, Disabled),
            (Paused, BackOff(3), Paused),
            (Paused, Fail, Paused),
            (Paused, Disable, Disabled),
            (Disabled, Fail, Disabled),
        ] {
            let mut rotation = rotation(before);

            fail(&mut rotation, effect);

            assert_eq!(rotation.status, after, "{before:?} {effect:?}");
        }
    }

    #[test]
    fn an_active_rotation_is_retried_soon_and_one_in_error_after_a_day() {
        let mut active = rotation(RotationStatus::Active);
        let mut error = rotation(RotationStatus::Error);
        let mut paused = rotation(RotationStatus::Paused);

        for rotation in [&mut active, &mut error, &mut paused] {
            fail(rotation, Effect::BackOff(5));
        }

        let pause = active.schedule.next_at - at(1_000);
        assert!((pause - TimeDelta::minutes(20)).abs() <= TimeDelta::minutes(2), "{pause}");
        assert_eq!(active.failure.since, None);
        assert_eq!(error.schedule.next_at, at(1_000) + TimeDelta::days(1));
        assert_eq!(error.failure.since, Some(at(1_000)));
        assert_eq!(paused.schedule.next_at, at(0));
    }

    #[test]
    fn a_rotation_in_error_for_30_days_is_disabled() {
        let month = 30 * 24 * 60 * 60;
        for (since, after) in
            [(1_000 - month, RotationStatus::Disabled), (1_001 - month, RotationStatus::Error)]
        {
            let mut rotation = rotation(RotationStatus::Error);
            rotation.failure.since = Some(at(since));

            fail(&mut rotation, Effect::Error);

            assert_eq!(rotation.status, after, "{since}");
            assert_eq!(rotation.failure.since, Some(at(since)));
        }
    }

    #[test]
    fn a_user_that_may_have_a_new_password_is_left_open() {
        use AttemptState::{Applied, Applying, Concluded, Planned, RollingBack, Verified};

        let unreachable = Reason::new(Fault::Unreachable.code(), "", Effect::Error);
        let crashed = Reason::new("crashed", "", Effect::Error);
        let rotation = rotation(RotationStatus::Active);
        for state in [Planned, Applying, Applied, Verified, RollingBack, Concluded] {
            let attempt = AttemptRecord { state, ..record_of(&rotation, 1) };
            let lost =
                AttemptRecord { error_code: Some("interrupted".to_owned()), ..attempt.clone() };
            let resumed = AttemptRecord { resumed: 1, ..attempt.clone() };
            let changed = matches!(state, Applied | Verified | RollingBack);
            let may_have_run = changed || state == Applying;

            assert_eq!(may_have_changed(&attempt, &unreachable), changed, "{state:?}");
            assert_eq!(may_have_changed(&attempt, &crashed), may_have_run, "{state:?}");
            assert_eq!(may_have_changed(&lost, &unreachable), may_have_run, "{state:?}");
            assert_eq!(may_have_changed(&resumed, &unreachable), may_have_run, "{state:?}");
        }
    }

    #[test]
    fn a_failure_is_announced_when_the_status_becomes_error_or_disabled() {
        use RotationStatus::{Active, Disabled, Error, Paused};

        for (before, after, begins) in [
            (Active, Error, true),
            (Active, Disabled, true),
            (Error, Disabled, true),
            (Error, Error, false),
            (Active, Active, false),
            (Error, Active, false),
            (Active, Paused, false),
        ] {
            assert_eq!(has_begun_to_fail(before, after), begins, "{before:?} {after:?}");
        }
    }
}
