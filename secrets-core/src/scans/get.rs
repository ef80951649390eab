//! Showing one scan.

use super::ScanWithFindings;
use super::finding::shown;
use super::scope::scan;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{Permission, Result, ScanId};

/// Gives a scan with what it found.
#[derive(Debug)]
pub struct GetScan {
    /// Which scan; `None` if what was given is no id and names nothing.
    pub scan: Option<ScanId>,
}

impl Operation for GetScan {
    const NAME: &'static str = "scan.get";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = ScanWithFindings;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<ScanWithFindings> {
        let scan = scan(cx, self.scan, |_| Permission::See).await?;
        let findings = cx.reads().findings(scan.id).await?;
        let findings = shown(cx, findings).await?;
        Ok(ScanWithFindings { scan: scan.into(), findings })
    }
}
