//! Creating a secret.

use serde::{Deserialize, Deserializer, de};

use super::Secret;
use super::change::Content;
use crate::access::EnvironmentScope;
use crate::crypto::{Description, Plaintext, Sealed};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{
    EnvironmentPath, Error, Permission, Quota, Result, SecretId, SecretKey, Subject,
};
use crate::store::{Change, SecretRecord};

/// Fields of a new secret.
#[derive(Debug)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewSecret {
    /// Secret key.
    pub key: SecretKey,
    /// Value; required unless `hidden` is `true`.
    pub value: Option<Plaintext>,
    /// Description of the secret.
    pub description: Option<Description>,
    /// `true` hides the key in this environment, even if an ancestor environment has a value for
    /// it.
    pub hidden: Option<bool>,
}

impl NewSecret {
    /// Creates a visible secret without a description.
    #[must_use]
    pub fn new(key: SecretKey, value: Plaintext) -> Self {
        Self { key, value: Some(value), description: None, hidden: None }
    }
}

/// Creates a secret. The environment itself must not hold the key yet; an inherited key is
/// overridden.
#[derive(Debug)]
pub struct CreateSecret {
    /// Environment of the new secret.
    pub at: EnvironmentPath,
    /// Secret to create.
    pub secret: NewSecret,
}

impl Operation for CreateSecret {
    const NAME: &'static str = "secret.create";
    const CALLERS: Callers = Callers::Any;
    const AUDIT: Audit = Audit::Change("secret.created");
    type Access = Write;
    type Output = Secret;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Secret> {
        let scope = cx.environment(&self.at, Permission::Write).await?;
        let NewSecret { key, value, description, hidden } = self.secret;
        let content =
            Content::of(value, hidden)?.ok_or_else(|| Error::invalid("value", "is required"))?;
        cx.touch(&scope).await?;
        let keys = std::slice::from_ref(&key);
        if !cx.reads().managed_keys(scope.environment.id, keys).await?.is_empty() {
            return Err(Error::Conflict(Subject::Rotation));
        }
        cx.admit_secrets(&scope, 1).await?;

        let record = cx.first_version(&scope, key, &content, description);
        cx.tx().insert_secrets(std::slice::from_ref(&record)).await?;

        cx.about("secret", record.id.uuid(), record.key.as_str());
        cx.detail("version", record.version);
        if record.hidden {
            cx.note.action = Some("secret.hidden");
        }
        cx.describe(&scope, record).await
    }
}

impl Context<'_, Write> {
    /// Locks the environment and increments its revision. Must be the first step of every write to
    /// the environment's secrets.
    pub(crate) async fn touch(&mut self, scope: &EnvironmentScope) -> Result<u64> {
        let environment = scope.environment.id;
        self.tx()
            .touch_environment(environment)
            .await
            .map_err(|error| error.gone(Subject::Environment))
    }

    /// Returns an error if `more` additional secrets exceed the plan's limit. The environment must
    /// be locked with [`touch`](Self::touch), so that the count stays valid.
    pub(super) async fn admit_secrets(
        &mut self,
        scope: &EnvironmentScope,
        more: u64,
    ) -> Result<()> {
        if scope.plan.limit(Quota::Secrets).is_none() {
            return Ok(());
        }
        let current = self.reads().count_secrets(scope.environment.id).await?;
        scope.plan.admit(Quota::Secrets, current, more)
    }

    /// Builds the first version of a secret, with its value and description encrypted.
    pub(super) fn first_version(
        &self,
        scope: &EnvironmentScope,
        key: SecretKey,
        content: &Content,
        description: Option<Description>,
    ) -> SecretRecord {
        let (now, actor) = (self.now(), self.caller.actor());
        let mut record = SecretRecord {
            id: SecretId::draw(now),
            environment: scope.environment.id,
            key,
            sealed: Sealed::from_bytes(Vec::new()),
            hidden: content.hidden,
            description: None,
            version: 1,
            change: if content.hidden { Change::Hidden } else { Change::Created },
            changed_by: actor,
            changed_at: now,
            created_by: actor,
            updated_by: actor,
            created_at: now,
            updated_at: now,
        };
        record.sealed = self.seal_value(scope, &record, &content.value);
        record.description = description.map(|description| {
            self.seal_description(scope, &record, &description.into_plaintext())
        });
        record
    }
}

impl<'de> Deserialize<'de> for NewSecret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            key: SecretKey,
            value: Option<Plaintext>,
            description: Option<Description>,
            hidden: Option<bool>,
        }

        let Fields { key, value, description, hidden } = Fields::deserialize(deserializer)?;
        if value.is_none() && hidden != Some(true) {
            return Err(de::Error::missing_field("value"));
        }
        Ok(Self { key, value, description, hidden })
    }
}
