//! Context of an operation.

use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

use super::{Access, AuditContext, Caller, Engine, Options, Ports, Read, Write, audit_chain};
use crate::crypto::{Keyring, random};
use crate::model::{EnvironmentId, ProjectId, Result, RotationId, TeamId, Time, UserId};
use crate::store::{Reads, StoreResult, Tx};

/// Context that an operation runs in: the caller, the time, the store and the audit entry.
///
/// Its methods are defined here and in [`access`](crate::access), which resolves paths and
/// authorizes the caller. With the access [`Read`](super::Read), there is no method that writes.
pub struct Context<'a, A: Access> {
    pub(crate) caller: &'a Caller,
    pub(crate) audit: AuditContext,
    now: Time,
    engine: &'a Engine,
    session: Box<A::Session>,
    last_lock: Option<Lock>,
    /// Size of the secrets of the environment of [`Lock::Secrets`] when it was locked.
    locked_size: u64,
}

/// Row that a transaction locks until its end. Rows are locked in the order of this type, so that
/// transactions do not wait for each other in a circle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lock {
    /// User who has not deleted their account.
    User(UserId),
    /// Team.
    Team(TeamId),
    /// Project that is not deleted.
    Project(ProjectId),
    /// Environment of a project that is not deleted.
    Environment(EnvironmentId),
    /// Like `Environment`, and the environment gets a new revision.
    Secrets(EnvironmentId),
    /// Rotation.
    Rotation(RotationId),
}

impl<'a, A: Access> Context<'a, A> {
    /// Creates the context of an operation and opens its reader or transaction.
    pub(crate) async fn open(engine: &'a Engine, caller: &'a Caller) -> Result<Self> {
        let session = A::open(engine.store()).await?;
        let (audit, now) = (AuditContext::default(), engine.now());
        Ok(Self { caller, audit, now, engine, session, last_lock: None, locked_size: 0 })
    }

    /// Returns the time of the operation: the time it began, or took its last lock.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the read methods of the store.
    pub fn reads(&mut self) -> &mut dyn Reads {
        A::reads(&mut self.session)
    }

    /// Returns the options of the service.
    #[must_use]
    pub fn options(&self) -> &'a Options {
        self.engine.options()
    }

    /// Returns the ports of the service.
    #[must_use]
    pub fn ports(&self) -> &'a Ports {
        self.engine.ports()
    }

    /// Returns the encryption keys of the instance.
    pub(crate) fn keyring(&self) -> &'a Keyring {
        self.engine.keyring()
    }

    /// Returns the state of type `T` that operations share in this process, such as a counter of
    /// attempts.
    pub(crate) fn shared<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        self.engine.shared()
    }

    /// Sets the resource of the audit entry.
    pub fn set_resource(&mut self, kind: &'static str, id: Uuid, name: impl Into<String>) {
        self.audit.resource = Some((kind, Some(id), Some(name.into())));
    }

    /// Adds a detail to the audit entry. The detail must not be a secret value.
    pub fn add_detail(&mut self, name: &'static str, detail: impl Into<Value>) {
        self.audit.details.insert(name.to_owned(), detail.into());
    }

    /// Returns the reader or transaction, to be committed by the calling code.
    pub(crate) fn into_session(self) -> Box<A::Session> {
        self.session
    }

    /// Splits the context, after the operation has run, into session, audit context and time.
    pub(super) fn into_parts(self) -> (Box<A::Session>, AuditContext, Time) {
        (self.session, self.audit, self.now)
    }
}

impl Context<'_, Read> {
    /// Lets the audit log contain the entries of all reads that were answered before.
    pub(crate) async fn complete_audit_log(&mut self) -> StoreResult<()> {
        audit_chain::seal_batches(self.engine, self.session.as_mut()).await.map(drop)
    }
}

impl Context<'_, Write> {
    /// Lets the audit log contain the entries of all reads that were answered before.
    pub(crate) async fn complete_audit_log(&mut self) -> StoreResult<()> {
        audit_chain::expand_batches(self.tx()).await
    }

    /// Returns the transaction.
    pub fn tx(&mut self) -> &mut dyn Tx {
        self.session.as_mut()
    }

    /// Returns the size of the secrets of the locked environment before the changes of this
    /// transaction, in bytes.
    pub(crate) fn locked_size(&self) -> u64 {
        self.locked_size
    }

    /// Locks a row until the end of the transaction, then reads the clock again, so that changes
    /// that waited for each other are recorded in the order in which they happened. Fails with
    /// `Stale` if the row does not exist.
    pub(crate) async fn lock(&mut self, row: Lock) -> StoreResult<()> {
        debug_assert!(self.last_lock < Some(row), "locked out of order, or twice: {row:?}");
        self.last_lock = Some(row);
        let tx = self.tx();
        match row {
            Lock::User(user) => tx.lock_user(user).await?,
            Lock::Team(team) => tx.lock_team(team).await?,
            Lock::Project(project) => tx.lock_project(project).await?,
            Lock::Environment(environment) => tx.lock_environment(environment).await?,
            Lock::Secrets(environment) => {
                let counters = tx.touch_environment(environment, revision_step()).await?;
                self.locked_size = counters.size;
            }
            Lock::Rotation(rotation) => tx.lock_rotation(rotation).await?,
        }
        self.now = self.engine.now();
        Ok(())
    }
}

/// Returns a random increment of a revision. A revision that is made again, after a restored backup or
/// the loss of the last commits in a failover, is then another one, and so is the ETag.
fn revision_step() -> u32 {
    1 + (u32::from_be_bytes(random()) >> 1)
}
