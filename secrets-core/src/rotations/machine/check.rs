//! Checks that the credential in the secrets can still log in to the database.

use super::super::keys::InjectedKeys;
use super::super::schedule::span;
use super::super::slot_user;
use super::work::{Work, WorkResult};
use crate::access::EnvironmentScope;
use crate::engine::{Caller, Context, Read};
use crate::model::rotations::RotationStatus;
use crate::model::{Error, Result};
use crate::ports::rotator::{Fault, Login, Target};
use crate::secrets::sealing::open_value;

/// Error message of a rotation if the database server rejects the credential in the secrets.
const DRIFT: &str =
    "the server rejects the served credential: it was changed outside of this service";

impl Work<'_> {
    /// Checks the credential in the secrets and schedules the next check. Schedules it even if the
    /// stored records cannot be decrypted: otherwise, the due check would block all attempts.
    pub(super) async fn check(&mut self) -> WorkResult<()> {
        match self.target().await {
            Ok(target) => self.check_served_credential(&target).await?,
            Err(Error::Internal(_)) => self.report_undecryptable(),
            Err(error) => return Err(error.into()),
        }
        let checks = self.rotators.timings.checks;
        let mut tx = self.begin().await?;
        self.rotation.slots.checks = self.rotation.slots.checks.saturating_add(1);
        let next = usize::try_from(self.rotation.slots.checks).unwrap_or(usize::MAX);
        let pause = checks.get(next).or(checks.last()).copied().unwrap_or_default();
        self.rotation.slots.check_at = Some(self.engine.now() + span(pause));
        self.write(tx.as_mut()).await?;
        Ok(tx.commit().await?)
    }

    /// Checks that the credential in the secrets can log in. If the target database rejects it,
    /// stores an error and makes an active rotation due immediately, to replace the credential. If
    /// the target is unreachable, or if the credential cannot be decrypted, changes nothing.
    pub(super) async fn check_served_credential(&mut self, target: &Target) -> WorkResult<()> {
        let login = match self.served_login().await {
            Ok(Some(login)) => login,
            Ok(None) => return Ok(()),
            Err(Error::Internal(_)) => {
                self.report_undecryptable();
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let (Ok(rotator), level) = (self.rotator(target), self.rotation.settings.level) else {
            return Ok(());
        };
        let verified = self.under_lease(rotator.verify(target, &login, level)).await?;
        let is_refused = matches!(verified, Err(error) if error.fault == Fault::LoginRejected);
        let is_known = self.rotation.failure.code.as_deref() == Some("drift");
        if !is_refused || is_known {
            return Ok(());
        }
        let mut tx = self.begin().await?;
        self.set_failure("drift", DRIFT.to_owned());
        if self.rotation.status == RotationStatus::Active {
            self.rotation.schedule.next_at = self.engine.now();
        }
        self.write(tx.as_mut()).await?;
        self.record(tx.as_mut(), "rotation.drifted", &[]).await?;
        Ok(tx.commit().await?)
    }

    /// Loads the credential that is in the secrets; `None` before the first successful rotation.
    async fn served_login(&self) -> Result<Option<Login>> {
        let Some(slot) = self.rotation.slots.active else { return Ok(None) };
        let caller = Caller::system();
        let mut cx = Context::<Read>::open(self.engine, &caller, false).await?;
        let scope = EnvironmentScope::of_rotation(&cx, self.place.place.clone())?;
        let keys = InjectedKeys::from_text(&self.rotation.settings.keys)?;
        let found = cx.reads().secrets(scope.environment.id, &[keys.password]).await?;
        let Some(secret) = found.into_iter().next() else { return Ok(None) };
        let password = open_value(&mut cx, &scope, &secret).await?;
        Ok(Some(Login { username: slot_user(self.rotation.id, slot), password }))
    }
}
