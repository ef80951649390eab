//! Deleting an environment.

use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Code, EnvironmentName, EnvironmentPath, Error, Permission, Result, Subject};

/// Deletes an environment and all its secrets, for good. The default ones stay, and so does one
/// that others inherit from: nothing vanishes from a child silently.
#[derive(Debug)]
pub struct DeleteEnvironment {
    /// Which environment.
    pub at: EnvironmentPath,
}

impl Operation for DeleteEnvironment {
    const NAME: &'static str = "environment.delete";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("environment.deleted");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let scope = cx.environment(&self.at, Permission::Manage).await?;
        let environment = scope.environment;
        if environment.is_default {
            return Err(Error::Refused {
                code: Code::DefaultEnvironment,
                reason:
                    "the default environments development, staging and production cannot be deleted"
                        .into(),
            });
        }
        // Held, so that no child comes in between.
        cx.tx()
            .lock_project(scope.project.id)
            .await
            .map_err(|error| error.gone(Subject::Environment))?;
        let heirs = cx.tx().heirs(environment.id).await?;
        if !heirs.is_empty() {
            let names: Vec<_> = heirs.iter().map(EnvironmentName::as_str).collect();
            return Err(Error::Refused {
                code: Code::EnvironmentInUse,
                reason: format!("other environments inherit from this one: {}", names.join(", "))
                    .into(),
            });
        }
        cx.tx()
            .delete_environment(environment.id)
            .await
            .map_err(|error| error.gone(Subject::Environment))?;
        cx.about("environment", environment.id.uuid(), environment.name.as_str());
        Ok(())
    }
}
