//! Deleting a secret.

use super::writing::{refuse_managed, touch};
use super::reading::own_secret;
use super::{KeyRef, check_version};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{EnvironmentPath, Permission, Result};

/// Permanently deletes a secret that the environment itself holds, with all its versions. An
/// ancestor's secret with the same key becomes visible again.
#[derive(Debug)]
pub struct DeleteSecret {
    /// Environment of the secret.
    pub at: EnvironmentPath,
    /// Secret key.
    pub key: KeyRef,
    /// Current version required for the deletion; another version is a conflict.
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
        touch(cx, &scope).await?;
        let secret = own_secret(cx, &scope, &self.key).await?;
        check_version(&secret, self.expected_version)?;
        refuse_managed(cx, &scope, &secret.key).await?;
        cx.tx().delete_secret(secret.id).await?;

        cx.about("secret", secret.id.uuid(), secret.key.as_str());
        cx.detail("version", secret.version);
        Ok(())
    }
}
