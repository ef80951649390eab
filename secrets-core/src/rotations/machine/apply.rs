//! Setting a new password for the slot (database user) whose credential is not in the secrets (step
//! ext1 in the [module docs](super)).

use std::time::Duration;

use super::super::sealing::SealedField;
use super::super::{draw_password, group_role};
use super::attempt::Attempt;
use super::policy::{Reaction, Reason};
use super::work::WorkResult;
use crate::failpoint;
use crate::model::rotations::{AttemptState, Outcome};
use crate::ports::rotator::{Applied, Apply, Fault, Fence, TargetError};

impl Attempt<'_, '_> {
    /// Sets the password at the target database, and retries after errors that a retry may resolve.
    /// Unless the target rejects the password, retries send the same password again, so it does not
    /// matter whether an earlier command succeeded.
    pub(super) async fn apply(&mut self) -> WorkResult<()> {
        let mut pauses = self.work.rotators.timings.retries.into_iter();
        let (mut at_once, mut passwords) = (0, 0);
        loop {
            self.record.tries += 1;
            self.enter(AttemptState::Applying).await?;
            failpoint::reached("before-apply").await;
            let error = match self.send().await? {
                Ok(applied) => {
                    failpoint::reached("after-apply").await;
                    return self.applied(applied).await;
                }
                Err(error) => error,
            };
            if error.fault.has_unknown_result() {
                // The next try or the end of the attempt stores this error code.
                self.record.error_code = Some(error.fault.code().to_owned());
            }
            if error.fault == Fault::Fenced {
                let rotation = self.record.rotation;
                let version = self.record.sequence;
                tracing::warn!(%rotation, version, "refused: the target has seen a later attempt");
            }
            let pause = match error.fault.reaction() {
                Reaction::Again => pauses.next(),
                Reaction::RetryImmediately(most) => {
                    at_once += 1;
                    (at_once <= most).then_some(Duration::ZERO)
                }
                Reaction::RetryWithNewPassword(most) => {
                    passwords += 1;
                    self.replace_password();
                    (passwords <= most).then_some(Duration::ZERO)
                }
                Reaction::GiveUp => None,
            };
            match pause {
                Some(Duration::ZERO) => {}
                Some(pause) => self.work.pause(pause).await?,
                None => return self.fail(error.into()).await,
            }
        }
    }

    async fn send(&mut self) -> WorkResult<Result<Applied, TargetError>> {
        let rotator = match self.work.rotator(&self.target) {
            Ok(rotator) => rotator,
            Err(error) => return Ok(Err(error)),
        };
        let apply = Apply {
            fence: self.fence(),
            group: group_role(self.record.rotation),
            login: self.login.clone(),
            level: self.work.rotation.settings.level,
            identity: self.work.rotation.identity.clone(),
        };
        self.work.under_lease(rotator.apply(&self.target, &apply)).await
    }

    pub(super) fn fence(&self) -> Fence {
        Fence { rotation: self.record.rotation, sequence: self.record.sequence }
    }

    /// Stores that the target database accepted the new password (tx2 in the [module docs](super)).
    async fn applied(&mut self, applied: Applied) -> WorkResult<()> {
        self.record.state = AttemptState::Applied;
        self.record.error_code = None;
        if applied.sent_in_clear {
            self.record.error_code = Some("sent_in_clear".to_owned());
            self.record.error_message = Some(
                "the server does not accept password hashes, so the password itself was sent, over verified TLS"
                    .to_owned(),
            );
        }
        let mut tx = self.work.begin().await?;
        tx.update_attempt(&self.record).await?;
        if is_new_identity(applied.identity.as_deref(), self.work.rotation.identity.as_deref()) {
            self.work.rotation.identity = applied.identity;
            self.work.write(tx.as_mut()).await?;
        }
        tx.commit().await?;
        failpoint::reached("before-login").await;
        Ok(())
    }

    /// Replaces a password that the target database rejected by a new random password. The caller
    /// must store the attempt before sending the new password.
    fn replace_password(&mut self) {
        self.login.password = draw_password();
        let sealer = self.work.place.sealer(self.work.engine.keyring());
        let kept = SealedField::Pending(self.record.id, self.record.sequence);
        self.record.pending = Some(sealer.seal(kept, &self.login.password));
    }

    /// Ends the attempt as failed. Called if the target database did not confirm the new password.
    async fn fail(&mut self, reason: Reason) -> WorkResult<()> {
        self.record = self.work.conclude(self.record.clone(), Outcome::Failed, reason).await?;
        Ok(())
    }
}

/// True if the identity that the server returned must be stored, because it differs from the stored
/// identity. A server that returns none does not change the stored identity.
fn is_new_identity(returned: Option<&str>, stored: Option<&str>) -> bool {
    returned.is_some() && returned != stored
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_stored_if_the_server_returns_another() {
        for (returned, stored, is_new) in [
            (Some("a"), None, true),
            (Some("b"), Some("a"), true),
            (Some("a"), Some("a"), false),
            (None, Some("a"), false),
            (None, None, false),
        ] {
            assert_eq!(is_new_identity(returned, stored), is_new, "{returned:?} {stored:?}");
        }
    }
}
