//! Secret scans and their findings.

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::crypto::Fingerprint;
use crate::model::scans::{FindingStatus, Severity, SourceKind};
use crate::model::{EnvironmentId, FindingId, ProjectId, ScanId, TeamId, Time, UserId};

/// A scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanRecord {
    /// Scan ID.
    pub id: ScanId,
    /// Team ID.
    pub team: TeamId,
    /// Project the scan belongs to, if any.
    pub project: Option<ProjectId>,
    /// Kind of source that was scanned.
    pub source: SourceKind,
    /// Display name of the source.
    pub source_name: Option<String>,
    /// Commit that was scanned.
    pub source_commit: Option<String>,
    /// Number of findings with high severity.
    pub high: u32,
    /// Number of findings with medium severity.
    pub medium: u32,
    /// Number of findings with low severity.
    pub low: u32,
    /// True if more findings were found than are stored.
    pub is_truncated: bool,
    /// Number of stored secret values the source was compared with.
    pub secrets_compared: u32,
    /// ID of the user who created the scan.
    pub created_by: UserId,
    /// Start time.
    pub created_at: Time,
    /// Completion time.
    pub completed_at: Time,
}

/// A finding of a scan. The credential that was found is not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingRecord {
    /// Finding ID.
    pub id: FindingId,
    /// Scan ID.
    pub scan: ScanId,
    /// Position in the scan, from 0.
    pub position: u32,
    /// ID of the detection rule that matched.
    pub rule: String,
    /// Description of the detection rule.
    pub description: String,
    /// Severity.
    pub severity: Severity,
    /// File path.
    pub path: Option<String>,
    /// Line, from 1.
    pub line: Option<u32>,
    /// Column, from 1.
    pub column: Option<u32>,
    /// Commit that contains the finding.
    pub commit: Option<String>,
    /// Fingerprint, to recognize the same finding in later scans.
    pub fingerprint: Fingerprint,
    /// Redacted form of the credential, safe to display.
    pub redacted: Option<String>,
    /// Entropy, in hundredths of a bit per character.
    pub entropy: Option<u32>,
    /// The stored secret that has this value, if any.
    pub secret: Option<SecretLocation>,
    /// Triage status.
    pub status: FindingStatus,
    /// Comment on the status.
    pub comment: Option<String>,
    /// Time at which the finding was found.
    pub created_at: Time,
    /// Time of the last status change.
    pub updated_at: Time,
    /// ID of the user who last changed the status.
    pub updated_by: Option<Uuid>,
}

/// Location of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretLocation {
    /// Project ID.
    pub project: ProjectId,
    /// Environment ID.
    pub environment: EnvironmentId,
    /// Secret key.
    pub key: String,
}

/// Read access to scans. Scans of a deleted project are not found.
#[async_trait]
pub trait ScanReads: Send {
    /// Returns the scan with this ID.
    async fn scan(&mut self, scan: ScanId) -> StoreResult<Option<ScanRecord>>;

    /// Lists the newest scans of these teams, newest first. With `project`, lists only the scans of
    /// this project.
    async fn scans(
        &mut self,
        teams: &[TeamId],
        project: Option<ProjectId>,
        limit: u32,
    ) -> StoreResult<Vec<ScanRecord>>;

    /// Lists the findings of a scan, ordered by position.
    async fn findings(&mut self, scan: ScanId) -> StoreResult<Vec<FindingRecord>>;

    /// Returns a finding of a scan.
    async fn finding(
        &mut self,
        scan: ScanId,
        finding: FindingId,
    ) -> StoreResult<Option<FindingRecord>>;

    /// Returns the statuses (false positive or ignored) that a team has saved for these
    /// fingerprints, ordered by fingerprint. Fingerprints without a saved status are left out.
    async fn marks(
        &mut self,
        team: TeamId,
        fingerprints: &[Fingerprint],
    ) -> StoreResult<Vec<(Fingerprint, FindingStatus)>>;
}

/// Write access to scans.
#[async_trait]
pub trait ScanWrites: Send {
    /// Inserts a scan with its findings.
    async fn insert_scan(
        &mut self,
        scan: &ScanRecord,
        findings: &[FindingRecord],
    ) -> StoreResult<()>;

    /// Updates status, comment, and the user and time of the change. Fails with `Stale` if the
    /// finding does not exist.
    async fn update_finding(&mut self, finding: &FindingRecord) -> StoreResult<()>;

    /// Saves the status of a fingerprint in a team. Findings of later scans with this fingerprint
    /// start with that status. `None` removes the saved status.
    async fn mark(
        &mut self,
        team: TeamId,
        fingerprint: Fingerprint,
        status: Option<FindingStatus>,
    ) -> StoreResult<()>;

    /// Deletes the scans created before this time, with their findings, oldest first, at most
    /// `limit` of them. Saved statuses of fingerprints stay. Returns the number of deleted scans.
    async fn prune_scans(&mut self, before: Time, limit: u32) -> StoreResult<u64>;

    /// Deletes a scan with its findings; saved statuses of fingerprints stay. Fails with `Stale` if
    /// the scan does not exist.
    async fn delete_scan(&mut self, scan: ScanId) -> StoreResult<()>;
}
