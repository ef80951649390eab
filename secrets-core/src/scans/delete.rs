//! Deleting a scan.

use super::scope::locked_scan;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Permission, Result, ScanId, Subject};

/// Deletes a scan and its findings. Allowed for the scan's creator and for team owners and admins.
/// Findings marked as false positive or ignored keep this status in later scans.
#[derive(Debug)]
pub struct DeleteScan {
    /// Scan ID; `None`, treated as an unknown scan, if the given string is not a valid ID.
    pub scan: Option<ScanId>,
}

impl Operation for DeleteScan {
    const NAME: &'static str = "scan.delete";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("scan.deleted");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let caller = cx.caller.person()?.id;
        let wanted = |scan: &crate::store::ScanRecord| {
            if scan.created_by == caller { Permission::See } else { Permission::Manage }
        };
        let scan = locked_scan(cx, self.scan, wanted).await?;
        cx.tx().delete_scan(scan.id).await.map_err(|error| error.or_not_found(Subject::Scan))
    }
}
