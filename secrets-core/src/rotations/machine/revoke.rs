//! Disabling the logins of both users of a rotation.

use super::super::rotate::no_rotators;
use super::super::slot_user;
use super::force_lease;
use super::work::{Work, WorkError};
use crate::engine::Engine;
use crate::model::rotations::Slot;
use crate::model::{Error, Result, RotationId, Subject};
use crate::ports::rotator::Fence;

/// Disables the logins of both database users of a rotation. Takes over the lease of the rotation
/// (the exclusive right to work on it) even if another worker holds it.
pub(in crate::rotations) async fn lock_users(engine: &Engine, rotation: RotationId) -> Result<()> {
    let rotators = engine.ports().rotators.as_ref().ok_or_else(no_rotators)?;
    let gone = || Error::NotFound(Subject::Rotation);
    let lease = force_lease(engine, rotation).await?.ok_or_else(gone)?;
    let mut work = Work::open(engine, rotators, lease).await?.ok_or_else(gone)?;
    let target = work.target().await?;
    let fence = Fence { rotation, sequence: work.rotation.sequence };
    let rotator = work.rotator(&target).map_err(|error| Error::Unavailable(error.into()))?;
    for slot in [Slot::A, Slot::B] {
        let username = slot_user(rotation, slot);
        let locked = work.under_lease(rotator.lock(&target, fence, &username)).await;
        match locked {
            Ok(locked) => locked.map_err(|error| Error::Unavailable(error.into()))?,
            Err(WorkError::Lost) => return Err(gone()),
            Err(WorkError::Failed(error)) => return Err(error),
        }
    }
    Ok(())
}
