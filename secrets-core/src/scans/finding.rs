//! What a scan found, as it is shown.

use std::collections::BTreeMap;
use std::mem;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::engine::{Access, Context};
use crate::model::scans::Severity;
use crate::model::{
    Broken, EnvironmentId, EnvironmentPath, Error, FindingId, Permission, ProjectId, ProjectRef,
    Result, Rule, ScanId, Time,
};
use crate::store::{FindingRecord, SecretPlace};

/// Something a scan found.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Finding {
    /// Which finding.
    pub id: FindingId,
    /// Whose finding.
    pub scan_id: ScanId,
    /// The rule that found it.
    pub rule_id: String,
    /// What the rule finds.
    pub description: String,
    /// How bad it is.
    pub severity: Severity,
    /// The file it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Its column, from 1, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The commit it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What it is known again by: the same in each scan of the same team and project.
    pub fingerprint: String,
    /// Its first and last characters; nothing of a value that is stored here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<String>,
    /// Its entropy, in bits for each character.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entropy: Option<f64>,
    /// The stored secret that it is the value of; for those who may read that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches_secret: Option<MatchedSecret>,
    /// What was said of it.
    pub status: FindingStatus,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// When it was found.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Time,
    /// When something was said of it.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub updated_at: Time,
    /// Who said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_by: Option<Uuid>,
}

/// A stored secret whose value was found.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MatchedSecret {
    /// Its project.
    pub project_id: ProjectId,
    /// Its environment.
    pub environment_id: EnvironmentId,
    /// Its key.
    pub key: String,
}

impl Finding {
    fn new(finding: FindingRecord, secret: Option<SecretPlace>) -> Self {
        Self {
            id: finding.id,
            scan_id: finding.scan,
            rule_id: finding.rule,
            description: finding.description,
            severity: finding.severity,
            path: finding.path,
            line: finding.line,
            column: finding.column,
            commit: finding.commit,
            fingerprint: finding.fingerprint.to_string(),
            redacted: finding.redacted,
            entropy: finding.entropy.map(|hundredths| f64::from(hundredths) / 100.0),
            matches_secret: secret.map(|secret| MatchedSecret {
                project_id: secret.project,
                environment_id: secret.environment,
                key: secret.key,
            }),
            status: finding.status,
            comment: finding.comment,
            created_at: finding.created_at,
            updated_at: finding.updated_at,
            updated_by: finding.updated_by,
        }
    }
}

/// Findings as the caller may see them: which secret one is the value of is for those who may read
/// that secret now.
pub(super) async fn shown<A: Access>(
    cx: &mut Context<'_, A>,
    findings: Vec<FindingRecord>,
) -> Result<Vec<Finding>> {
    // Whether something is shown is no part of what was done.
    let note = mem::take(&mut cx.note);
    let mut readable = BTreeMap::new();
    let mut shown = Vec::with_capacity(findings.len());
    for mut finding in findings {
        let secret = match finding.secret.take() {
            Some(secret) => {
                let may_read = match readable.get(&secret.environment) {
                    Some(may_read) => *may_read,
                    None => may_read(cx, &secret).await?,
                };
                readable.insert(secret.environment, may_read);
                may_read.then_some(secret)
            }
            None => None,
        };
        shown.push(Finding::new(finding, secret));
    }
    cx.note = note;
    Ok(shown)
}

async fn may_read<A: Access>(cx: &mut Context<'_, A>, secret: &SecretPlace) -> Result<bool> {
    let path = EnvironmentPath::new(ProjectRef::Id(secret.project), secret.environment);
    match cx.environment(&path, Permission::Read).await {
        Ok(_) => Ok(true),
        Err(Error::Forbidden(_) | Error::NotFound(_)) => Ok(false),
        Err(error) => Err(error),
    }
}
