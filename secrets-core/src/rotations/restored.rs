//! Rotations after the database was restored from a backup: the databases whose credentials they
//! rotate may have changed since the backup.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::schedule;
use crate::model::rotations::{RESTORED, RotationStatus};
use crate::model::{RotationId, Time};
use crate::notices;
use crate::store::{StoreResult, Tx};

/// Message of rotations that [`stop_restored`] stops.
const MESSAGE: &str = "the database of the service was restored from a backup, and the credential may have changed since: set the status to active to rotate";

/// Sets all rotations that would run by themselves to the status `error`, until a user sets them to
/// `active`, and ends their unfinished attempts. Returns the number of these rotations.
///
/// Nothing else is done with the databases either: the login that the backup names as the previous
/// one may be in use by now. The next attempt has a number that is higher by more than `skipped`,
/// which must exceed the number of attempts since the backup, because the database refuses an attempt
/// with a lower number than its last one. The teams of the stopped rotations get a notice.
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
