//! Conclusion of an unsuccessful attempt: history, status, events and audit log, in one
//! transaction.

use serde_json::Value;

use super::super::keys::InjectedKeys;
use super::super::schedule::{MAX_TIME_IN_ERROR, span};
use super::super::webhooks::{EventData, EventPlace, enqueue_event};
use super::policy::{Effect, Reason};
use super::work::{Work, WorkResult};
use crate::model::Result;
use crate::model::rotations::{AttemptState, Outcome, RotationStatus, WebhookEvent};
use crate::notices;
use crate::store::{AttemptRecord, Tx};

/// Returns the details of the audit entry at the end of an attempt: its number, its trigger, and
/// the user who requested it.
pub(super) fn attempt_details(attempt: &AttemptRecord) -> Vec<(&'static str, Value)> {
    let details =
        [("version", attempt.sequence.into()), ("trigger_type", attempt.trigger.as_str().into())];
    let requested = attempt.triggered_by.map(|user| ("triggered_by", user.to_string().into()));
    details.into_iter().chain(requested).collect()
}

/// True if a rotation has changed to status `error` or `disabled`.
fn has_begun_to_fail(before: RotationStatus, after: RotationStatus) -> bool {
    before != after && matches!(after, RotationStatus::Error | RotationStatus::Disabled)
}

impl Work<'_> {
    /// Concludes an attempt as failed.
    pub(super) async fn conclude_failed(
        &mut self,
        attempt: AttemptRecord,
        reason: Reason,
    ) -> WorkResult<()> {
        self.conclude(attempt, Outcome::Failed, reason).await.map(drop)
    }

    /// Concludes an attempt as failed and returns its new record.
    pub(super) async fn conclude_failed_record(
        &mut self,
        attempt: AttemptRecord,
        reason: Reason,
    ) -> WorkResult<AttemptRecord> {
        self.conclude(attempt, Outcome::Failed, reason).await
    }

    /// Concludes an unsuccessful attempt.
    pub(super) async fn conclude(
        &mut self,
        attempt: AttemptRecord,
        outcome: Outcome,
        reason: Reason,
    ) -> WorkResult<AttemptRecord> {
        let now = self.engine.now();
        // The slot's user still has a password that is no longer stored, so its login must be
        // disabled later.
        let is_left_open = outcome == Outcome::Failed
            && matches!(
                attempt.state,
                AttemptState::Applied | AttemptState::Verified | AttemptState::RollingBack
            );
        let attempt = AttemptRecord {
            state: AttemptState::Concluded,
            pending: None,
            outcome: Some(outcome),
            error_code: Some(reason.code.to_owned()),
            error_message: Some(reason.message.clone()),
            completed_at: Some(now),
            ..attempt
        };
        let mut tx = self.begin().await?;
        tx.update_attempt(&attempt).await?;
        let before = self.rotation.status;
        self.record_failure(&reason);
        if has_begun_to_fail(before, self.rotation.status) {
            let rotation = &mut self.rotation;
            notices::announce_failure(self.engine, tx.as_mut(), rotation, attempt.id).await?;
        }
        if is_left_open {
            self.rotation.slots.retire_at = Some(now + span(self.rotators.timings.retire));
        }
        self.write(tx.as_mut(), false).await?;
        self.enqueue_event(tx.as_mut(), &attempt, WebhookEvent::Failed).await?;
        let action = match outcome {
            Outcome::RolledBack => "rotation.rolled_back",
            Outcome::Success | Outcome::Failed => "rotation.failed",
        };
        let mut details = attempt_details(&attempt);
        details.push(("code", reason.code.into()));
        self.record_failed(tx.as_mut(), action, &details).await?;
        tx.commit().await?;
        Ok(attempt)
    }

    /// Updates the rotation's status, failure count and next time. A paused or disabled rotation
    /// keeps its status, unless the reason disables it.
    fn record_failure(&mut self, reason: &Reason) {
        let (now, timings) = (self.engine.now(), self.rotators.timings);
        let rotation = &mut self.rotation;
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

    /// Enqueues an event for the rotation's webhooks.
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
        let about = EventData::new(place, attempt, injected);
        Ok(enqueue_event(tx, event, &about, self.engine.now()).await?)
    }
}
