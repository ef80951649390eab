//! Updating a secret.

use super::change::Content;
use super::reading::locked_secret;
use super::sealing::{describe, seal_description};
use super::writing::{check_size, reject_managed, replace};
use super::{KeyRef, Secret, SecretChange, check_version};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{EnvironmentPath, Error, Result};
use crate::store::SecretRecord;

/// Changes a secret that the environment itself defines. Fails with "not found" for an inherited
/// secret: to override it, create a secret with the same key.
#[derive(Debug)]
pub struct UpdateSecret {
    /// Environment of the secret.
    pub at: EnvironmentPath,
    /// Key (name) of the secret to change.
    pub key: KeyRef,
    /// Fields of the secret to change.
    pub change: SecretChange,
}

impl Operation for UpdateSecret {
    const NAME: &'static str = "secret.update";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Change("secret.updated");
    type Access = Write;
    type Output = Secret;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Secret> {
        let (scope, known) = locked_secret(cx, &self.at, &self.key).await?;
        let SecretChange { value, description, hidden, expected_version } = self.change;
        let content = Content::of(value, hidden)?;
        if content.is_none() && description.is_none() {
            return Err(Error::invalid("value", "or description or hidden must be given"));
        }
        check_version(&known, expected_version)?;
        reject_managed(cx, &scope, &known.key).await?;

        let mut record =
            SecretRecord { updated_by: cx.caller.actor(), updated_at: cx.now(), ..known };
        if let Some(description) = description {
            record.description =
                Some(seal_description(cx, &scope, &record, &description.into_plaintext()));
        }
        match content {
            Some(content) => {
                record = replace(cx, &scope, record, &content, content.change()).await?;
            }
            None => cx.tx().update_secret_description(&record).await?,
        }
        check_size(cx, &scope).await?;

        cx.set_resource("secret", record.id.uuid(), record.key.as_str());
        cx.add_detail("version", record.version);
        describe(cx, &scope, &record).await
    }
}
