//! Deleting a rotation.

use serde::Serialize;

use crate::secrets::writing::touch;
use super::keys::InjectedKeys;
use super::rotate::no_rotators;
use super::slot_user;
use crate::engine::Engine;
use crate::engine::{Audit, Caller, Callers, Context, Operation, Task, Write};
use crate::model::rotations::{RotationStatus, Slot};
use crate::model::{EnvironmentPath, Permission, Result, RotationId, Subject};

/// Deletes a rotation with its history and webhooks. What it made stays: the users in the database,
/// and the secrets, which are ordinary from now on.
#[derive(Debug)]
pub struct DeleteRotation {
    /// Where.
    pub at: EnvironmentPath,
    /// Its name.
    pub name: String,
}

/// Takes back what a rotation made, as far as it is here: deletes its secrets and stops it.
/// [`Service::revoke_rotation`] goes on.
#[derive(Debug)]
pub struct BeginRevocation {
    /// Where.
    pub at: EnvironmentPath,
    /// Its name.
    pub name: String,
}

/// Deletes a rotation, as a host is asked for it: [`DeleteRotation`], or
/// [`Service::revoke_rotation`].
#[derive(Debug)]
pub struct RemoveRotation {
    /// Where.
    pub at: EnvironmentPath,
    /// Its name.
    pub name: String,
    /// Whether its secrets are deleted and its users shut out.
    pub revoke: bool,
}

/// A rotation whose users are to be shut out.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct BegunRevocation {
    /// Which rotation.
    pub rotation: RotationId,
}

/// What is said of a rotation that is being revoked.
const REVOKING: (&str, &str) =
    ("revoking", "its secrets are deleted and its users are being shut out: delete it again");

impl Operation for DeleteRotation {
    const NAME: &'static str = "rotation.delete";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("rotation.deleted");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let scope = cx.environment(&self.at, Permission::Write).await?;
        touch(cx, &scope).await?;
        let rotation = cx.named_rotation(scope.environment.id, &self.name).await?;
        let gone = |error: crate::store::StoreError| error.gone(Subject::Rotation);
        cx.tx().delete_rotation(rotation.id).await.map_err(gone)?;
        cx.about("rotation", rotation.id.uuid(), rotation.name.as_str());
        if rotation.error_code.as_deref() != Some(REVOKING.0) {
            let users = [Slot::A, Slot::B].map(|slot| slot_user(rotation.id, slot));
            cx.detail("users_left_in_place", users.to_vec());
        }
        Ok(())
    }
}

impl Operation for BeginRevocation {
    const NAME: &'static str = "rotation.revoke";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("rotation.revoked");
    type Access = Write;
    type Output = BegunRevocation;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<BegunRevocation> {
        let scope = cx.environment(&self.at, Permission::Write).await?;
        touch(cx, &scope).await?;
        let id = cx.named_rotation(scope.environment.id, &self.name).await?.id;
        cx.tx().lock_rotation(id).await.map_err(|error| error.gone(Subject::Rotation))?;
        let mut rotation = cx.named_rotation(scope.environment.id, &self.name).await?;
        let keys = InjectedKeys::from_text(&rotation.keys)?.all();
        if rotation.active_slot.is_some() {
            for secret in cx.reads().secrets(scope.environment.id, &keys).await? {
                cx.tx().delete_secret(secret.id).await?;
            }
        }
        rotation.status = RotationStatus::Disabled;
        rotation.error_code = Some(REVOKING.0.to_owned());
        rotation.error_message = Some(REVOKING.1.to_owned());
        rotation.updated_at = cx.now();
        rotation.work_at = None;
        cx.tx().update_rotation(&rotation).await.map_err(|error| error.gone(Subject::Rotation))?;
        cx.about("rotation", id.uuid(), rotation.name.as_str());
        Ok(BegunRevocation { rotation: id })
    }
}

impl Task for RemoveRotation {
    const NAME: &'static str = <DeleteRotation as Operation>::NAME;
    const CALLERS: Callers = <DeleteRotation as Operation>::CALLERS;
    type Output = ();

    async fn run(self, engine: &Engine, caller: &Caller) -> Result<()> {
        let Self { at, name, revoke } = self;
        if revoke {
            return engine.revoke_rotation(caller, at, name).await;
        }
        engine.perform(caller, DeleteRotation { at, name }).await
    }
}

impl Engine {
    /// Deletes a rotation, its secrets and the means of its users to log in. What fails at the
    /// database leaves the rotation there, disabled: it can be asked again.
    pub async fn revoke_rotation(
        &self,
        caller: &Caller,
        at: EnvironmentPath,
        name: String,
    ) -> Result<()> {
        // Known before anything is deleted.
        self.ports().rotators.as_ref().ok_or_else(no_rotators)?;
        let begun = BeginRevocation { at: at.clone(), name: name.clone() };
        let begun = self.perform(caller, begun).await?;
        self.shut_out(begun.rotation).await?;
        self.perform(caller, DeleteRotation { at, name }).await
    }
}
