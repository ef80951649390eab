//! Scans: search for leaked credentials.
//!
//! The [`scanner`](crate::scanner) finds credentials in text. A scan in the service has three
//! steps, so that no transaction is open while text is searched: [`PlanScan`] authorizes the caller
//! and loads the stored values to compare with; [`PlannedScan::search`] searches (CPU-bound;
//! [`CreateScan`] runs it through the port [`Offload`](crate::ports::offload::Offload));
//! [`ConcludeScan`] stores the findings. The scanned content itself is never stored. A stored
//! finding has the position, a MAC, and the first and last characters of the credential; these
//! characters are left out if the credential is a secret stored in the service.

mod begin;
mod conclude;
mod create;
mod delete;
mod finding;
mod get;
mod input;
mod list;
mod scope;
mod search;
mod stored_values;
mod update;

use serde::{Deserialize, Serialize};

pub use begin::{PlanScan, PlannedScan};
pub use conclude::ConcludeScan;
pub use create::CreateScan;
pub use delete::DeleteScan;
pub use finding::{Finding, MatchedSecret};
pub use get::GetScan;
pub use input::{Content, NewScan, ScanSource, ScannedFile, SubmittedFinding};
pub use list::ListScans;
pub use search::FinishedScan;
pub use update::{FindingChange, UpdateFinding};

use crate::model::{ProjectId, ScanId, TeamId, Time, UserId};
use crate::store::ScanRecord;

/// A scan of a text, of files, or of findings reported by another scanner.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Scan {
    /// Scan ID.
    pub id: ScanId,
    /// Team ID.
    pub team_id: TeamId,
    /// Project that the scan belongs to; absent for a scan of the team as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// Source of the scanned content.
    pub source: ScanSource,
    /// Status of the scan.
    pub status: ScanStatus,
    /// Number of findings that are stored.
    pub findings_count: u32,
    /// Number of findings of each severity.
    pub by_severity: BySeverity,
    /// True if there were more than 1,000 findings. Only the 1,000 most severe are kept.
    pub truncated: bool,
    /// Number of stored secret values that the content was compared with.
    pub secrets_compared: u32,
    /// Time when the scan started.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub started_at: Time,
    /// Time when the scan ended.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub completed_at: Time,
    /// ID of the user who created the scan.
    pub created_by: UserId,
    /// Creation time of the scan.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Time,
}

/// Status of a scan. A scan runs to its end within the request that creates it, so a scan in a
/// response is always completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ScanStatus {
    /// The search has ended and the findings are stored.
    Completed,
}

/// Number of findings of each severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BySeverity {
    /// Number of findings of high severity.
    pub high: u32,
    /// Number of findings of medium severity.
    pub medium: u32,
    /// Number of findings of low severity.
    pub low: u32,
}

/// A scan with its findings.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScanWithFindings {
    /// Scan without its findings.
    #[serde(flatten)]
    pub scan: Scan,
    /// Findings, in the order of the scanned content.
    pub findings: Vec<Finding>,
}

impl From<ScanRecord> for Scan {
    fn from(scan: ScanRecord) -> Self {
        Self {
            id: scan.id,
            team_id: scan.team,
            project_id: scan.project,
            source: ScanSource {
                kind: scan.source,
                name: scan.source_name,
                commit: scan.source_commit,
            },
            status: ScanStatus::Completed,
            findings_count: scan.high + scan.medium + scan.low,
            by_severity: BySeverity { high: scan.high, medium: scan.medium, low: scan.low },
            truncated: scan.is_truncated,
            secrets_compared: scan.secrets_compared,
            started_at: scan.created_at,
            completed_at: scan.completed_at,
            created_by: scan.created_by,
            created_at: scan.created_at,
        }
    }
}
