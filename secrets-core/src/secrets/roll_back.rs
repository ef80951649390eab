//! Rolling a secret back to a previous version.

use serde::Deserialize;

use super::change::Content;
use super::history::open_version;
use super::reading::locked_secret;
use super::sealing::describe;
use super::writing::{check_size, reject_managed, replace};
use super::{KeyRef, Secret, check_version};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{EnvironmentPath, Error, Result, Subject, whole};
use crate::store::Change;

/// Version to which a secret is rolled back.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(example = json!({ "version": 1, "expected_version": 2 })))]
pub struct Rollback {
    /// Number of the previous version to restore.
    #[serde(deserialize_with = "whole::number")]
    pub version: u32,
    /// Version that the secret is expected to have before the rollback. If the stored version
    /// differs, the operation fails with a conflict. If absent, any version is accepted.
    #[serde(default, deserialize_with = "whole::optional")]
    pub expected_version: Option<u32>,
}

/// Restores a previous version of a secret: stores a new version with the same value, or as hidden
/// if the previous version was hidden. Fails if the environment itself does not define the secret.
/// The description does not change.
#[derive(Debug)]
pub struct RollBackSecret {
    /// Environment of the secret.
    pub at: EnvironmentPath,
    /// Key (name) of the secret to roll back.
    pub key: KeyRef,
    /// Version to restore, and the expected current version.
    pub rollback: Rollback,
}

impl Operation for RollBackSecret {
    const NAME: &'static str = "secret.roll_back";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Change("secret.rolled_back");
    type Access = Write;
    type Output = Secret;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Secret> {
        let (scope, known) = locked_secret(cx, &self.at, &self.key).await?;
        let Rollback { version, expected_version } = self.rollback;
        let just_after = version.saturating_add(1);
        let found = cx.reads().secret_versions(known.id, just_after, 1).await?;
        let old = found
            .into_iter()
            .find(|old| old.version == version)
            .ok_or(Error::NotFound(Subject::Version))?;
        check_version(&known, expected_version)?;
        reject_managed(cx, &scope, &known.key).await?;

        let value = open_version(cx, &scope, &known, &old).await?;
        let content = Content { value, hidden: old.hidden };
        let record = replace(cx, &scope, known, &content, Change::RolledBack).await?;
        check_size(cx, &scope).await?;

        cx.set_resource("secret", record.id.uuid(), record.key.as_str());
        cx.add_detail("version", record.version);
        cx.add_detail("from_version", version);
        describe(cx, &scope, &record).await
    }
}
