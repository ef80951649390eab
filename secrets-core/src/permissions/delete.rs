//! Taking back what was said of somebody.

use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{EnvironmentPath, Error, Permission, Result, Subject, UserId};

/// Takes back what was said of a person in an environment: what holds for every member holds for
/// them again.
#[derive(Debug)]
pub struct DeletePermission {
    /// In which environment.
    pub at: EnvironmentPath,
    /// Who; `None` if what was given is no id and names nobody.
    pub user: Option<UserId>,
}

/// Why nobody makes more of themselves, nor locks themselves out.
pub(super) const NOT_ONES_OWN: Error =
    Error::Forbidden("nobody changes their own permission: ask another admin");

impl Operation for DeletePermission {
    const NAME: &'static str = "permission.delete";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("permission.deleted");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let scope = cx.environment(&self.at, Permission::Grant).await?;
        let user = self.user.ok_or(Error::NotFound(Subject::Permission))?;
        if user == cx.caller.person()?.id {
            return Err(NOT_ONES_OWN);
        }
        let environment = scope.environment;
        cx.tx()
            .delete_permission(environment.id, user)
            .await
            .map_err(|error| error.gone(Subject::Permission))?;
        cx.about("permission", super::pair(environment.id, user), environment.name.as_str());
        cx.detail("user_id", user.to_string());
        Ok(())
    }
}
