//! Rotations after the database was restored from a backup: the databases whose credentials they
//! rotate may have changed since the backup.

use uuid::Uuid;

use super::schedule;
use crate::model::rotations::{RESTORED, RotationStatus};
use crate::model::{RotationId, Time};
use crate::store::{StoreResult, Tx};

/// Message of rotations that [`stop_restored`] stops.
const MESSAGE: &str = "the database of the service was restored from a backup, and the credential may have changed since: set the status to active to rotate";

/// Number by which the attempts of a restored rotation are ahead. Higher than the number of attempts
/// since the backup: the target refuses attempts with a lower number than its last one.
const SKIPPED_ATTEMPTS: u64 = 1 << 32;

/// Sets all rotations that would run by themselves to the status `error`, until a user sets them to
/// `active`, and ends their unfinished attempts. Returns the number of these rotations.
pub(crate) async fn stop_restored(tx: &mut dyn Tx, now: Time) -> StoreResult<u64> {
    let (mut stopped, mut next) = (0, Some(RotationId::from(Uuid::nil())));
    while let Some(from) = next {
        let Some(mut rotation) = tx.next_rotation(from).await? else { break };
        next = rotation.id.uuid().as_u128().checked_add(1).map(|id| Uuid::from_u128(id).into());
        if let Some(attempt) = tx.open_attempt(rotation.id).await? {
            tx.update_attempt(&attempt.failed(RESTORED, MESSAGE, now)).await?;
        }
        rotation.sequence = rotation.sequence.saturating_add(SKIPPED_ATTEMPTS);
        if matches!(rotation.status, RotationStatus::Active | RotationStatus::Error) {
            rotation.status = RotationStatus::Error;
            rotation.failure.code = Some(RESTORED.to_owned());
            rotation.failure.message = Some(MESSAGE.to_owned());
            rotation.failure.since = Some(now);
            rotation.updated_at = now;
            stopped += 1;
        }
        rotation.schedule.work_at = schedule::work_at(&rotation, false, now);
        tx.update_rotation(&rotation).await?;
    }
    Ok(stopped)
}
