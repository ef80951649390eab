//! Reading one scan.

use super::ScanWithFindings;
use super::finding::shown;
use super::scope::scan;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{Result, ScanId};

/// Reads a scan with its findings.
#[derive(Debug)]
pub struct GetScan {
    /// Scan ID; `None`, treated as an unknown scan, if the given string is not a valid ID.
    pub scan: Option<ScanId>,
}

impl Operation for GetScan {
    const NAME: &'static str = "scan.get";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = ScanWithFindings;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<ScanWithFindings> {
        let scan = scan(cx, self.scan).await?;
        let findings = cx.reads().findings(scan.id).await?;
        let findings = shown(cx, findings).await?;
        Ok(ScanWithFindings { scan: scan.into(), findings })
    }
}
