//! End of the grace period of the previous credential: disabling its login (ext3 in the [module
//! docs](super)).

use std::fmt;

use chrono::TimeDelta;

use super::super::schedule::span;
use super::super::slot_user;
use super::policy::{UNDECRYPTABLE, UNDECRYPTABLE_MESSAGE};
use super::work::{Work, WorkResult};
use crate::failpoint;
use crate::model::rotations::Slot;
use crate::model::{Error, Time};
use crate::ports::rotator::{Fault, Fence, Target, TargetError};
use crate::store::Tx;

/// Time after the end of the grace period during which the service retries to disable the login of
/// the previous credential.
const MAX_RETRY_TIME: TimeDelta = TimeDelta::days(1);

/// Reason why the login of a database user could not be disabled.
enum LockError {
    /// The target database, or its proxy function, returned an error.
    Target(TargetError),
    /// The stored connection settings cannot be decrypted.
    Undecryptable,
}

impl LockError {
    fn code(&self) -> &'static str {
        match self {
            Self::Target(error) => error.fault.code(),
            Self::Undecryptable => UNDECRYPTABLE,
        }
    }
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Target(error) => fmt::Display::fmt(error, f),
            Self::Undecryptable => f.write_str(UNDECRYPTABLE_MESSAGE),
        }
    }
}

impl Work<'_> {
    /// Disables the login of the database user whose credential is not in the secrets. A failure is
    /// retried for a day and then reported in the rotation's error message. In any case, the next
    /// rotation replaces the user's password.
    pub(super) async fn retire(&mut self) -> WorkResult<()> {
        // Before the first success no slot is served, and attempts always change slot A.
        let slot = self.rotation.slots.active.map_or(Slot::A, Slot::other);
        let fence = Fence { rotation: self.rotation.id, sequence: self.rotation.sequence };
        let username = slot_user(self.rotation.id, slot);
        let retired = match self.target().await {
            Ok(target) => self.lock_user(&target, fence, &username).await?,
            Err(Error::Internal(_)) => {
                self.report_undecryptable();
                Err(LockError::Undecryptable)
            }
            Err(error) => return Err(error.into()),
        };
        failpoint::reached("in-retire").await;
        let ends = self.retries_end().await?;
        let mut tx = self.begin().await?;
        match retired {
            Ok(()) => {
                self.rotation.slots.retire_at = None;
                let details = [("slot", slot.as_str().into())];
                self.record(tx.as_mut(), "rotation.retired", &details).await?;
            }
            Err(error) if self.engine.now() >= ends => {
                self.give_up_retiring(tx.as_mut(), slot, &username, &error).await?;
            }
            Err(error) => {
                let rotation = self.rotation.id;
                let code = error.code();
                tracing::warn!(%rotation, code, "previous credential not locked, will retry");
                self.rotation.slots.retire_at =
                    Some(self.engine.now() + span(self.rotators.timings.retire));
            }
        }
        self.write(tx.as_mut()).await?;
        Ok(tx.commit().await?)
    }

    /// Disables the login of a database user. A user that a later attempt has changed counts as
    /// disabled.
    async fn lock_user(
        &mut self,
        target: &Target,
        fence: Fence,
        username: &str,
    ) -> WorkResult<Result<(), LockError>> {
        let locked = match self.rotator(target) {
            Ok(rotator) => self.under_lease(rotator.lock(target, fence, username)).await?,
            Err(error) => Err(error),
        };
        Ok(match locked {
            Ok(()) | Err(TargetError { fault: Fault::Fenced, .. }) => Ok(()),
            Err(error) => Err(LockError::Target(error)),
        })
    }

    /// Returns the time at which the retries to disable the login end.
    async fn retries_end(&self) -> WorkResult<Time> {
        let mut reads = self.engine.store().read().await?;
        let last = reads.concluded_attempts(self.rotation.id, 1).await?.pop();
        let began = last.and_then(|last| last.completed_at).unwrap_or(self.rotation.created_at);
        Ok(began + self.rotators.timings.grace(&self.rotation) + MAX_RETRY_TIME)
    }

    async fn give_up_retiring(
        &mut self,
        tx: &mut dyn Tx,
        slot: Slot,
        username: &str,
        error: &LockError,
    ) -> WorkResult<()> {
        let (rotation, code) = (self.rotation.id, error.code());
        tracing::error!(%rotation, code, "previous credential not locked, given up");
        self.rotation.slots.retire_at = None;
        let message = format!(
            "the login of the user {username}, whose credential is no longer served, could not be \
             disabled for a day: {error}"
        );
        self.set_failure("not_retired", message);
        let details = [("slot", slot.as_str().into()), ("code", code.into())];
        Ok(self.record_failed(tx, "rotation.retire_failed", &details).await?)
    }
}
