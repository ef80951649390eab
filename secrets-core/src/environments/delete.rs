//! Deleting an environment.

use crate::access::LockedRow;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{
    Code, EnvironmentName, EnvironmentPath, Error, Permission, ProjectId, Result, Subject,
};
use crate::rotations::slot_users;

/// Error code and message of a deleted environment's rotations, until the purge deletes them.
const DELETED: (&str, &str) = ("deleted", "the environment was deleted");

/// Permanently deletes an environment with all its secrets and rotations. Their encrypted records
/// are deleted in the background within minutes, so that other writers do not wait. Default
/// environments and environments that others inherit from cannot be deleted, so that no environment
/// silently loses inherited secrets.
#[derive(Debug)]
pub struct DeleteEnvironment {
    /// Environment to delete.
    pub at: EnvironmentPath,
}

impl Operation for DeleteEnvironment {
    const NAME: &'static str = "environment.delete";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("environment.deleted");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        // The lock on the project keeps others from adding a child environment.
        let rows = &[LockedRow::Project, LockedRow::Environment];
        let scope = cx.locked_environment(&self.at, Permission::Manage, rows).await?;
        let environment = scope.environment;
        if environment.is_default {
            return Err(Error::Refused {
                code: Code::DefaultEnvironment,
                reason:
                    "the default environments development, staging and production cannot be deleted"
                        .into(),
            });
        }
        let children = cx.tx().child_environments(environment.id).await?;
        if !children.is_empty() {
            let names: Vec<_> = children.iter().map(EnvironmentName::as_str).collect();
            return Err(Error::Refused {
                code: Code::EnvironmentInUse,
                reason: format!("other environments inherit from this one: {}", names.join(", "))
                    .into(),
            });
        }
        let rotations = cx.reads().rotations(environment.id).await?;
        cx.tx()
            .delete_environment(environment.id)
            .await
            .map_err(|error| error.or_not_found(Subject::Environment))?;
        // Disable the rotations until the purge deletes them, so that no new attempt starts.
        let ((code, message), now) = (DELETED, cx.now());
        let purged = ProjectId::from(environment.id.uuid());
        cx.tx().disable_rotations(purged, code, message, now).await?;
        if !rotations.is_empty() {
            let users: Vec<_> = rotations.iter().flat_map(|one| slot_users(one.id)).collect();
            cx.add_detail("users_left_in_place", users);
        }
        cx.set_resource("environment", environment.id.uuid(), environment.name.as_str());
        Ok(())
    }
}
