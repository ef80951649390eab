//! Work on one rotation by a worker that holds the lease (the exclusive right to work on it).

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};

use super::super::connection;
use super::super::schedule::{span, work_at};
use super::super::sealing::RotationContext;
use crate::engine::AuditContext;
use crate::engine::{Caller, Engine, Failures, WorkItem};
use crate::model::rotations::is_retried;
use crate::model::{Error, Result, Subject, Time};
use crate::ports::rotator::{DatabaseRotator, Target, TargetError};
use crate::ports::rotators::Rotators;
use crate::store::{AuditRecord, Lease, Reads, RotationRecord, StoreError, StoreResult, Tx};

/// Reason why work on a rotation stops early. A worker resumes the work later from the stored
/// state.
#[derive(Debug)]
pub(crate) enum WorkError {
    /// Another worker has taken the lease, or the rotation was deleted.
    Lost,
    /// The store returned an error, or a stored record cannot be decrypted.
    Failed(Error),
}

/// A rotation whose lease a worker holds, while the worker works on it.
pub(crate) struct Work<'a> {
    pub(super) engine: &'a Engine,
    pub(super) rotators: &'a Rotators,
    pub(super) lease: Lease,
    pub(super) rotation: RotationRecord,
    pub(super) place: Arc<RotationContext>,
}

/// Result of work on a leased rotation.
pub(super) type WorkResult<T> = std::result::Result<T, WorkError>;

impl<'a> Work<'a> {
    /// Loads the rotation that `lease` reserves for this worker; `None` if the rotation was
    /// deleted, or if its project is being purged.
    pub(super) async fn open(
        engine: &'a Engine,
        rotators: &'a Rotators,
        lease: Lease,
    ) -> Result<Option<Self>> {
        let mut reads = engine.store().read().await?;
        Self::open_with(reads.as_mut(), engine, rotators, lease).await
    }

    /// Loads the rotation like [`open`](Self::open), with this reader or transaction.
    pub(super) async fn open_with(
        reads: &mut dyn Reads,
        engine: &'a Engine,
        rotators: &'a Rotators,
        lease: Lease,
    ) -> Result<Option<Self>> {
        let Some(rotation) = reads.rotation(lease.rotation).await? else { return Ok(None) };
        let Some(place) = reads.rotation_location(lease.rotation).await? else { return Ok(None) };
        if place.is_purged() {
            return Ok(None);
        }
        let place = Arc::new(RotationContext::new(engine.keyring(), place)?);
        Ok(Some(Self { engine, rotators, lease, rotation, place }))
    }

    /// Loads and decrypts the connection settings of the rotation's database.
    pub(super) async fn target(&self) -> Result<Target> {
        let mut reads = self.engine.store().read().await?;
        let sealer = self.place.sealer(self.engine.keyring());
        connection::open(self.engine.ports(), &sealer, reads.as_mut(), &self.rotation).await
    }

    /// Returns the driver for the rotation's database.
    pub(super) fn rotator(
        &self,
        target: &Target,
    ) -> std::result::Result<&'a dyn DatabaseRotator, TargetError> {
        self.rotators.driver(self.rotation.settings.method, target)
    }

    /// Begins a transaction in which the rotation's row is locked. Renews the lease and reloads the
    /// rotation.
    pub(super) async fn begin(&mut self) -> WorkResult<Box<dyn Tx>> {
        let mut tx = self.engine.store().begin().await?;
        self.lock_row(tx.as_mut()).await?;
        Ok(tx)
    }

    /// Locks the rotation's row in a transaction, renews the lease and reloads the rotation.
    pub(super) async fn lock_row(&mut self, tx: &mut dyn Tx) -> WorkResult<()> {
        let lease =
            Lease { until: self.engine.now() + span(self.rotators.timings.lease), ..self.lease };
        tx.extend_lease(&lease).await?;
        self.lease = lease;
        self.rotation = tx.rotation(lease.rotation).await?.ok_or(WorkError::Lost)?;
        Ok(())
    }

    /// Stores the rotation and the time of its next work. The rotation's row must be locked, so
    /// that no attempt starts or ends at the same time.
    pub(super) async fn write(&mut self, tx: &mut dyn Tx) -> WorkResult<()> {
        let has_open = tx.open_attempt(self.rotation.id).await?.is_some();
        let now = self.engine.now();
        self.rotation.updated_at = now;
        self.rotation.schedule.work_at = work_at(&self.rotation, has_open, now);
        Ok(tx.update_rotation(&self.rotation).await?)
    }

    /// Sets the error code and message of the rotation, unless its present error needs action by a
    /// user: the code of such an error prevents the service from starting attempts.
    pub(super) fn set_failure(&mut self, code: &str, message: String) {
        let failure = &mut self.rotation.failure;
        if is_retried(failure.code.as_deref()) {
            (failure.code, failure.message) = (Some(code.to_owned()), Some(message));
        }
    }

    /// Lists the rotation as failing in the health report, because its stored records cannot be
    /// decrypted.
    pub(super) fn report_undecryptable(&self) {
        let item = WorkItem::RotationRecord(self.rotation.id);
        self.engine.shared::<Failures>().report_scheduled(item, self.engine.now());
    }

    /// Runs `work` and renews the lease meanwhile. First makes sure that the lease lasts long
    /// enough for one command to the target database. If the lease is lost, cancels `work`.
    pub(super) async fn under_lease<T>(&mut self, work: impl Future<Output = T>) -> WorkResult<T> {
        let timings = self.rotators.timings;
        if must_renew(self.lease.until, self.engine.now(), timings.margin) {
            self.renew().await?;
        }
        let mut work = pin!(work);
        loop {
            let pause = self.rotators.timer.sleep(timings.heartbeat);
            match select(work.as_mut(), pause).await {
                Either::Left((done, _)) => return Ok(done),
                Either::Right(_) => self.renew().await?,
            }
        }
    }

    async fn renew(&mut self) -> WorkResult<()> {
        let tx = self.begin().await?;
        Ok(tx.commit().await?)
    }

    /// Waits for the duration and renews the lease meanwhile.
    pub(super) async fn pause(&mut self, duration: Duration) -> WorkResult<()> {
        let timer = Arc::clone(&self.rotators.timer);
        self.under_lease(async move { timer.sleep(duration).await }).await
    }

    /// Writes an audit entry for a successful action that the service itself performed.
    pub(super) async fn record(
        &self,
        tx: &mut dyn Tx,
        action: &'static str,
        details: &[(&str, serde_json::Value)],
    ) -> StoreResult<()> {
        tx.insert_audit(&[self.entry(action, details)]).await
    }

    /// Writes an audit entry for an action that the service itself performed and that failed.
    pub(super) async fn record_failed(
        &self,
        tx: &mut dyn Tx,
        action: &'static str,
        details: &[(&str, serde_json::Value)],
    ) -> StoreResult<()> {
        let entry = self.entry(action, details);
        tx.insert_audit(&[AuditRecord { outcome: "failure".into(), ..entry }]).await
    }

    fn entry(&self, action: &'static str, details: &[(&str, serde_json::Value)]) -> AuditRecord {
        let place = &self.place.place;
        let mut context = AuditContext {
            team: Some(place.project.team),
            project: Some((place.project.id, place.project.name.to_string())),
            environment: Some((place.environment.id, place.environment.name.to_string())),
            resource: Some((
                "rotation",
                Some(self.rotation.id.uuid()),
                Some(self.rotation.settings.name.to_string()),
            )),
            ..AuditContext::default()
        };
        let details = details.iter().map(|(name, detail)| ((*name).to_owned(), detail.clone()));
        context.details.extend(details);
        context.into_entry(&Caller::system(), action, self.engine.now())
    }
}

/// True if a lease that ends at `until` must be renewed before a command is sent to the target
/// database: less time than `margin` is left.
fn must_renew(until: Time, now: Time, margin: Duration) -> bool {
    until - now < span(margin)
}

impl From<StoreError> for WorkError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Stale(_) => Self::Lost,
            other => Self::Failed(other.into()),
        }
    }
}

impl From<Error> for WorkError {
    fn from(error: Error) -> Self {
        match error {
            Error::Stale(_) | Error::NotFound(Subject::Rotation) => Self::Lost,
            other => Self::Failed(other),
        }
    }
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::testing::fixtures::at;

    #[test]
    fn a_lease_is_renewed_if_less_than_the_margin_is_left() {
        let margin = Duration::from_secs(25);

        let renewed = [125, 124, 99].map(|until| must_renew(at(until), at(100), margin));

        assert_eq!(renewed, [false, true, true]);
    }
}
