//! Updating a secret.

use super::change::Content;
use super::sealing::NO_SECRET;
use super::{KeyRef, Secret, SecretChange};
use crate::access::{EnvironmentPath, EnvironmentScope, Permission};
use crate::caller::Callers;
use crate::error::{Error, Result, Subject};
use crate::operation::{Audit, Context, Operation, Write};
use crate::store::{Change, SecretRecord};

/// Changes a secret that the environment itself holds. A key that is only inherited is not found:
/// creating it makes the override.
#[derive(Debug)]
pub struct UpdateSecret {
    /// Where.
    pub at: EnvironmentPath,
    /// Which key.
    pub key: KeyRef,
    /// What changes.
    pub change: SecretChange,
}

impl Operation for UpdateSecret {
    const NAME: &'static str = "secret.update";
    const CALLERS: Callers = Callers::Any;
    const AUDIT: Audit = Audit::Change("secret.updated");
    type Access = Write;
    type Output = Secret;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Secret> {
        let scope = cx.environment(&self.at, Permission::Write).await?;
        let key = self.key.0.ok_or(NO_SECRET)?;
        cx.touch(&scope).await?;
        let found = cx.reads().secrets(scope.environment.id, &[key]).await?;
        let known = found.into_iter().next().ok_or(NO_SECRET)?;
        let SecretChange { value, description, hidden, expected_version } = self.change;
        let content = Content::of(value, hidden)?;
        if content.is_none() && description.is_none() {
            return Err(Error::invalid("value", "or description or hidden must be given"));
        }
        if expected_version.is_some_and(|expected| expected != known.version) {
            return Err(Error::Stale(Subject::Secret));
        }

        let mut record =
            SecretRecord { updated_by: cx.caller.actor(), updated_at: cx.now(), ..known };
        if let Some(description) = description {
            record.description =
                Some(cx.seal_description(&scope, &record, &description.into_plaintext()));
        }
        match content {
            Some(content) => record = cx.replace(&scope, record, &content).await?,
            None => cx.tx().redescribe_secret(&record).await?,
        }

        cx.about("secret", record.id.uuid(), record.key.as_str());
        cx.detail("version", record.version);
        cx.describe(&scope, record).await
    }
}

impl Context<'_, Write> {
    /// Puts the next version in place.
    pub(super) async fn replace(
        &mut self,
        scope: &EnvironmentScope,
        known: SecretRecord,
        content: &Content,
    ) -> Result<SecretRecord> {
        let version = known.version.checked_add(1).ok_or(Error::Stale(Subject::Secret))?;
        let mut next = SecretRecord {
            hidden: content.hidden,
            version,
            change: if content.hidden { Change::Hidden } else { Change::Updated },
            changed_by: self.caller.actor(),
            changed_at: self.now(),
            updated_by: self.caller.actor(),
            updated_at: self.now(),
            ..known
        };
        next.sealed = self.seal_value(scope, &next, &content.value);
        self.tx().replace_secret(&next).await?;
        if content.hidden {
            self.note.action = Some("secret.hidden");
        }
        Ok(next)
    }
}
