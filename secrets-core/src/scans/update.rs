//! Saying something of a finding.

use serde::Deserialize;

use super::finding::{Finding, shown};
use super::scope::scan;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::scans::FindingStatus;
use crate::model::{Error, FindingId, Permission, Result, ScanId, Subject, Summary};
use crate::store::FindingRecord;

/// What is said of a finding.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FindingChange {
    /// What it is.
    pub status: FindingStatus,
    /// Why: at most 500 characters. What was said before stays where nothing is given.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Summary>))]
    pub comment: Option<Summary>,
}

/// Says something of a finding. A false positive, or one that is ignored, is that in later scans of
/// the same team and project too, until something else is said.
#[derive(Debug)]
pub struct UpdateFinding {
    /// Which scan; `None` if what was given is no id and names nothing.
    pub scan: Option<ScanId>,
    /// Which finding of it; likewise.
    pub finding: Option<FindingId>,
    /// What is said.
    pub change: FindingChange,
}

impl Operation for UpdateFinding {
    const NAME: &'static str = "finding.update";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("finding.updated");
    type Access = Write;
    type Output = Finding;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Finding> {
        let scan = scan(cx, self.scan, |_| Permission::See).await?;
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
        updated.map_err(|error| error.gone(Subject::Finding))?;
        cx.tx().mark(scan.team, changed.fingerprint, status.lasting()).await?;
        cx.about("finding", changed.id.uuid(), changed.rule.as_str());
        cx.detail("status", status.as_str());
        shown(cx, vec![changed]).await?.pop().ok_or_else(unknown)
    }
}
