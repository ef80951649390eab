//! Importing secrets.

mod plan;

use std::collections::{BTreeMap, BTreeSet};

pub use plan::{ImportEffect, PlannedImport};
use serde::{Deserialize, Serialize};

use super::SubmittedImport;
use super::change::Content;
use super::reading::compared_values;
use super::sealing::seal_description;
use super::writing::{SecretBatch, check_secret_quota, check_size, first_version, next_version};
use crate::access::{EnvironmentScope, LockedRow};
use crate::crypto::{Description, Plaintext};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Code, EnvironmentPath, Error, FieldError, Permission, Result, SecretKey};
use crate::store::SecretRecord;

/// Secrets to import, and options of the import.
#[derive(Debug, Deserialize)]
#[serde(try_from = "SubmittedImport")]
pub struct Import {
    /// Secrets to import: 1 to 100, each secret key at most once.
    pub secrets: Vec<ImportedSecret>,
    /// True to replace the values of existing secrets; false to leave existing secrets unchanged.
    pub overwrite: bool,
    /// True for a dry run: nothing is imported, and only the effect on each secret is returned.
    pub dry_run: bool,
}

impl Import {
    /// Maximum number of secrets in one import.
    pub const MAX_SECRETS: usize = 100;
}

/// A secret to import.
#[derive(Debug)]
pub struct ImportedSecret {
    /// Key (name) of the secret to import.
    pub key: SecretKey,
    /// Value of the secret.
    pub value: Plaintext,
    /// New description. If absent, an existing secret keeps its description.
    pub description: Option<Description>,
}

/// Result of an import: numbers of secrets created, updated and skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportResult {
    /// Number of secrets that were created.
    pub created: usize,
    /// Number of existing secrets that were updated.
    pub updated: usize,
    /// Number of existing secrets that were left unchanged.
    pub skipped: usize,
    /// True if nothing was imported, because the request was a dry run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Number of existing secrets that already have the imported value and description; only in a
    /// dry run, which does not count them as updated or skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same: Option<usize>,
    /// Effect on each secret, in the order of the import; only in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets: Option<Vec<PlannedImport>>,
}

/// Imports secrets atomically: either all secrets are imported or none.
#[derive(Debug)]
pub struct ImportSecrets {
    /// Environment into which the secrets are imported.
    pub at: EnvironmentPath,
    /// Secrets to import, and options of the import.
    pub import: Import,
}

impl Operation for ImportSecrets {
    const NAME: &'static str = "secret.import";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Change("secrets.imported");
    const IS_LONG: bool = true;
    type Access = Write;
    type Output = ImportResult;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<ImportResult> {
        let rows = &[LockedRow::Secrets];
        let scope = cx.locked_environment(&self.at, Permission::Write, rows).await?;
        let Import { secrets, overwrite, dry_run } = self.import;
        check(&secrets)?;
        let keys: Vec<_> = secrets.iter().map(|secret| secret.key.clone()).collect();
        let known = cx.reads().secrets(scope.environment.id, &keys).await?;
        let known: BTreeMap<_, _> =
            known.into_iter().map(|secret| (secret.key.clone(), secret)).collect();
        reject_managed_among(cx, &scope, &secrets, &known, overwrite).await?;
        let new = secrets.len() - known.len();
        check_secret_quota(cx, &scope, new as u64).await?;
        let planned = if dry_run {
            let planned = plan::plan(cx, &scope, &secrets, &known, overwrite).await?;
            let count = known.values().filter(|known| plan::is_comparable(&scope, known)).count();
            Some((planned, compared_values(cx, count, vec![scope.environment.name.as_str()])))
        } else {
            None
        };

        let result = import(cx, &scope, secrets, known, overwrite).await?;
        check_size(cx, &scope).await?;
        if let Some((planned, compared)) = planned {
            cx.roll_back_afterwards(compared);
            return Ok(ImportResult::planned(planned));
        }
        cx.add_detail("created", result.created);
        cx.add_detail("updated", result.updated);
        cx.add_detail("skipped", result.skipped);
        Ok(result)
    }
}

/// Fails if the import would write a secret that a rotation manages.
async fn reject_managed_among(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
    secrets: &[ImportedSecret],
    known: &BTreeMap<SecretKey, SecretRecord>,
    overwrite: bool,
) -> Result<()> {
    let is_written = |key: &SecretKey| overwrite || !known.contains_key(key);
    let keys: Vec<_> = secrets.iter().map(|secret| secret.key.clone()).collect();
    let managed = cx.reads().managed_keys(scope.environment.id, &keys).await?;
    let refused: Vec<_> = (0..)
        .zip(&keys)
        .filter(|(_, key)| is_written(key) && managed.contains(key))
        .map(|(index, key): (usize, _)| FieldError {
            key: Some(key.to_string()),
            ..FieldError::new(
                format!("secrets[{index}].key"),
                Code::ManagedKey,
                "is written by a rotation of this environment",
            )
        })
        .collect();
    if refused.is_empty() { Ok(()) } else { Err(Error::Invalid(refused)) }
}

async fn import(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
    secrets: Vec<ImportedSecret>,
    mut known: BTreeMap<SecretKey, SecretRecord>,
    overwrite: bool,
) -> Result<ImportResult> {
    let mut batch = SecretBatch::default();
    let mut result = ImportResult::default();
    for ImportedSecret { key, value, description } in secrets {
        let content = Content { value, hidden: false };
        match known.remove(&key) {
            None => {
                let description = description.map(Description::into_plaintext);
                batch.new.push(first_version(cx, scope, key, &content, description.as_ref()));
            }
            Some(_) if !overwrite => result.skipped += 1,
            Some(mut record) => {
                if let Some(description) = description {
                    let text = description.into_plaintext();
                    record.description = Some(seal_description(cx, scope, &record, &text));
                }
                batch.replace(next_version(cx, scope, record, &content, content.change())?);
            }
        }
    }
    (result.created, result.updated) = (batch.new.len(), batch.replaced());
    batch.store(cx, scope).await?;
    Ok(result)
}

/// Validates the import as a whole: the number of secrets, and that no secret key occurs twice.
fn check(secrets: &[ImportedSecret]) -> Result<()> {
    if secrets.is_empty() {
        return Err(Error::invalid("secrets", "must be 1 to 100 secrets"));
    }
    let max = Import::MAX_SECRETS;
    if secrets.len() > max {
        let rule = format!("must be 1 to {max} secrets: import more in pieces of {max}");
        return Err(Error::invalid("secrets", rule));
    }
    let mut seen = BTreeSet::new();
    let repeated: Vec<_> = (0..)
        .zip(secrets)
        .filter(|(_, secret)| !seen.insert(&secret.key))
        .map(|(index, secret): (usize, _)| FieldError {
            key: Some(secret.key.to_string()),
            ..FieldError::new(
                format!("secrets[{index}].key"),
                Code::InvalidRequest,
                "is given more than once",
            )
        })
        .collect();
    if repeated.is_empty() { Ok(()) } else { Err(Error::Invalid(repeated)) }
}
