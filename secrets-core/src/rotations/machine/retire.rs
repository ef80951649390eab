//! ext3: the end of the grace of the previous credential.

use super::super::schedule::span;
use super::super::slot_user;
use super::work::{Held, Work};
use crate::failpoint;
use crate::model::rotations::Slot;
use crate::ports::rotator::{Fault, Fence, TargetError};

impl Work<'_> {
    /// Shuts out the user of the slot that is not served. Where that fails it is tried again later:
    /// nobody waits for it.
    pub(super) async fn retire(&mut self) -> Held<()> {
        // Before the first success no slot is served, and the first is the one that was changed.
        let slot = self.rotation.active_slot.map_or(Slot::A, Slot::other);
        let fence = Fence { rotation: self.rotation.id, sequence: self.rotation.sequence };
        let username = slot_user(self.rotation.id, slot);
        let target = self.target().await?;
        let retired = match self.rotator(&target) {
            Ok(rotator) => self.under_lease(rotator.lock(&target, fence, &username)).await?,
            Err(error) => Err(error),
        };
        failpoint::reached("K12").await;
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
                tracing::warn!(%rotation, code, "a previous credential was not shut out yet");
                self.rotation.retire_at =
                    Some(self.engine.now() + span(self.rotators.timings.retire));
            }
        }
        self.write(tx.as_mut(), false).await?;
        Ok(tx.commit().await?)
    }
}
