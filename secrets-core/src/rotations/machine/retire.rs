//! End of the previous credential's grace period (ext3 in the [module docs](super)).

use super::super::schedule::span;
use super::super::slot_user;
use super::work::{Work, WorkResult};
use crate::failpoint;
use crate::model::rotations::Slot;
use crate::ports::rotator::{Fault, Fence, TargetError};

impl Work<'_> {
    /// Disables the login of the user whose credential is not served. A failure is retried later.
    pub(super) async fn retire(&mut self) -> WorkResult<()> {
        // Before the first success no slot is served, and attempts always change slot A.
        let slot = self.rotation.active_slot.map_or(Slot::A, Slot::other);
        let fence = Fence { rotation: self.rotation.id, sequence: self.rotation.sequence };
        let username = slot_user(self.rotation.id, slot);
        let target = self.target().await?;
        let retired = match self.rotator(&target) {
            Ok(rotator) => self.under_lease(rotator.lock(&target, fence, &username)).await?,
            Err(error) => Err(error),
        };
        failpoint::reached("in-retire").await;
        let mut tx = self.begin().await?;
        match retired {
            Ok(()) | Err(TargetError { fault: Fault::Fenced, .. }) => {
                self.rotation.retire_at = None;
                let details = [("slot", slot.as_str().into())];
                self.record(tx.as_mut(), "rotation.retired", &details).await?;
            }
            Err(error) => {
                let rotation = self.rotation.id;
                let code = error.fault.code();
                tracing::warn!(%rotation, code, "previous credential not locked, will retry");
                self.rotation.retire_at =
                    Some(self.engine.now() + span(self.rotators.timings.retire));
            }
        }
        self.write(tx.as_mut(), false).await?;
        Ok(tx.commit().await?)
    }
}
