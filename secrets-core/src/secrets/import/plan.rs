//! Plan of an import: the effect on each secret, as a dry run reports it.

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
    /// Secret key.
    pub key: SecretKey,
    /// Effect of the import.
    pub result: ImportEffect,
    /// Version of the environment's own secret before the import; 0 if there is none.
    pub previous_version: u32,
}

/// Effect of an import on one secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ImportEffect {
    /// The secret would be created.
    Created,
    /// The existing secret would be updated.
    Updated,
    /// The existing secret has the same value and description already.
    Same,
    /// The existing secret would be skipped.
    Skipped,
}

/// Plans an import, without writing. `known` are the existing secrets of the environment. If the
/// caller may not read them, they are not compared, because the result would tell the caller that a
/// guessed value is right.
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

/// True if the existing secret has the value to import, and the description if there is one.
async fn is_same(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
    secret: &ImportedSecret,
    known: &SecretRecord,
) -> Result<bool> {
    if !scope.may_read || known.hidden {
        return Ok(false);
    }
    if !open_value(cx, scope, known).await?.is_same(&secret.value) {
        return Ok(false);
    }
    let Some(description) = &secret.description else { return Ok(true) };
    let known = open_description(cx, scope, known).await?;
    Ok(known.is_some_and(|known| known.reveal() == description.reveal()))
}

impl ImportResult {
    /// Creates the result of a dry run.
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
