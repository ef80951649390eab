//! Running a whole scan: plan, search and store.

use super::{ConcludeScan, NewScan, PlanScan, ScanWithFindings};
use crate::engine::{Caller, Callers, Engine, Operation, Task};
use crate::model::Result;

/// Runs a scan and stores its findings. No transaction is open during the search, and stored secret
/// values are read only after the scan has a permit to run.
#[derive(Debug)]
pub struct CreateScan {
    /// Request for the scan, with the content to scan.
    pub scan: NewScan,
}

impl Task for CreateScan {
    const NAME: &'static str = <ConcludeScan as Operation>::NAME;
    const CALLERS: Callers = <ConcludeScan as Operation>::CALLERS;
    const IS_EXCLUSIVE: bool = true;
    type Output = ScanWithFindings;

    async fn run(self, engine: &Engine, caller: &Caller) -> Result<ScanWithFindings> {
        // Load the stored values only after the wait for a permit, because they can take many
        // megabytes of memory.
        let plan = async {
            let begun = engine.perform(caller, PlanScan { scan: self.scan }).await?;
            Ok(move || begun.search())
        };
        let scan = engine.offload_prepared(caller, 0, Box::pin(plan)).await?;
        engine.perform(caller, ConcludeScan { scan }).await
    }
}
