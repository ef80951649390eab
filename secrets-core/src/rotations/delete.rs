//! Deletion and revocation of rotations.

use serde::Serialize;

use super::keys::InjectedKeys;
use super::list::locked_rotation;
use super::machine::lock_users;
use super::rotate::no_rotators;
use super::slot_users;
use crate::access::LockedRow;
use crate::engine::{Audit, Caller, Callers, Context, Engine, Operation, Task, Write};
use crate::model::rotations::{REVOKING, RotationStatus};
use crate::model::{EnvironmentPath, Result, RotationId, Subject};
use crate::secrets::writing::delete as delete_secret;

/// Deletes a rotation with its history and webhooks. The users in the database are not changed, and
/// the rotation's secrets remain as ordinary secrets.
#[derive(Debug)]
pub struct ConcludeDeletion {
    /// Environment of the rotation.
    pub at: EnvironmentPath,
    /// Rotation name.
    pub name: String,
    /// True if the logins of the rotation's database users were disabled before. If false, the
    /// audit entry names these users, because their logins may still be enabled.
    pub are_users_locked: bool,
}

/// First step of deleting a rotation with `revoke`: deletes the rotation's secrets and disables the
/// rotation. [`DeleteRotation`] performs all steps.
#[derive(Debug)]
pub struct PlanRevocation {
    /// Environment of the rotation.
    pub at: EnvironmentPath,
    /// Rotation name.
    pub name: String,
}

/// Task that deletes a rotation. With `revoke`, it also deletes the rotation's secrets and disables
/// the logins of its database users; without, it only performs [`ConcludeDeletion`].
#[derive(Debug)]
pub struct DeleteRotation {
    /// Environment of the rotation.
    pub at: EnvironmentPath,
    /// Rotation name.
    pub name: String,
    /// True to also delete the rotation's secrets and disable the logins of its database users.
    pub revoke: bool,
}

/// A rotation whose secrets are deleted and whose database logins must still be disabled.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct PlannedRevocation {
    /// Rotation ID.
    pub rotation: RotationId,
}

/// Error message of a rotation that is being revoked.
const REVOKING_MESSAGE: &str = "its secrets were deleted, but the logins of its database users may \
                                not all be disabled yet: delete it again";

impl Operation for ConcludeDeletion {
    const NAME: &'static str = "rotation.delete";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("rotation.deleted");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let row = LockedRow::Secrets;
        let (_, rotation) = locked_rotation(cx, &self.at, &self.name, row).await?;
        let gone = |error: crate::store::StoreError| error.or_not_found(Subject::Rotation);
        cx.tx().delete_rotation(rotation.id).await.map_err(gone)?;
        cx.set_resource("rotation", rotation.id.uuid(), rotation.settings.name.as_str());
        if !self.are_users_locked {
            cx.add_detail("users_left_in_place", slot_users(rotation.id).to_vec());
        }
        Ok(())
    }
}

impl Operation for PlanRevocation {
    const NAME: &'static str = "rotation.revoke";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("rotation.revoked");
    type Access = Write;
    type Output = PlannedRevocation;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<PlannedRevocation> {
        let row = LockedRow::Secrets;
        let (scope, mut rotation) = locked_rotation(cx, &self.at, &self.name, row).await?;
        let id = rotation.id;
        // Checked before anything is deleted.
        cx.ports().database_kind(&rotation.settings.integration)?;
        let keys = InjectedKeys::from_text(&rotation.settings.keys)?.all();
        let mut deleted = Vec::new();
        if rotation.slots.active.is_some() {
            for secret in cx.reads().secrets(scope.environment.id, &keys).await? {
                delete_secret(cx, &secret).await?;
                deleted.push(secret.key.to_string());
            }
        }
        if !deleted.is_empty() {
            cx.add_detail("deleted_secrets", deleted);
        }
        // A worker may be in the middle of an attempt. End the attempt here, so that the worker
        // cannot store its result. After the logins are disabled, the target refuses late commands
        // of this and earlier attempts, because their attempt numbers are lower.
        if let Some(attempt) = cx.reads().open_attempt(id).await? {
            let message = "the rotation was revoked during the attempt";
            let attempt = attempt.failed("revoked", message, cx.now());
            cx.tx().update_attempt(&attempt).await?;
        }
        rotation.sequence += 1;
        rotation.status = RotationStatus::Disabled;
        rotation.failure.code = Some(REVOKING.to_owned());
        rotation.failure.message = Some(REVOKING_MESSAGE.to_owned());
        rotation.updated_at = cx.now();
        rotation.schedule.work_at = None;
        cx.tx()
            .update_rotation(&rotation)
            .await
            .map_err(|error| error.or_not_found(Subject::Rotation))?;
        cx.set_resource("rotation", id.uuid(), rotation.settings.name.as_str());
        Ok(PlannedRevocation { rotation: id })
    }
}

impl Task for DeleteRotation {
    const NAME: &'static str = <ConcludeDeletion as Operation>::NAME;
    const CALLERS: Callers = <ConcludeDeletion as Operation>::CALLERS;
    type Output = ();

    async fn run(self, engine: &Engine, caller: &Caller) -> Result<()> {
        let Self { at, name, revoke } = self;
        if revoke {
            return revoke_rotation(engine, caller, at, name).await;
        }
        engine.perform(caller, ConcludeDeletion { at, name, are_users_locked: false }).await
    }
}

/// Deletes a rotation and its secrets, and disables the logins of its database users. If disabling
/// the logins fails, the rotation is kept in status `disabled`, and the call can be repeated.
pub(super) async fn revoke_rotation(
    engine: &Engine,
    caller: &Caller,
    at: EnvironmentPath,
    name: String,
) -> Result<()> {
    // Checked before anything is deleted.
    engine.ports().rotators.as_ref().ok_or_else(no_rotators)?;
    let begun = PlanRevocation { at: at.clone(), name: name.clone() };
    let begun = engine.perform(caller, begun).await?;
    lock_users(engine, begun.rotation).await?;
    engine.perform(caller, ConcludeDeletion { at, name, are_users_locked: true }).await
}
