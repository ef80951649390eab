//! Plan of an import: the effect on each secret. Returned by a dry run.

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::sealing::{open_description, open_value};
use super::{ImportResult, ImportedSecret};
use crate::access::EnvironmentScope;
use crate::engine::{Context, Write};
use crate::model::{Result, SecretKey};
use crate::store::SecretRecord;

/// Effect that an import would have on one secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlannedImport {
    /// Key (name) of the secret to import.
    pub key: SecretKey,
    /// Effect that the import would have.
    pub result: ImportEffect,
    /// Version that the environment's own secret has before the import; 0 if there is no secret.
    pub previous_version: u32,
}

/// Effect of an import on one secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ImportEffect {
    /// The secret would be created.
    Created,
    /// The value of the existing secret would be replaced.
    Updated,
    /// The existing secret already has the same value and description.
    Same,
    /// The existing secret would be left unchanged.
    Skipped,
}

/// Plans an import without writing anything. `known` are the existing secrets of the environment.
/// If the caller may not read them, the imported values are not compared with the stored ones:
/// otherwise the result would reveal that a guessed value is right.
pub(super) async fn plan(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
    secrets: &[ImportedSecret],
    known: &BTreeMap<SecretKey, SecretRecord>,
    overwrite: bool,
) -> Result<Vec<PlannedImport>> {
    let mut planned = Vec::with_capacity(secrets.len());
    for secret in secrets {
        let known = known.get(&secret.key);
        let result = match known {
            None => ImportEffect::Created,
            Some(known) if is_same(cx, scope, secret, known).await? => ImportEffect::Same,
            Some(_) if overwrite => ImportEffect::Updated,
            Some(_) => ImportEffect::Skipped,
        };
        let previous_version = known.map_or(0, |known| known.version);
        planned.push(PlannedImport { key: secret.key.clone(), result, previous_version });
    }
    Ok(planned)
}

/// True if the existing secret already has the imported value and, if a description is imported,
/// that description. Always false if the values may not be compared.
async fn is_same(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
    secret: &ImportedSecret,
    known: &SecretRecord,
) -> Result<bool> {
    if !is_comparable(scope, known) {
        return Ok(false);
    }
    if !open_value(cx, scope, known).await?.is_same(&secret.value) {
        return Ok(false);
    }
    let Some(description) = &secret.description else { return Ok(true) };
    let known = open_description(cx, scope, known).await?;
    Ok(known.is_some_and(|known| known.reveal() == description.reveal()))
}

/// True if the value of the existing secret is compared with the imported value: the caller may
/// read secrets, and the existing secret is not hidden.
pub(super) fn is_comparable(scope: &EnvironmentScope, known: &SecretRecord) -> bool {
    scope.may_read && !known.hidden
}

impl ImportResult {
    /// Creates the result of a dry run from the planned effects.
    pub(super) fn planned(secrets: Vec<PlannedImport>) -> Self {
        let count = |effect| secrets.iter().filter(|secret| secret.result == effect).count();
        Self {
            created: count(ImportEffect::Created),
            updated: count(ImportEffect::Updated),
            skipped: count(ImportEffect::Skipped),
            dry_run: true,
            same: Some(count(ImportEffect::Same)),
            secrets: Some(secrets),
        }
    }
}
