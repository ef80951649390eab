//! Changing the status of a finding.

use serde::Deserialize;

use super::finding::{Finding, shown};
use super::scope::locked_scan;
use crate::crypto::Fingerprint;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::scans::FindingStatus;
use crate::model::{Code, Error, FindingId, Permission, Result, ScanId, Subject, Summary, TeamId};
use crate::store::FindingRecord;

/// Maximum number of findings for which a team can save a status.
const MAX_MARKS: u64 = 10_000;

/// Change of a finding's status.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FindingChange {
    /// New status of the finding.
    pub status: FindingStatus,
    /// Reason for the status: at most 500 characters. If absent, the previous comment is kept.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Summary>))]
    pub comment: Option<Summary>,
}

/// Changes the status of a finding. The statuses false positive and ignored also apply to the same
/// finding in later scans of the team and project, until the status is changed again.
#[derive(Debug)]
pub struct UpdateFinding {
    /// Scan ID; `None`, treated as an unknown scan, if the given string is not a valid ID.
    pub scan: Option<ScanId>,
    /// Finding ID within the scan; `None`, treated as an unknown finding, if the given string is
    /// not a valid ID.
    pub finding: Option<FindingId>,
    /// New status and comment of the finding.
    pub change: FindingChange,
}

impl Operation for UpdateFinding {
    const NAME: &'static str = "finding.update";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("finding.updated");
    type Access = Write;
    type Output = Finding;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Finding> {
        let scan = locked_scan(cx, self.scan, |_| Permission::See).await?;
        let unknown = || Error::NotFound(Subject::Finding);
        let finding = self.finding.ok_or_else(unknown)?;
        let finding = cx.reads().finding(scan.id, finding).await?.ok_or_else(unknown)?;
        let status = self.change.status;
        let changed = FindingRecord {
            status,
            comment: self.change.comment.map(Into::into).or(finding.comment),
            updated_at: cx.now(),
            updated_by: cx.caller.actor(),
            ..finding
        };
        let updated = cx.tx().update_finding(&changed).await;
        updated.map_err(|error| error.or_not_found(Subject::Finding))?;
        save_status(cx, scan.team, changed.fingerprint, status.lasting()).await?;
        cx.set_resource("finding", changed.id.uuid(), changed.rule.as_str());
        cx.add_detail("status", status.as_str());
        shown(cx, vec![changed]).await?.pop().ok_or_else(unknown)
    }
}

/// Saves the status of a finding for later scans of the team; `None` removes the saved status.
/// Fails if the team has saved the statuses of 10,000 other findings. The caller must have locked
/// the team.
async fn save_status(
    cx: &mut Context<'_, Write>,
    team: TeamId,
    fingerprint: Fingerprint,
    status: Option<FindingStatus>,
) -> Result<()> {
    let is_new = status.is_some() && cx.reads().marks(team, &[fingerprint]).await?.is_empty();
    if is_new && cx.reads().count_marks(team).await? >= MAX_MARKS {
        let reason = "a team can mark at most 10,000 findings as false positive or ignored".into();
        return Err(Error::Refused { code: Code::InvalidRequest, reason });
    }
    Ok(cx.tx().mark(team, fingerprint, status).await?)
}
