//! Creating a secret.

use serde::{Deserialize, Deserializer, de};

use super::Secret;
use super::change::Content;
use super::writing::{check_secret_quota, check_size, first_version, insert};
use crate::access::LockedRow;
use crate::crypto::{Description, Plaintext};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{EnvironmentPath, Error, Permission, Result, SecretKey, Subject};

/// Fields of a new secret.
#[derive(Debug)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewSecret {
    /// Key (name) of the new secret, such as `DATABASE_URL`.
    pub key: SecretKey,
    /// Value of the secret. Required unless `hidden` is `true`.
    pub value: Option<Plaintext>,
    /// Description of the secret.
    pub description: Option<Description>,
    /// `true` hides the secret: reads of this environment then return no value for the key, even if
    /// an ancestor environment has one.
    pub hidden: Option<bool>,
}

impl NewSecret {
    /// Creates the fields of a new secret with this value, which is not hidden and has no
    /// description.
    #[must_use]
    pub fn new(key: SecretKey, value: Plaintext) -> Self {
        Self { key, value: Some(value), description: None, hidden: None }
    }
}

/// Creates a secret. Fails if the environment already has a secret of its own with this key. A
/// secret with this key in an ancestor is overridden.
#[derive(Debug)]
pub struct CreateSecret {
    /// Environment in which the secret is created.
    pub at: EnvironmentPath,
    /// Fields of the new secret.
    pub secret: NewSecret,
}

impl Operation for CreateSecret {
    const NAME: &'static str = "secret.create";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Change("secret.created");
    type Access = Write;
    type Output = Secret;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Secret> {
        let rows = &[LockedRow::Secrets];
        let scope = cx.locked_environment(&self.at, Permission::Write, rows).await?;
        let NewSecret { key, value, description, hidden } = self.secret;
        let content =
            Content::of(value, hidden)?.ok_or_else(|| Error::invalid("value", "is required"))?;
        let keys = std::slice::from_ref(&key);
        if !cx.reads().managed_keys(scope.environment.id, keys).await?.is_empty() {
            return Err(Error::Conflict(Subject::Rotation));
        }
        check_secret_quota(cx, &scope, 1).await?;

        let description = description.map(Description::into_plaintext);
        let record = first_version(cx, &scope, key, &content, description.as_ref());
        insert(cx, std::slice::from_ref(&record)).await?;
        check_size(cx, &scope).await?;

        cx.set_resource("secret", record.id.uuid(), record.key.as_str());
        cx.add_detail("version", record.version);
        if record.hidden {
            cx.audit.action = Some("secret.hidden");
        }
        Ok(Secret::new(&record, description))
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
