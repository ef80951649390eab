//! Context of an operation: its caller, time, store access and audit entry.

use std::mem;
use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

use super::manifests::Manifests;
use super::{Access, AuditContext, Caller, Engine, Options, Ports, Read, Who, Write, audit_chain};
use crate::crypto::{Keyring, random};
use crate::limits::SharedWindows;
use crate::model::{EnvironmentId, Error, ProjectId, Result, RotationId, TeamId, Time, UserId};
use crate::ports::identity::INVALID_CREDENTIAL;
use crate::ports::memory::ReservedMemory;
use crate::store::{EnvironmentCounters, Reads, StoreResult, Tx};

/// Maximum size of secrets for which no memory is reserved: 64 KiB.
const SMALL: usize = 64 * 1024;

/// Context that an operation runs in: the caller, the time, the store and the audit entry.
///
/// Its methods are defined here and in [`access`](crate::access), which resolves paths and
/// authorizes the caller. A context with [`Read`] access has no method that writes.
pub struct Context<'a, A: Access> {
    pub(crate) caller: &'a Caller,
    pub(crate) audit: AuditContext,
    now: Time,
    pub(crate) engine: &'a Engine,
    session: Box<A::Session>,
    last_lock: Option<Lock>,
    /// Revision and sizes of the environment that [`Lock::Secrets`] locked, as they were when the
    /// lock was acquired.
    pub(crate) locked_counters: EnvironmentCounters,
    /// Manifests of the environments that [`Lock::Secrets`] locked.
    pub(crate) manifests: Manifests,
    /// True if the transaction is rolled back after the operation, so that nothing is changed.
    pub(super) is_dry_run: bool,
    /// Memory that is reserved for the secrets that the operation holds or returns.
    pub(crate) memory: SecretMemory,
}

/// Memory that is reserved for the secrets that an operation holds or returns.
#[derive(Default)]
pub(crate) struct SecretMemory {
    /// Size of the secrets for which memory was requested, in bytes.
    pub(crate) total: usize,
    /// Part of `total` for which no memory is reserved yet.
    unreserved: usize,
    /// Reserved memory, held until it is dropped.
    reserved: Vec<ReservedMemory>,
}

impl SecretMemory {
    /// Releases the memory. The operation must no longer hold the secrets for which the memory was
    /// reserved.
    pub(crate) fn release(&mut self) {
        *self = Self::default();
    }
}

/// Row that a transaction locks until its end. Every transaction locks rows in the order of the
/// variants of this type, which prevents deadlocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lock {
    /// Row of a user who has not deleted their account.
    User(UserId),
    /// Row of a team.
    Team(TeamId),
    /// Row of a project that is not deleted.
    Project(ProjectId),
    /// Row of an environment whose project is not deleted.
    Environment(EnvironmentId),
    /// Stored total size of the secrets of a team. Locked after the rows of the environments to be
    /// written.
    TeamSize(TeamId),
    /// Row of an environment, like `Environment`. Locking it also gives the environment a new
    /// revision.
    Secrets(EnvironmentId),
    /// Row of a rotation.
    Rotation(RotationId),
}

impl<'a, A: Access> Context<'a, A> {
    /// Creates the context of an operation, and opens its reader or transaction. `is_long` is true
    /// for a [long](super::Operation::IS_LONG) operation.
    pub(crate) async fn open(
        engine: &'a Engine,
        caller: &'a Caller,
        is_long: bool,
    ) -> Result<Self> {
        let session = A::open(engine.store(), is_long).await?;
        let (audit, now) = (AuditContext::default(), engine.now());
        let (last_lock, locked_counters, manifests, is_dry_run, memory) = Default::default();
        Ok(Self {
            caller,
            audit,
            now,
            engine,
            session,
            last_lock,
            locked_counters,
            manifests,
            is_dry_run,
            memory,
        })
    }

    /// Returns the time of the operation: the time at which it started or, after it locked a row,
    /// the time of the last lock.
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

    /// Returns the interfaces to the external systems that the service uses (ports).
    #[must_use]
    pub fn ports(&self) -> &'a Ports {
        self.engine.ports()
    }

    /// Returns the keyring of the instance, with its encryption keys.
    pub(crate) fn keyring(&self) -> &'a Keyring {
        self.engine.keyring()
    }

    /// Returns the rate-limit counters that all nodes share.
    pub(crate) fn windows(&self) -> &'a SharedWindows {
        self.engine.windows()
    }

    /// Returns the value of type `T` that all operations in this process share, such as a counter
    /// of attempts. Created by `Default` on first use.
    pub(crate) fn shared<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        self.engine.shared()
    }

    /// Sets the resource that the audit entry of this operation names.
    pub fn set_resource(&mut self, kind: &'static str, id: Uuid, name: impl Into<String>) {
        self.audit.resource = Some((kind, Some(id), Some(name.into())));
    }

    /// Adds a detail to the audit entry of this operation. The detail must not be a secret value.
    pub fn add_detail(&mut self, name: &'static str, detail: impl Into<Value>) {
        self.audit.details.insert(name.to_owned(), detail.into());
    }

    /// Reserves memory for `bytes` bytes of secrets, from the caller's share of the memory budget,
    /// until the output of the operation is returned or the memory is
    /// [released](SecretMemory::release). Waits until the memory is free. A write fails immediately
    /// instead, because other operations may wait for its transaction. Reserves nothing while at
    /// most 64 KiB of the requested memory are unreserved.
    pub(crate) async fn reserve_memory(&mut self, bytes: usize) -> Result<()> {
        self.memory.total += bytes;
        self.memory.unreserved += bytes;
        if self.memory.unreserved <= SMALL {
            return Ok(());
        }
        let (account, bytes) = (self.caller.account(), mem::take(&mut self.memory.unreserved));
        let reserved = if A::IS_WRITE {
            self.engine.try_reserve_memory(account, bytes as u64)?
        } else {
            // Replaces the reader, to release its database connection during the wait. The next
            // read acquires a connection again.
            self.session = A::open(self.engine.store(), false).await?;
            self.engine.reserve_memory(account, bytes as u64).await?
        };
        self.memory.reserved.extend(reserved);
        Ok(())
    }

    /// Consumes the context and returns its reader or its open transaction, which is not committed
    /// yet.
    pub(crate) fn into_session(self) -> Box<A::Session> {
        self.session
    }

    /// Splits the context after the operation has run: into the reader or transaction, the audit
    /// context and the time.
    pub(super) fn into_parts(self) -> (Box<A::Session>, AuditContext, Time) {
        (self.session, self.audit, self.now)
    }
}

impl Context<'_, Read> {
    /// Moves the audit entries of all completed reads from batches to the audit log, so that a
    /// query of the log finds them. The reader's database connection is released first, because
    /// this function can wait for other callers. The next read acquires a connection again.
    pub(crate) async fn complete_audit_log(&mut self) -> StoreResult<()> {
        self.session = self.engine.store().read().await?;
        audit_chain::seal_batches(self.engine).await.map(drop)
    }
}

impl Context<'_, Write> {
    /// Moves the audit entries of all completed reads from batches to the audit log, so that a
    /// query of the log finds them.
    pub(crate) async fn complete_audit_log(&mut self) -> StoreResult<()> {
        audit_chain::expand_batches(self.tx()).await
    }

    /// Makes the operation a dry run: if it succeeds, the transaction is rolled back instead of
    /// committed, and the changes have no audit entries. A dry run therefore fails in the same
    /// cases as a real run. `reads` become the only audit entries, because the caller learns the
    /// results of reads also from a dry run; if they cannot be written, the operation fails.
    pub(crate) fn roll_back_afterwards(&mut self, reads: impl IntoIterator<Item = AuditContext>) {
        self.is_dry_run = true;
        self.audit.skips_audit = true;
        self.audit.others = reads.into_iter().collect();
    }

    /// Returns the open transaction, for reads and writes.
    pub fn tx(&mut self) -> &mut dyn Tx {
        self.session.as_mut()
    }

    /// Locks a row until the end of the transaction, then reads the clock again, so that changes
    /// that waited for each other are recorded in the order in which they happened. Fails with
    /// `Stale` if the row does not exist, and as unauthenticated if the caller's credential has
    /// ended during the wait.
    pub(crate) async fn lock(&mut self, row: Lock) -> Result<()> {
        self.lock_all(&[row]).await
    }

    /// Locks rows in the given order, like [`lock`](Self::lock).
    pub(crate) async fn lock_all(&mut self, rows: &[Lock]) -> Result<()> {
        for row in rows {
            debug_assert!(self.last_lock < Some(*row), "locked out of order, or twice: {row:?}");
            self.last_lock = Some(*row);
            let tx = self.tx();
            match *row {
                Lock::User(user) => tx.lock_user(user).await?,
                Lock::Team(team) => tx.lock_team(team).await?,
                Lock::Project(project) => tx.lock_project(project).await?,
                Lock::Environment(environment) => tx.lock_environment(environment).await?,
                Lock::TeamSize(team) => tx.lock_team_size(team).await?,
                Lock::Secrets(environment) => {
                    let step = revision_step();
                    let counters = tx.touch_environment(environment, step).await?;
                    let before = counters.revision.saturating_sub(step.into());
                    let keyring = self.engine.keyring();
                    self.manifests.open(keyring, environment, &counters, before);
                    self.locked_counters = counters;
                }
                Lock::Rotation(rotation) => tx.lock_rotation(rotation).await?,
            }
        }
        self.now = self.engine.now();
        check_credential(self).await
    }
}

/// Fails if the caller's credential is no longer valid: a service token that was rotated, was
/// deleted or has expired, or a session that was revoked or has expired. A token of the identity
/// provider ends only by its own expiry, which was checked when the request arrived.
async fn check_credential(cx: &mut Context<'_, Write>) -> Result<()> {
    let now = cx.now;
    let caller = cx.caller;
    match &caller.who {
        Who::Token(token) => {
            let stored = cx.reads().token_by_mac(&token.mac).await?.ok_or(INVALID_CREDENTIAL)?;
            if stored.id != token.id || !stored.has_mac(&token.mac, now) {
                return Err(INVALID_CREDENTIAL);
            }
            if stored.is_expired(now) { Err(Error::Expired) } else { Ok(()) }
        }
        Who::Person(person) => {
            let Some(used) = &person.session else { return Ok(()) };
            let sessions = cx.reads().sessions(person.user.id).await?;
            let session = sessions.into_iter().find(|session| session.id == used.id);
            let session = session.ok_or(INVALID_CREDENTIAL)?;
            if session.expires_at <= now { Err(Error::Expired) } else { Ok(()) }
        }
        Who::Unsynced(_) | Who::Anonymous | Who::System => Ok(()),
    }
}

/// Returns a random number by which the revision of an environment increases. After a restored
/// backup or a failover that lost the last commits, new revisions and ETags therefore differ from
/// the lost ones.
fn revision_step() -> u32 {
    1 + (u32::from_be_bytes(random()) >> 1)
}
