//! Findings of a scan, in the form in which they are returned to the caller.

use std::collections::BTreeMap;

use serde::Serialize;
use uuid::Uuid;

use crate::engine::{Access, Context};
use crate::model::scans::{FindingStatus, Severity};
use crate::model::{
    EnvironmentId, EnvironmentPath, FindingId, ProjectId, ProjectRef, Result, ScanId, Time,
};
use crate::store::{FindingRecord, SecretLocation};

/// Finding of a scan: a credential that was found, with its status.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Finding {
    /// Finding ID.
    pub id: FindingId,
    /// Scan ID.
    pub scan_id: ScanId,
    /// ID of the detection rule that matched.
    pub rule_id: String,
    /// Description of the detection rule.
    pub description: String,
    /// Severity of the finding.
    pub severity: Severity,
    /// Path of the file that contains the credential; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Line number of the credential, starting at 1; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column number of the credential in characters, starting at 1; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// ID of the commit that contains the credential; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Fingerprint that identifies the finding: all scans of this team and project give the same
    /// finding the same fingerprint.
    pub fingerprint: String,
    /// First and last characters of the credential. Only an ellipsis if the credential is a stored
    /// secret value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<String>,
    /// Entropy of the credential, in bits per character. Absent if the credential is a stored
    /// secret value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entropy: Option<f64>,
    /// Stored secret whose value is the credential. Present only if the caller may read that
    /// secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches_secret: Option<MatchedSecret>,
    /// Review status of the finding: `unresolved`, or the status that a user set.
    pub status: FindingStatus,
    /// Reason for the status, as given by a user; absent if no user gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Creation time of the finding.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Time,
    /// Time of the last change of the finding's status.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub updated_at: Time,
    /// ID of the user who last changed the status; absent if the status was never changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_by: Option<Uuid>,
}

/// Stored secret whose value was found in scanned content.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MatchedSecret {
    /// Project ID.
    pub project_id: ProjectId,
    /// Environment ID.
    pub environment_id: EnvironmentId,
    /// Key (name) of the stored secret.
    pub key: String,
}

impl Finding {
    fn new(finding: FindingRecord, secret: Option<SecretLocation>) -> Self {
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

/// Converts findings for the response. A finding includes the stored secret that it matches only if
/// the caller may read that secret at this time.
pub(super) async fn shown<A: Access>(
    cx: &mut Context<'_, A>,
    findings: Vec<FindingRecord>,
) -> Result<Vec<Finding>> {
    let mut readable = BTreeMap::new();
    let mut shown = Vec::with_capacity(findings.len());
    for mut finding in findings {
        let secret = match finding.secret.take() {
            Some(secret) => {
                let may_read = if let Some(may_read) = readable.get(&secret.environment) {
                    *may_read
                } else {
                    let project = ProjectRef::Id(secret.project);
                    cx.may_read(&EnvironmentPath::new(project, secret.environment)).await?
                };
                readable.insert(secret.environment, may_read);
                may_read.then_some(secret)
            }
            None => None,
        };
        shown.push(Finding::new(finding, secret));
    }
    Ok(shown)
}
