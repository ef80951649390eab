//! Rotations after a restore of the service's database from a backup: the credentials of the
//! rotated databases may have changed since the backup.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::schedule;
use crate::model::rotations::{RESTORED, RotationStatus};
use crate::model::{RotationId, Time};
use crate::notices;
use crate::store::{StoreResult, Tx};

/// Message of rotations that [`stop_restored`] stops.
const MESSAGE: &str = "the database of the service was restored from a backup, and the credential may have changed since: set the status to active to rotate";

/// Sets all rotations in status `active` or `error` to the status `error`, until a user sets them
/// to `active`. Returns the number of these rotations; their teams get a notice.
///
/// Ends the unfinished attempts of all rotations, and cancels the disabling and the checks of
/// logins: the login that is the previous one in the backup may be in use now. The number of the
/// next attempt is higher by more than `skipped`, which must exceed the number of attempts since
/// the backup, because the rotated database refuses an attempt with a lower number than its last
/// one.
pub(crate) async fn stop_restored(tx: &mut dyn Tx, skipped: u64, now: Time) -> StoreResult<u64> {
    let (mut stopped, mut next) = (0, Some(RotationId::from(Uuid::nil())));
    let mut teams = BTreeSet::new();
    while let Some(from) = next {
        let Some(mut rotation) = tx.next_rotation(from).await? else { break };
        next = rotation.id.uuid().as_u128().checked_add(1).map(|id| Uuid::from_u128(id).into());
        if let Some(attempt) = tx.open_attempt(rotation.id).await? {
            tx.update_attempt(&attempt.failed(RESTORED, MESSAGE, now)).await?;
        }
        rotation.sequence = rotation.sequence.saturating_add(skipped);
        if matches!(rotation.status, RotationStatus::Active | RotationStatus::Error) {
            rotation.status = RotationStatus::Error;
            rotation.failure.code = Some(RESTORED.to_owned());
            rotation.failure.message = Some(MESSAGE.to_owned());
            rotation.failure.since = Some(now);
            rotation.updated_at = now;
            stopped += 1;
            let location = tx.rotation_location(rotation.id).await?;
            let location = location.filter(|location| !location.is_deleted);
            teams.extend(location.map(|location| location.project.team));
        }
        (rotation.slots.retire_at, rotation.slots.check_at) = (None, None);
        rotation.schedule.work_at = schedule::work_at(&rotation, false, now);
        tx.update_rotation(&rotation).await?;
    }
    for team in teams {
        notices::announce_restore(tx, team, now).await?;
    }
    Ok(stopped)
}
