//! Deleting a secret.

use super::{KeyRef, check_version};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{EnvironmentPath, Permission, Result};

/// Deletes a secret that the environment itself holds, and its versions, for good. What an ancestor
/// holds under the key is seen again.
#[derive(Debug)]
pub struct DeleteSecret {
    /// Where.
    pub at: EnvironmentPath,
    /// Which key.
    pub key: KeyRef,
    /// The version the secret must have for the deletion to happen.
    pub expected_version: Option<u32>,
}

impl Operation for DeleteSecret {
    const NAME: &'static str = "secret.delete";
    const CALLERS: Callers = Callers::Any;
    const AUDIT: Audit = Audit::Change("secret.deleted");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let scope = cx.environment(&self.at, Permission::Write).await?;
        cx.touch(&scope).await?;
        let secret = cx.own_secret(&scope, &self.key).await?;
        check_version(&secret, self.expected_version)?;
        cx.refuse_managed(&scope, &secret.key).await?;
        cx.tx().delete_secret(secret.id).await?;

        cx.about("secret", secret.id.uuid(), secret.key.as_str());
        cx.detail("version", secret.version);
        Ok(())
    }
}
