//! Removing a member's permission in an environment.

use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{EnvironmentPath, Error, Permission, Result, Subject, UserId};

/// Removes the permission that was set for a user in an environment. The default permission then
/// applies to the user again.
#[derive(Debug)]
pub struct DeletePermission {
    /// Environment in which the permission is removed.
    pub at: EnvironmentPath,
    /// User ID; `None`, treated as an unknown user, if the given string is not a valid ID.
    pub user: Option<UserId>,
}

/// Error for callers who try to change their own permission. This is not allowed, because they
/// could raise their own access, or lose it by mistake.
pub(super) const NOT_ONES_OWN: Error =
    Error::forbidden("you cannot change your own permission: ask another admin");

impl Operation for DeletePermission {
    const NAME: &'static str = "permission.delete";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("permission.deleted");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let scope = cx.locked_environment(&self.at, Permission::Grant, &super::LOCKED).await?;
        let user = self.user.ok_or(Error::NotFound(Subject::Permission))?;
        if user == cx.caller.person()?.id {
            return Err(NOT_ONES_OWN);
        }
        let environment = scope.environment;
        cx.tx()
            .delete_permission(environment.id, user)
            .await
            .map_err(|error| error.or_not_found(Subject::Permission))?;
        cx.set_resource(
            "permission",
            super::derived_id(environment.id.uuid(), user.uuid()),
            environment.name.as_str(),
        );
        cx.add_detail("user_id", user.to_string());
        Ok(())
    }
}
