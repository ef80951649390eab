//! Running a whole scan: begin, search, store.

use super::{ConcludeScan, NewScan, PlanScan, ScanWithFindings};
use crate::engine::{Caller, Callers, Engine, Operation, Task};
use crate::model::Result;

/// Runs a scan and stores its findings. No transaction is open during the search.
#[derive(Debug)]
pub struct CreateScan {
    /// Content to scan.
    pub scan: NewScan,
}

impl Task for CreateScan {
    const NAME: &'static str = <ConcludeScan as Operation>::NAME;
    const CALLERS: Callers = <ConcludeScan as Operation>::CALLERS;
    type Output = ScanWithFindings;

    async fn run(self, engine: &Engine, caller: &Caller) -> Result<ScanWithFindings> {
        let begun = engine.perform(caller, PlanScan { scan: self.scan }).await?;
        let scan = engine.offload(caller, move || begun.work()).await?;
        engine.perform(caller, ConcludeScan { scan }).await
    }
}
