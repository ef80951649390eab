//! Scanning, from the beginning to what is kept.

use super::{BeginScan, KeepScan, NewScan, ScanWithFindings};
use crate::caller::{Caller, Callers};
use crate::error::Result;
use crate::operation::Operation;
use crate::service::Service;
use crate::task::Task;

/// Scans, and keeps what is found. No transaction is open while it searches.
#[derive(Debug)]
pub struct CreateScan {
    /// What to scan.
    pub scan: NewScan,
}

impl Task for CreateScan {
    const NAME: &'static str = <KeepScan as Operation>::NAME;
    const CALLERS: Callers = <KeepScan as Operation>::CALLERS;
    const IS_LONG: bool = true;
    type Output = ScanWithFindings;

    async fn run(self, service: &Service, caller: &Caller) -> Result<ScanWithFindings> {
        let begun = service.perform(caller, BeginScan { scan: self.scan }).await?;
        service.perform(caller, KeepScan { scan: begun.work() }).await
    }
}
