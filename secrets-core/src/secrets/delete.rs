//! Deleting a secret.

use super::reading::locked_secret;
use super::writing::{delete, reject_managed};
use super::{KeyRef, check_version};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{EnvironmentPath, Result};

/// Deletes a secret that the environment itself defines, permanently and with all its versions. If
/// an ancestor has a secret with the same key, the environment then inherits that secret.
#[derive(Debug)]
pub struct DeleteSecret {
    /// Environment of the secret.
    pub at: EnvironmentPath,
    /// Key (name) of the secret to delete.
    pub key: KeyRef,
    /// Version that the secret is expected to have. If the stored version differs, the operation
    /// fails with a conflict. `None` accepts any version.
    pub expected_version: Option<u32>,
}

impl Operation for DeleteSecret {
    const NAME: &'static str = "secret.delete";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Change("secret.deleted");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let (scope, secret) = locked_secret(cx, &self.at, &self.key).await?;
        check_version(&secret, self.expected_version)?;
        reject_managed(cx, &scope, &secret.key).await?;
        delete(cx, &secret).await?;

        cx.set_resource("secret", secret.id.uuid(), secret.key.as_str());
        cx.add_detail("version", secret.version);
        Ok(())
    }
}
