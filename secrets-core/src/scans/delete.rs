//! Deleting a scan.

use super::scope::scan;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Permission, Result, ScanId, Subject};

/// Deletes a scan with what it found: for who made it, and owners and admins. What was said of
/// findings once and for all stays said.
#[derive(Debug)]
pub struct DeleteScan {
    /// Which scan; `None` if what was given is no id and names nothing.
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
        let scan = scan(cx, self.scan, wanted).await?;
        cx.tx().delete_scan(scan.id).await.map_err(|error| error.gone(Subject::Scan))
    }
}
