//! Deleting a secret.

use super::KeyRef;
use super::sealing::NO_SECRET;
use crate::access::{EnvironmentPath, Permission};
use crate::caller::Callers;
use crate::error::Result;
use crate::operation::{Audit, Context, Operation, Write};

/// Deletes a secret that the environment itself holds, and its versions, for good. What an ancestor
/// holds under the key is seen again.
#[derive(Debug)]
pub struct DeleteSecret {
    /// Where.
    pub at: EnvironmentPath,
    /// Which key.
    pub key: KeyRef,
}

impl Operation for DeleteSecret {
    const NAME: &'static str = "secret.delete";
    const CALLERS: Callers = Callers::Any;
    const AUDIT: Audit = Audit::Change("secret.deleted");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let scope = cx.environment(&self.at, Permission::Write).await?;
        let key = self.key.0.ok_or(NO_SECRET)?;
        cx.touch(&scope).await?;
        let found = cx.reads().secrets(scope.environment.id, &[key]).await?;
        let secret = found.into_iter().next().ok_or(NO_SECRET)?;
        cx.tx().delete_secret(secret.id).await?;

        cx.about("secret", secret.id.uuid(), secret.key.as_str());
        cx.detail("version", secret.version);
        Ok(())
    }
}
