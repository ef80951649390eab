//! Scans: looking for credentials where they should not be.
//!
//! The [`engine`] finds them in text. A scan of the service is three steps, so that nothing is held
//! while text is searched: [`BeginScan`] decides who may and what is compared, [`BegunScan::work`]
//! searches, for a host to run where it keeps nothing waiting, and [`KeepScan`] keeps what was
//! found. Of what was scanned nothing is kept but the place of each finding, its two ends and a
//! keyed hash; of a value that is stored here not even these ends.

mod begin;
mod create;
mod delete;
mod finding;
mod get;
mod input;
mod keep;
mod known;
mod list;
mod scope;
mod update;
mod work;

use serde::{Deserialize, Serialize};

pub use begin::{BeginScan, BegunScan};
pub use create::CreateScan;
pub use delete::DeleteScan;
pub use finding::{Finding, MatchedSecret};
pub use get::GetScan;
pub use input::{Content, NewScan, ScanSource, ScannedFile, SubmittedFinding};
pub use keep::KeepScan;
pub use list::ListScans;
pub use update::{FindingChange, UpdateFinding};
pub use work::FinishedScan;

use crate::model::{ProjectId, ScanId, TeamId, Time, UserId};
use crate::store::ScanRecord;

/// A scan.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Scan {
    /// Which scan.
    pub id: ScanId,
    /// Whose scan.
    pub team_id: TeamId,
    /// The project it was made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// What was scanned.
    pub source: ScanSource,
    /// How far it is.
    pub status: ScanStatus,
    /// How many findings it has.
    pub findings_count: u32,
    /// How many of each severity.
    pub by_severity: BySeverity,
    /// Whether more was found than the 1,000 worst, which are kept.
    pub truncated: bool,
    /// How many stored values it was compared with.
    pub secrets_compared: u32,
    /// When it began.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub started_at: Time,
    /// When it was done.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub completed_at: Time,
    /// Who made it.
    pub created_by: UserId,
    /// When it was made.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Time,
}

/// How far a scan is. Scans are done when they are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ScanStatus {
    /// Done.
    Completed,
}

/// How many findings of each severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BySeverity {
    /// Of high severity.
    pub high: u32,
    /// Of medium severity.
    pub medium: u32,
    /// Of low severity.
    pub low: u32,
}

/// A scan with what it found.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScanWithFindings {
    /// The scan.
    #[serde(flatten)]
    pub scan: Scan,
    /// What it found, in the order of what was scanned.
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
