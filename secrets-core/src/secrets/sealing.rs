//! Encryption and decryption of secret values and descriptions. All encryption contexts of secrets
//! are built here.

use crate::access::EnvironmentScope;
use crate::crypto::{Plaintext, ProjectKey, Purpose, RecordContext, Sealed};
use crate::error::{Error, Result, Subject};
use crate::ids::{InstanceId, ProjectId};
use crate::operation::{Access, Context};
use crate::secrets::{Secret, Visible};
use crate::store::SecretRecord;

/// Builds the encryption context (associated data) of a secret's value.
pub(crate) fn value_context(
    instance: InstanceId,
    project: ProjectId,
    secret: &SecretRecord,
) -> RecordContext<'_> {
    RecordContext {
        purpose: Purpose::Value,
        hidden: secret.hidden,
        instance,
        project,
        environment: Some(secret.environment),
        object: secret.id.uuid(),
        key: secret.key.as_str(),
        version: u64::from(secret.version),
    }
}

/// Builds the encryption context of a secret's description. It does not depend on the version.
pub(crate) fn description_context(
    instance: InstanceId,
    project: ProjectId,
    secret: &SecretRecord,
) -> RecordContext<'_> {
    RecordContext {
        purpose: Purpose::Description,
        hidden: false,
        version: 0,
        ..value_context(instance, project, secret)
    }
}

impl<A: Access> Context<'_, A> {
    /// Encrypts a value. `secret` must be the record as it will be stored: its version and hidden
    /// flag are part of the authenticated data.
    pub(crate) fn seal_value(
        &self,
        scope: &EnvironmentScope,
        secret: &SecretRecord,
        value: &Plaintext,
    ) -> Sealed {
        let context = value_context(self.keyring().instance(), scope.project.id, secret);
        Sealed::seal(&scope.key, &context, value)
    }

    /// Encrypts the description of a secret.
    pub(crate) fn seal_description(
        &self,
        scope: &EnvironmentScope,
        secret: &SecretRecord,
        text: &Plaintext,
    ) -> Sealed {
        let context = description_context(self.keyring().instance(), scope.project.id, secret);
        Sealed::seal(&scope.key, &context, text)
    }

    /// Decrypts the value of a secret.
    pub(crate) async fn open_value(
        &mut self,
        scope: &EnvironmentScope,
        secret: &SecretRecord,
    ) -> Result<Plaintext> {
        let context = value_context(self.keyring().instance(), scope.project.id, secret);
        self.open_record(scope, &secret.sealed, &context).await
    }

    /// Builds the response for a secret, without its value.
    pub(crate) async fn describe(
        &mut self,
        scope: &EnvironmentScope,
        secret: SecretRecord,
    ) -> Result<Secret> {
        let description = match &secret.description {
            Some(sealed) => {
                let context =
                    description_context(self.keyring().instance(), scope.project.id, &secret);
                Some(self.open_record(scope, sealed, &context).await?)
            }
            None => None,
        };
        Ok(Secret::new(secret, description))
    }

    /// Builds the response for a visible secret, without its value.
    pub(crate) async fn show(&mut self, scope: &EnvironmentScope, seen: Visible) -> Result<Secret> {
        let secret = self.describe(scope, seen.secret).await?;
        Ok(Secret { inherited_from: seen.inherited_from, ..secret })
    }

    /// Builds the response for a visible secret, with its value.
    pub(crate) async fn reveal(
        &mut self,
        scope: &EnvironmentScope,
        seen: Visible,
    ) -> Result<Secret> {
        let value = self.open_value(scope, &seen.secret).await?;
        let secret = self.show(scope, seen).await?;
        Ok(Secret { value: Some(value), ..secret })
    }

    async fn open_record(
        &mut self,
        scope: &EnvironmentScope,
        sealed: &Sealed,
        context: &RecordContext<'_>,
    ) -> Result<Plaintext> {
        let opened = match sealed.key_version() {
            Some(version) if version != scope.key.version() => {
                let key = self.older_key(scope.project.id, version).await?;
                sealed.open(&key, context)
            }
            _ => sealed.open(&scope.key, context),
        };
        opened.map_err(Error::internal)
    }

    /// Loads an older key of the project, for records encrypted before the newest key was created.
    async fn older_key(&mut self, project: ProjectId, version: u32) -> Result<ProjectKey> {
        let record = self.reads().project_key(project, version).await?;
        let record = record
            .ok_or_else(|| Error::internal(format!("no key {version} of project {project}")))?;
        self.keyring().project_key(&record).map_err(Error::internal)
    }
}

/// Error for a key that does not exist or is hidden.
pub(crate) const NO_SECRET: Error = Error::NotFound(Subject::Secret);
