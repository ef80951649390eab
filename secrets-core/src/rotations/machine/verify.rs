//! Logging in with the new credential before it is written to the secrets (ext2 in the [module
//! docs](super)).

use std::time::Duration;

use super::super::draw_password;
use super::attempt::Attempt;
use super::policy::{Effect, MAX_ROLLBACKS, Reason};
use super::work::WorkResult;
use crate::failpoint;
use crate::model::rotations::{AttemptState, TriggerType};
use crate::ports::rotator::{Fault, Login, TargetError};
use crate::ports::rotators::Timings;

/// Maximum delay between two login attempts.
const MAX_DELAY: Duration = Duration::from_secs(8);

/// Warning about a database server that does not check passwords.
const ANY_PASSWORD_ACCEPTED: &str = "the server accepts any password for the rotated user";

impl Attempt<'_, '_> {
    /// Tries to log in with the new credential until a login succeeds or the timeout ends. The
    /// first tries may fail, because a new password may take time to reach all servers of a
    /// database.
    pub(super) async fn verify(&mut self) -> WorkResult<()> {
        let mut left = verify_timeout(&self.work.rotators.timings, self.record.trigger);
        let mut pause = Duration::from_secs(1);
        while let Err(error) = self.log_in(self.login.clone()).await? {
            if left.is_zero() {
                let message = format!("the new credential did not work: {error}");
                let reason = Reason::new("not_verified", message, Effect::BackOff(MAX_ROLLBACKS));
                return self.begin_roll_back(&reason).await;
            }
            let next = pause.min(left);
            self.work.pause(next).await?;
            left -= next;
            pause = (pause * 2).min(MAX_DELAY);
        }
        failpoint::reached("in-login").await;
        // Try only once: some servers lock accounts after several failed logins.
        let wrong = Login { password: draw_password(), ..self.login.clone() };
        if self.log_in(wrong).await?.is_ok() {
            self.record.error_code = Some("trust".to_owned());
            self.record.error_message = Some(ANY_PASSWORD_ACCEPTED.to_owned());
        }
        self.enter(AttemptState::Verified).await?;
        failpoint::reached("after-login").await;
        Ok(())
    }

    pub(super) async fn log_in(&mut self, login: Login) -> WorkResult<Result<(), TargetError>> {
        let rotator = match self.work.rotator(&self.target) {
            Ok(rotator) => rotator,
            Err(error) => return Ok(Err(error)),
        };
        let level = self.work.rotation.settings.level;
        let verified = self.work.under_lease(rotator.verify(&self.target, &login, level)).await?;
        // The rotated user logs in here, not the administrator, so report its login as rejected.
        Ok(verified.map_err(|error| match error.fault {
            Fault::AdminRejected => TargetError { fault: Fault::LoginRejected, ..error },
            _ => error,
        }))
    }
}

/// Returns the time within which a login with the new credential must succeed. For a manual
/// rotation, this time is short enough that a rollback can finish before the timeout of the
/// rotation.
fn verify_timeout(timings: &Timings, trigger: TriggerType) -> Duration {
    match trigger {
        TriggerType::Scheduled => timings.verify,
        TriggerType::Manual => timings.verify.min(timings.budget / 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_rotation_tries_the_login_for_at_most_half_of_its_time() {
        use TriggerType::{Manual, Scheduled};
        let seconds = Duration::from_secs;

        for (trigger, verify, budget, expected) in [
            (Manual, 60, 45, Duration::from_millis(22_500)),
            (Manual, 20, 45, seconds(20)),
            (Scheduled, 60, 45, seconds(60)),
        ] {
            let (verify, budget) = (seconds(verify), seconds(budget));
            let timings = Timings { verify, budget, ..Timings::default() };

            assert_eq!(verify_timeout(&timings, trigger), expected, "{trigger:?} {verify:?}");
        }
    }
}
