//! Secret scans and their findings.

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::crypto::Fingerprint;
use crate::model::scans::{FindingStatus, Severity, SourceKind};
use crate::model::{EnvironmentId, FindingId, ProjectId, ScanId, TeamId, Time, UserId};

/// A scan: its source, and the number of its findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanRecord {
    /// Scan ID.
    pub id: ScanId,
    /// ID of the team that the scan belongs to.
    pub team: TeamId,
    /// ID of the project that the scan belongs to; `None` if it belongs to no project.
    pub project: Option<ProjectId>,
    /// Kind of content that was scanned.
    pub source: SourceKind,
    /// Display name of the scanned source.
    pub source_name: Option<String>,
    /// ID of the commit that was scanned.
    pub source_commit: Option<String>,
    /// Number of findings with high severity.
    pub high: u32,
    /// Number of findings with medium severity.
    pub medium: u32,
    /// Number of findings with low severity.
    pub low: u32,
    /// True if the scan had more findings than are stored.
    pub is_truncated: bool,
    /// Number of stored secret values that the content was compared with.
    pub secrets_compared: u32,
    /// ID of the user who created the scan.
    pub created_by: UserId,
    /// Time when the scan started.
    pub created_at: Time,
    /// Time when the scan ended.
    pub completed_at: Time,
}

impl ScanRecord {
    /// True if the scan has findings.
    #[must_use]
    pub fn has_findings(&self) -> bool {
        self.findings() > 0
    }

    /// Returns the number of findings of the scan.
    #[must_use]
    pub fn findings(&self) -> u64 {
        [self.high, self.medium, self.low].into_iter().map(u64::from).sum()
    }
}

/// Maximum numbers of stored scans and findings that are kept when excess scans are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptScans {
    /// Maximum number of scans of each project, and of a team's scans that belong to no project.
    pub scans: u32,
    /// Maximum number of findings of a team in total. A scan without findings counts as one
    /// finding.
    pub findings: u32,
}

/// A finding of a scan. The credential that was found is not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingRecord {
    /// ID of the finding.
    pub id: FindingId,
    /// Scan ID.
    pub scan: ScanId,
    /// Position of the finding in its scan, starting at 0.
    pub position: u32,
    /// ID of the detection rule that found the credential.
    pub rule: String,
    /// Description of the detection rule.
    pub description: String,
    /// Severity of the finding.
    pub severity: Severity,
    /// Path of the file that contains the credential.
    pub path: Option<String>,
    /// Line number of the credential, starting at 1.
    pub line: Option<u32>,
    /// Column number of the credential, starting at 1.
    pub column: Option<u32>,
    /// ID of the commit that contains the credential.
    pub commit: Option<String>,
    /// Fingerprint with which the same finding is recognized in later scans.
    pub fingerprint: Fingerprint,
    /// First and last characters of the credential, joined by `…`; only `…` for a stored secret
    /// value. `None` if the finding was submitted without the credential.
    pub redacted: Option<String>,
    /// Entropy of the credential, in hundredths of a bit per character. `None` for a stored secret
    /// value, and if the finding was submitted without the credential.
    pub entropy: Option<u32>,
    /// Location of the stored secret whose value is the credential; `None` if there is none.
    pub secret: Option<SecretLocation>,
    /// Status of the finding: the status that a user set, or else the status that is saved for the
    /// fingerprint, or else `unresolved`.
    pub status: FindingStatus,
    /// Comment of the user on the status.
    pub comment: Option<String>,
    /// Time of the scan that found the credential.
    pub created_at: Time,
    /// Time of the last change of the finding's status.
    pub updated_at: Time,
    /// ID of the user who last changed the finding's status.
    pub updated_by: Option<Uuid>,
}

/// Location of a stored secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretLocation {
    /// ID of the project that contains the secret.
    pub project: ProjectId,
    /// ID of the environment that contains the secret.
    pub environment: EnvironmentId,
    /// Secret key, such as `DATABASE_URL`.
    pub key: String,
}

/// Read access to scans. The methods do not return scans of deleted projects.
#[async_trait]
pub trait ScanReads: Send {
    /// Returns the scan with this ID.
    async fn scan(&mut self, scan: ScanId) -> StoreResult<Option<ScanRecord>>;

    /// Lists the newest scans of these teams, newest first, at most `limit`. With `project`, lists
    /// only the scans of this project.
    async fn scans(
        &mut self,
        teams: &[TeamId],
        project: Option<ProjectId>,
        limit: u32,
    ) -> StoreResult<Vec<ScanRecord>>;

    /// Lists the findings of a scan, ordered by position.
    async fn findings(&mut self, scan: ScanId) -> StoreResult<Vec<FindingRecord>>;

    /// Returns one finding of a scan.
    async fn finding(
        &mut self,
        scan: ScanId,
        finding: FindingId,
    ) -> StoreResult<Option<FindingRecord>>;

    /// Returns the statuses (false positive or ignored) that a team has saved for these
    /// fingerprints, ordered by fingerprint. Omits fingerprints without a saved status.
    async fn marks(
        &mut self,
        team: TeamId,
        fingerprints: &[Fingerprint],
    ) -> StoreResult<Vec<(Fingerprint, FindingStatus)>>;

    /// Returns the number of fingerprints for which a team has saved a status.
    async fn count_marks(&mut self, team: TeamId) -> StoreResult<u64>;
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

    /// Updates the status and comment of a finding, and the user and time of the change. Fails with
    /// `Stale` if the finding does not exist.
    async fn update_finding(&mut self, finding: &FindingRecord) -> StoreResult<()>;

    /// Saves the status of a fingerprint for a team, so that findings of later scans with this
    /// fingerprint start with this status. `None` removes the saved status.
    async fn mark(
        &mut self,
        team: TeamId,
        fingerprint: Fingerprint,
        status: Option<FindingStatus>,
    ) -> StoreResult<()>;

    /// Deletes scans that were created before the time `before`, with their findings, oldest first,
    /// at most `limit`. Keeps the saved statuses of fingerprints. Returns the number of deleted
    /// scans.
    async fn prune_scans(&mut self, before: Time, limit: u32) -> StoreResult<u64>;

    /// Deletes excess scans of the team of `scan`, with their findings, oldest first, until `limit`
    /// findings or a few more are deleted. Keeps the newest `keep.scans` scans of the project of
    /// `scan`, or of the scans without a project if `scan` has none. Of all scans of the team,
    /// including those of deleted projects, keeps only the newest with at most `keep.findings`
    /// findings in total. If `scan` has findings, considers only scans with findings; otherwise
    /// considers only scans without findings, each of which counts as one finding. Keeps the saved
    /// statuses of fingerprints. Returns the number of deleted scans.
    async fn prune_excess_scans(
        &mut self,
        scan: &ScanRecord,
        keep: KeptScans,
        limit: u32,
    ) -> StoreResult<u64>;

    /// Deletes a scan with its findings, but keeps the saved statuses of fingerprints. Fails with
    /// `Stale` if the scan does not exist.
    async fn delete_scan(&mut self, scan: ScanId) -> StoreResult<()>;
}
