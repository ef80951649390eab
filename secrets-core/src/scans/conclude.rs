//! Last step of a scan: storing its findings.

use std::collections::BTreeMap;

use super::finding::shown;
use super::input::FINDINGS;
use super::list::LIMIT;
use super::scope::lock_place;
use super::search::{FinishedScan, Found};
use super::{Scan, ScanWithFindings};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::scans::{FindingStatus, Severity};
use crate::model::{FindingId, Result};
use crate::store::{FindingRecord, KeptScans, ScanRecord};

/// Maximum number of stored scans with findings of each project, and of a team without a project:
/// as many as a list shows. Scans without findings are counted separately, with the same maximum.
const MAX_STORED: u32 = LIMIT;

/// Maximum number of stored findings of a team in total, including those of its deleted projects.
/// Scans without findings are counted separately, with the same maximum.
const MAX_STORED_OF_TEAM: u32 = 20_000;

/// Number of findings (or of scans without findings) after which no further scan is deleted when a
/// scan is stored, so that the transaction is short.
const MAX_DELETED: u32 = 2_000;

const _: () = assert!(
    MAX_DELETED as usize > FINDINGS && MAX_STORED_OF_TEAM as usize > FINDINGS,
    "a scan must delete more findings than it stores, or an excess would never end"
);

/// Stores a finished scan with its findings. A finding that the team marked as false positive or
/// ignored in an earlier scan starts with that status. Of each project, and of the scans of a team
/// without a project, the newest 100 scans with findings and the newest 100 without are kept. Of
/// all scans of a team, including those of deleted projects, the newest with 20,000 findings in
/// total and the newest 20,000 without findings are kept.
#[derive(Debug)]
pub struct ConcludeScan {
    /// Scan whose search has ended.
    pub scan: FinishedScan,
}

impl Operation for ConcludeScan {
    const NAME: &'static str = "scan.create";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("scan.completed");
    type Access = Write;
    type Output = ScanWithFindings;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<ScanWithFindings> {
        let FinishedScan { team, project, .. } = self.scan;
        // Authorize again: the scan may have taken a long time.
        lock_place(cx, team, project).await?;
        let scan = scan_record(cx, &self.scan)?;
        let findings = finding_records(cx, self.scan).await?;
        // Before the insertion, so that the new scan is kept even if it started before the others.
        cx.tx().prune_excess_scans(&scan, kept_besides(&scan), MAX_DELETED).await?;
        cx.tx().insert_scan(&scan, &findings).await?;

        cx.set_resource("scan", scan.id.uuid(), scan.source_name.clone().unwrap_or_default());
        cx.add_detail("high", scan.high);
        cx.add_detail("medium", scan.medium);
        cx.add_detail("low", scan.low);
        let findings = shown(cx, findings).await?;
        Ok(ScanWithFindings { scan: Scan::from(scan), findings })
    }
}

/// Returns the numbers of earlier scans and findings that are kept when `scan` is stored.
fn kept_besides(scan: &ScanRecord) -> KeptScans {
    let own = u32::try_from(scan.findings()).unwrap_or(u32::MAX).max(1);
    KeptScans { scans: MAX_STORED - 1, findings: MAX_STORED_OF_TEAM.saturating_sub(own) }
}

fn scan_record(cx: &Context<'_, Write>, scan: &FinishedScan) -> Result<ScanRecord> {
    let count = |severity: Severity| {
        let of_severity = scan.found.iter().filter(|found| found.severity == severity);
        u32::try_from(of_severity.count()).unwrap_or(u32::MAX)
    };
    Ok(ScanRecord {
        id: scan.id,
        team: scan.team,
        project: scan.project,
        source: scan.source.kind,
        source_name: scan.source.name.clone(),
        source_commit: scan.source.commit.clone(),
        high: count(Severity::High),
        medium: count(Severity::Medium),
        low: count(Severity::Low),
        is_truncated: scan.is_truncated,
        secrets_compared: scan.secrets_compared,
        created_by: cx.caller.person()?.id,
        created_at: scan.began_at,
        completed_at: cx.now(),
    })
}

async fn finding_records(
    cx: &mut Context<'_, Write>,
    scan: FinishedScan,
) -> Result<Vec<FindingRecord>> {
    let mut fingerprints: Vec<_> = scan.found.iter().map(|found| found.fingerprint).collect();
    fingerprints.sort_unstable();
    fingerprints.dedup();
    let marks = cx.reads().marks(scan.team, &fingerprints).await?;
    let marks: BTreeMap<_, _> = marks.into_iter().collect();
    let now = cx.now();
    let records = (0..).zip(scan.found).map(|(position, found)| {
        let status = marks.get(&found.fingerprint).copied();
        let Found { rule, description, severity, path, line, column, .. } = found;
        FindingRecord {
            id: FindingId::draw(now),
            scan: scan.id,
            position,
            rule,
            description,
            severity,
            path,
            line,
            column,
            commit: found.commit,
            fingerprint: found.fingerprint,
            redacted: found.redacted,
            entropy: found.entropy,
            secret: found.secret,
            status: status.unwrap_or(FindingStatus::Unresolved),
            comment: None,
            created_at: now,
            updated_at: now,
            updated_by: None,
        }
    });
    Ok(records.collect())
}
