//! An attempt to rotate, from its start to its end.

use super::super::keys::InjectedKeys;
use super::super::list::MAX_HISTORY;
use super::super::sealing::{RotationContext, SealedField};
use super::super::webhooks::{EventData, EventPlace, enqueue_event};
use super::super::{draw_password, slot_user};
use super::claim::{is_rotation_due, take_unfinished};
use super::policy::{Effect, Reason, UNDECRYPTABLE, UNDECRYPTABLE_MESSAGE};
use super::work::{Work, WorkResult};
use crate::crypto::Keyring;
use crate::failpoint;
use crate::model::rotations::{AttemptState, Outcome, Slot, TriggerType, WebhookEvent};
use crate::model::{AttemptId, Result, Time};
use crate::ports::rotator::{Fault, Login, Target};
use crate::store::{AttemptRecord, RotationRecord, Tx};

/// Maximum number of times that an attempt is resumed after its worker crashed. After more crashes,
/// the attempt itself is probably their cause.
const MAX_RESUMPTIONS: u32 = 3;

/// Maximum number of old attempts that are deleted when an attempt is created, so that the
/// transaction is short.
const MAX_TRIMMED: u32 = 200;

/// A rotation attempt in progress, with the target database and the new login.
pub(super) struct Attempt<'w, 'a> {
    pub(super) work: &'w mut Work<'a>,
    pub(super) record: AttemptRecord,
    pub(super) target: Target,
    pub(super) login: Login,
}

/// Creates an attempt with a new password, before any command to the target database (tx0 in the
/// [module docs](super)). The caller must have locked the rotation's row and must afterwards store
/// the changed rotation record, which has a new attempt number and a new time for the next work.
pub(in super::super) async fn plan(
    tx: &mut dyn Tx,
    (keyring, place): (&Keyring, &RotationContext),
    rotation: &mut RotationRecord,
    (trigger, triggered_by): (TriggerType, Option<uuid::Uuid>),
    now: Time,
) -> Result<AttemptRecord> {
    let id = AttemptId::draw(now);
    let sequence = rotation.sequence + 1;
    let pending = place.sealer(keyring).seal(SealedField::Pending(id, sequence), &draw_password());
    let attempt = AttemptRecord {
        id,
        rotation: rotation.id,
        sequence,
        // Change the slot that is not served.
        slot: rotation.slots.active.map_or(Slot::A, Slot::other),
        pending: Some(pending),
        state: AttemptState::Planned,
        trigger,
        triggered_by,
        tries: 0,
        resumed: 0,
        outcome: None,
        error_code: None,
        error_message: None,
        started_at: now,
        completed_at: None,
    };
    tx.insert_attempt(&attempt).await?;
    tx.trim_attempts(rotation.id, MAX_HISTORY, MAX_TRIMMED).await?;
    rotation.sequence = sequence;
    rotation.schedule.work_at = Some(now);
    let injected = InjectedKeys::from_text(&rotation.settings.keys)?.all().into();
    let event_data = EventData::new(EventPlace::new(&place.place, rotation), &attempt, injected);
    enqueue_event(tx, WebhookEvent::Started, &event_data, now).await?;
    Ok(attempt)
}

impl Work<'_> {
    /// Starts an attempt for a rotation that is due, and runs the attempt to its end.
    pub(super) async fn rotate(&mut self) -> WorkResult<()> {
        failpoint::reached("before-plan").await;
        let now = self.engine.now();
        let mut tx = self.begin().await?;
        // A user may have started an attempt, or stopped the rotation, since it was claimed.
        let has_open = tx.open_attempt(self.rotation.id).await?.is_some();
        if has_open || !is_rotation_due(&self.rotation, now) {
            return Ok(());
        }
        let keys = (self.engine.keyring(), self.place.as_ref());
        let trigger = (TriggerType::Scheduled, None);
        let attempt = plan(tx.as_mut(), keys, &mut self.rotation, trigger, now).await?;
        tx.update_rotation(&self.rotation).await?;
        let details = [("version", attempt.sequence.into()), ("trigger_type", "scheduled".into())];
        self.record(tx.as_mut(), "rotation.started", &details).await?;
        tx.commit().await?;
        failpoint::reached("after-plan").await;
        Attempt::drive(self, attempt).await
    }
}

impl<'w, 'a> Attempt<'w, 'a> {
    /// Resumes an attempt that was started but not finished.
    pub(super) async fn resume(
        work: &'w mut Work<'a>,
        mut record: AttemptRecord,
    ) -> WorkResult<()> {
        if record.state == AttemptState::Applying {
            // The command that was sent last has no known result.
            record.error_code.get_or_insert_with(|| Fault::Interrupted.code().to_owned());
        }
        let has_begun = record.state != AttemptState::Planned;
        if has_begun && !take_unfinished(work.engine, record.rotation) {
            record.resumed += 1;
            let mut tx = work.begin().await?;
            tx.update_attempt(&record).await?;
            tx.commit().await?;
        }
        if record.resumed > MAX_RESUMPTIONS {
            let message = "the worker crashed four times during this attempt";
            let reason = Reason::new("crashed", message, Effect::Error);
            return work.conclude(record, Outcome::Failed, reason).await.map(drop);
        }
        Self::drive(work, record).await
    }

    /// Runs an attempt to its end, whatever state it is in.
    async fn drive(work: &'w mut Work<'a>, record: AttemptRecord) -> WorkResult<()> {
        let (target, login) = match Self::load(work, &record).await {
            Ok(loaded) => loaded,
            Err(crate::model::Error::Internal(_)) => {
                let reason = Reason::new(UNDECRYPTABLE, UNDECRYPTABLE_MESSAGE, Effect::Error);
                work.report_undecryptable();
                return work.conclude(record, Outcome::Failed, reason).await.map(drop);
            }
            Err(error) => return Err(error.into()),
        };
        let mut attempt = Attempt { work, record, target, login };
        loop {
            match attempt.record.state {
                AttemptState::Planned | AttemptState::Applying => attempt.apply().await?,
                AttemptState::Applied => attempt.verify().await?,
                AttemptState::Verified => attempt.swap().await?,
                AttemptState::RollingBack => attempt.roll_back().await?,
                AttemptState::Concluded => return Ok(()),
            }
        }
    }

    async fn load(work: &Work<'_>, record: &AttemptRecord) -> Result<(Target, Login)> {
        let target = work.target().await?;
        let pending = record.pending.as_ref();
        let pending =
            pending.ok_or_else(|| crate::model::Error::internal("attempt has no password"))?;
        let mut reads = work.engine.store().read().await?;
        let field = SealedField::Pending(record.id, record.sequence);
        let sealer = work.place.sealer(work.engine.keyring());
        let password = sealer.open(reads.as_mut(), field, pending).await?;
        let username = slot_user(record.rotation, record.slot);
        Ok((target, Login { username, password }))
    }

    /// Stores a new state of the attempt, before the next command to the target database.
    pub(super) async fn enter(&mut self, state: AttemptState) -> WorkResult<()> {
        self.record.state = state;
        let mut tx = self.work.begin().await?;
        tx.update_attempt(&self.record).await?;
        Ok(tx.commit().await?)
    }
}
