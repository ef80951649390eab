//! Running a whole scan: begin, search, store.

use super::{BeginScan, KeepScan, NewScan, ScanWithFindings};
use crate::caller::{Caller, Callers};
use crate::error::Result;
use crate::operation::Operation;
use crate::service::Service;
use crate::task::Task;

/// Runs a scan and stores its findings. No transaction is open during the search.
#[derive(Debug)]
pub struct CreateScan {
    /// Content to scan.
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
