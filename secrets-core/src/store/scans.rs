//! Scans, and what they found.

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::crypto::Fingerprint;
use crate::model::scans::{FindingStatus, Severity, SourceKind};
use crate::model::{EnvironmentId, FindingId, ProjectId, ScanId, TeamId, Time, UserId};

/// A scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanRecord {
    /// Which scan.
    pub id: ScanId,
    /// Whose scan.
    pub team: TeamId,
    /// The project it was made for.
    pub project: Option<ProjectId>,
    /// What was scanned.
    pub source: SourceKind,
    /// What people call it.
    pub source_name: Option<String>,
    /// The commit it was.
    pub source_commit: Option<String>,
    /// How many findings are of high severity.
    pub high: u32,
    /// How many are of medium severity.
    pub medium: u32,
    /// How many are of low severity.
    pub low: u32,
    /// Whether there was more than is kept.
    pub is_truncated: bool,
    /// How many stored values it was compared with.
    pub secrets_compared: u32,
    /// Who made it.
    pub created_by: UserId,
    /// When it began.
    pub created_at: Time,
    /// When it was done.
    pub completed_at: Time,
}

/// Something a scan found. The credential itself is not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingRecord {
    /// Which finding.
    pub id: FindingId,
    /// Whose finding.
    pub scan: ScanId,
    /// Where it comes in the scan, from 0.
    pub position: u32,
    /// The rule that found it.
    pub rule: String,
    /// What the rule finds.
    pub description: String,
    /// How bad it is.
    pub severity: Severity,
    /// The file it is in.
    pub path: Option<String>,
    /// Its line, from 1.
    pub line: Option<u32>,
    /// Its column, from 1.
    pub column: Option<u32>,
    /// The commit it is in.
    pub commit: Option<String>,
    /// What it is known again by.
    pub fingerprint: Fingerprint,
    /// What may be shown of it.
    pub redacted: Option<String>,
    /// Its entropy, in hundredths of a bit for each character.
    pub entropy: Option<u32>,
    /// The stored secret that it is the value of.
    pub secret: Option<SecretPlace>,
    /// What was said of it.
    pub status: FindingStatus,
    /// Why.
    pub comment: Option<String>,
    /// When it was found.
    pub created_at: Time,
    /// When something was said of it.
    pub updated_at: Time,
    /// Who said it.
    pub updated_by: Option<Uuid>,
}

/// Where a secret is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretPlace {
    /// The project.
    pub project: ProjectId,
    /// The environment.
    pub environment: EnvironmentId,
    /// The key.
    pub key: String,
}

/// Reading scans. Those of a project that is deleted are not found.
#[async_trait]
pub trait ScanReads: Send {
    /// The scan with this id.
    async fn scan(&mut self, scan: ScanId) -> StoreResult<Option<ScanRecord>>;

    /// The newest scans of these teams, of one project where it is given; newest first.
    async fn scans(
        &mut self,
        teams: &[TeamId],
        project: Option<ProjectId>,
        limit: u32,
    ) -> StoreResult<Vec<ScanRecord>>;

    /// What a scan found, in its order.
    async fn findings(&mut self, scan: ScanId) -> StoreResult<Vec<FindingRecord>>;

    /// One thing that a scan found.
    async fn finding(
        &mut self,
        scan: ScanId,
        finding: FindingId,
    ) -> StoreResult<Option<FindingRecord>>;

    /// What a team has said once and for all of those fingerprints of which it has, ordered.
    async fn marks(
        &mut self,
        team: TeamId,
        fingerprints: &[Fingerprint],
    ) -> StoreResult<Vec<(Fingerprint, FindingStatus)>>;
}

/// Writing scans.
#[async_trait]
pub trait ScanWrites: Send {
    /// Keeps a scan and what it found.
    async fn insert_scan(
        &mut self,
        scan: &ScanRecord,
        findings: &[FindingRecord],
    ) -> StoreResult<()>;

    /// Replaces status, comment, and who said so and when. Fails with `Stale` if it is gone.
    async fn update_finding(&mut self, finding: &FindingRecord) -> StoreResult<()>;

    /// Remembers what a team says of a fingerprint, or with `None` that it says nothing.
    async fn mark(
        &mut self,
        team: TeamId,
        fingerprint: Fingerprint,
        status: Option<FindingStatus>,
    ) -> StoreResult<()>;

    /// Deletes a scan with what it found; what was said of fingerprints stays. Fails with `Stale`
    /// if it is gone.
    async fn delete_scan(&mut self, scan: ScanId) -> StoreResult<()>;
}
