//! Rollback: disabling the login of the changed database user again if its new credential cannot be
//! put into the secrets (ext4).

use super::attempt::Attempt;
use super::policy::{Effect, MAX_ROLLBACKS, Reason};
use super::work::WorkResult;
use crate::failpoint;
use crate::model::rotations::{AttemptState, Outcome};
use crate::ports::rotator::{Fault, TargetError};

impl Attempt<'_, '_> {
    /// Stores the state "rolling back" with its reason, before a command is sent to the target
    /// database.
    pub(super) async fn begin_roll_back(&mut self, reason: &Reason) -> WorkResult<()> {
        self.record.error_code = Some(reason.code.to_owned());
        self.record.error_message = Some(reason.message.clone());
        self.enter(AttemptState::RollingBack).await
    }

    /// Disables the login of the changed database user, checks that the credential in the secrets
    /// still works, and ends the attempt.
    pub(super) async fn roll_back(&mut self) -> WorkResult<()> {
        let is_served = self.work.rotation.slots.active == Some(self.record.slot);
        debug_assert!(!is_served, "the served slot must never be locked");
        let locked = if is_served { Ok(()) } else { self.lock().await? };
        failpoint::reached("in-rollback").await;
        self.work.check_served_credential(&self.target).await?;
        let mut reason = self.reason();
        let outcome = match locked {
            Ok(()) => Outcome::RolledBack,
            Err(error) => {
                reason = Reason::new(
                    "not_rolled_back",
                    format!(
                        "{}; and the user {} may still have a password that is not stored: {error}",
                        reason.message, self.login.username
                    ),
                    Effect::Error,
                );
                Outcome::Failed
            }
        };
        self.record = self.work.conclude(self.record.clone(), outcome, reason).await?;
        Ok(())
    }

    async fn lock(&mut self) -> WorkResult<Result<(), TargetError>> {
        let rotator = match self.work.rotator(&self.target) {
            Ok(rotator) => rotator,
            Err(error) => return Ok(Err(error)),
        };
        let (fence, username) = (self.fence(), self.login.username.clone());
        let locked = self.work.under_lease(rotator.lock(&self.target, fence, &username)).await?;
        Ok(match locked {
            // A later attempt has already changed the slot, so do not change it again.
            Err(TargetError { fault: Fault::Fenced, .. }) => Ok(()),
            locked => locked,
        })
    }

    /// Returns the reason for the rollback that is stored with the attempt.
    fn reason(&self) -> Reason {
        let message = self.record.error_message.clone().unwrap_or_default();
        match self.record.error_code.as_deref() {
            Some("deleted") => Reason::new("deleted", message, Effect::Disabled),
            Some("not_verified") => {
                Reason::new("not_verified", message, Effect::BackOff(MAX_ROLLBACKS))
            }
            _ => Reason::new("not_written", message, Effect::Error),
        }
    }
}
