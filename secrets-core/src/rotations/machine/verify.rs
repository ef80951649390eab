//! ext2: logging in with the new credential before anybody is given it.

use std::time::Duration;

use super::super::draw_password;
use super::attempt::Attempt;
use super::policy::{Effect, ROLLED_BACK, Reason};
use super::work::Held;
use crate::failpoint;
use crate::model::rotations::{AttemptState, TriggerType};
use crate::ports::rotator::{Fault, Login, TargetError};

/// The longest pause between two logins.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// What is said of a target that lets in whoever comes.
const TRUSTS: &str = "the server lets the rotated user in with any password";

impl Attempt<'_, '_> {
    /// Logs in until it works, for as long as a change may take to arrive everywhere.
    pub(super) async fn verify(&mut self) -> Held<()> {
        let mut left = self.patience();
        let mut pause = Duration::from_secs(1);
        while let Err(error) = self.log_in(self.login.clone()).await? {
            if left.is_zero() {
                let message = format!("the new credential did not work: {error}");
                let reason = Reason::new("not_verified", message, Effect::BackOff(ROLLED_BACK));
                return self.begin_roll_back(&reason).await;
            }
            let next = pause.min(left);
            self.work.pause(next).await?;
            left -= next;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        failpoint::reached("K7").await;
        // Once, as some servers shut out who fails often.
        let wrong = Login { password: draw_password(), ..self.login.clone() };
        if self.log_in(wrong).await?.is_ok() {
            self.record.error_code = Some("trust".to_owned());
            self.record.error_message = Some(TRUSTS.to_owned());
        }
        self.enter(AttemptState::Verified).await?;
        failpoint::reached("K8").await;
        Ok(())
    }

    /// How long a change may take to work: where somebody waits for the end, so long that it can be
    /// rolled back before they are told that it took too long.
    fn patience(&self) -> Duration {
        let timings = self.work.rotators.timings;
        match self.record.trigger {
            TriggerType::Scheduled => timings.verify,
            TriggerType::Manual => timings.verify.min(timings.budget / 2),
        }
    }

    pub(super) async fn log_in(&mut self, login: Login) -> Held<Result<(), TargetError>> {
        let rotator = match self.work.rotator(&self.target) {
            Ok(rotator) => rotator,
            Err(error) => return Ok(Err(error)),
        };
        let level = self.work.rotation.level;
        let verified = self.work.under_lease(rotator.verify(&self.target, &login, level)).await?;
        // What the administrator would hear is of no interest here.
        Ok(verified.map_err(|error| match error.fault {
            Fault::AdminRejected => TargetError { fault: Fault::LoginRejected, ..error },
            _ => error,
        }))
    }
}
