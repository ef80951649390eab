//! Storage of all records: the traits a store implements, and the records they read and write.
//!
//! A [`Store`] creates readers ([`Reads`]) and transactions ([`Tx`]). The traits are separate, so
//! that code that writes through a reader does not compile. Writes of a transaction are visible to
//! later reads of the same transaction and, after [`Tx::commit`], all together to everyone.
//! Dropping a transaction rolls it back.
//!
//! Lookups return `Option`; lists have a defined order. [`MemoryStore`] is the reference
//! implementation.
//!
//! # Adding a store
//!
//! 1. Implement [`Store`] for a type that is `Send + Sync`. Its [`read`](Store::read) and
//!    [`begin`](Store::begin) return one type each: a reader and a transaction, usually one generic
//!    type over a connection, as in `memory/mod.rs` and `sql/tables/mod.rs`.
//! 2. Implement the `…Reads` traits, one per table, for both types. [`Reads`] needs no code: it is
//!    implemented for every type that implements all of them.
//! 3. Implement the `…Writes` traits and [`Tx`] for the transaction only. A transaction sees its
//!    own writes, and dropping it without a commit rolls everything back.
//! 4. Map the failures of the storage engine to [`StoreError`]: `Duplicate` for a unique value that
//!    is taken, `Stale` for a conditional write that found no matching row, `Unavailable` for
//!    temporary failures (network, locks, disk space, serialization conflicts), `Corrupt` for
//!    everything else. After `Duplicate` or `Stale`, the transaction must stay usable, so use a
//!    conditional insert or a savepoint where the engine aborts a transaction on an error. After
//!    `Corrupt`, the caller drops the transaction. Error texts must not contain stored or bound
//!    values.
//! 5. Until the transaction ends, keep the rows locked that it updated or that a `lock_…` method
//!    locked. A store that runs one write transaction at a time needs no code for this.
//! 6. Run the conformance suite, one test per rule of this contract. Add a module to
//!    `secrets-core/tests/stores.rs`, or in another crate enable the feature `testing` of
//!    `secrets-core` in the dev-dependencies and add `tokio` with its multi-threaded runtime:
//!
//! ```text
//! async fn open() -> (Arc<dyn Store>, TempDir) { … }
//! crate::store_conformance!(open);
//! ```
//!
//! `open` returns an empty store for each test, and a guard that keeps its database alive. Run the
//! suite with `cargo test -p secrets-core --features testing --test stores`, plus the feature of
//! the store. The rules are in `src/testing/conformance`, one file per table: a rule's name says
//! what must hold, its code shows how the methods are called.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::model::{Cause, Code, Error, Subject, Time};

mod audit;
mod device_logins;
mod environments;
mod instance;
mod invitations;
mod keys;
mod memory;
mod open;
mod outbox;
mod permissions;
mod projects;
mod rotations;
mod scans;
mod secrets;
mod sessions;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub mod sql;
mod teams;
mod tokens;
mod usage;
mod users;
mod webhooks;

pub use audit::{
    ANONYMIZATION_MARGIN, ActionFilter, AuditBatch, AuditFilter, AuditHead, AuditOrder, AuditReads,
    AuditRecord, AuditScope, AuditSeal, AuditWrites, ChainExtension,
};
pub use device_logins::{
    DeviceClient, DeviceLoginReads, DeviceLoginRecord, DeviceLoginWrites, DeviceStatus,
};
pub use environments::{
    ChainLink, EnvironmentCounters, EnvironmentReads, EnvironmentRecord, EnvironmentWrites,
    ManifestRecord, ResolvedEnvironment, Selection,
};
pub use instance::{InstanceReads, InstanceWrites, Sample, StoreSize};
pub use invitations::{InvitationReads, InvitationRecord, InvitationWrites};
pub use keys::{KeyReads, KeyWrites, ProjectKeyCounts, ReplacedKey, SealedColumn, SealedRow};
pub use memory::MemoryStore;
pub use open::{
    Location, SchemaState, StoreOptions, Timeouts, backup, inspect, is_in_use, open,
    open_read_only, open_shared, open_with,
};
pub use outbox::{DeliveryRecord, OutboxReads, OutboxWrites};
pub use permissions::{
    EnvironmentDefault, PermissionDefault, PermissionReads, PermissionRecord, PermissionWrites,
};
pub use projects::{
    ProjectReads, ProjectRecord, ProjectRelation, ProjectWrites, PurgeProgress, Relation,
};
pub use rotations::{
    AttemptRecord, DueRotation, Lease, RotationFailure, RotationLocation, RotationReads,
    RotationRecord, RotationSchedule, RotationSettings, RotationSlots, RotationWrites,
};
pub use scans::{FindingRecord, KeptScans, ScanReads, ScanRecord, ScanWrites, SecretLocation};
pub use secrets::{Change, MAX_PRUNED, SecretReads, SecretRecord, SecretVersion, SecretWrites};
pub use sessions::{SessionReads, SessionRecord, SessionWrites};
#[cfg(feature = "sqlite")]
pub use sql::sqlite::Restore;
pub use teams::{MemberRecord, Membership, TeamReads, TeamRecord, TeamUsage, TeamWrites};
pub use tokens::{
    NewCredential, PreviousToken, TokenReads, TokenRecord, TokenScope, TokenUse, TokenWrites,
};
pub use usage::{CacheUsage, PoolUsage, StoreUsage};
pub use users::{UserReads, UserRecord, UserWrites};
pub use webhooks::{WebhookDeliveryRecord, WebhookReads, WebhookRecord, WebhookWrites};

/// Result of a store method: a value, or a `StoreError`.
pub type StoreResult<T> = Result<T, StoreError>;

/// A database of records, shared by all requests.
#[async_trait]
pub trait Store: Send + Sync {
    /// Creates a reader. Each call of a method of the reader returns everything that was committed
    /// before that call. A reader takes no locks.
    async fn read(&self) -> StoreResult<Box<dyn Reads>>;

    /// Creates a reader for queries of the audit log, which can read thousands of entries. Its
    /// connections are not those of [`read`](Self::read), so that reads of secrets do not wait for
    /// such queries.
    async fn read_audit_log(&self) -> StoreResult<Box<dyn Reads>> {
        self.read().await
    }

    /// Begins a transaction. Dropping it without a commit rolls it back.
    async fn begin(&self) -> StoreResult<Box<dyn Tx>>;

    /// Begins a transaction like [`begin`](Self::begin), but the wait for the transaction and its
    /// SQL statements have the shorter timeout of reads, so that a request or worker fails soon if
    /// the store stalls. `is_long` must be true for a transaction that can take seconds: otherwise,
    /// short transactions could share its commit and would have to wait for its end.
    async fn begin_for_request(&self, _is_long: bool) -> StoreResult<Box<dyn Tx>> {
        self.begin().await
    }

    /// Stores audit entries of reads as one record, a batch (see
    /// [`AuditWrites::insert_audit_batch`]), and commits the batch. Does not wait for transactions
    /// that are still waiting in [`begin`](Self::begin), so that a queue of writes does not delay
    /// reads.
    async fn insert_audit_batch(&self, entries: &Arc<[AuditRecord]>) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        tx.insert_audit_batch(entries).await?;
        tx.commit().await
    }

    /// Closes the store, after its last use. Afterwards, the main file of an SQLite database
    /// contains all data, and the `-wal` file next to it is not needed, unless another process, such
    /// as a backup, reads the database at this time.
    async fn close(&self) -> StoreResult<()> {
        Ok(())
    }

    /// True if no two transactions run at the same time, so that the data that a transaction has
    /// read does not change until its end, even without locks.
    fn is_exclusive(&self) -> bool {
        false
    }

    /// True if calls wait for the store and none has been answered for some seconds. Does not access
    /// the database.
    fn is_stalled(&self) -> bool {
        false
    }

    /// Checks that the store can be read, and that it responds to calls in progress. Returns the
    /// current time of the database server; `None` if the store has no server.
    async fn ping(&self) -> StoreResult<Option<Time>>;

    /// Returns the state of the store's connections and cache, for metrics. Does not access the
    /// database.
    fn usage(&self) -> StoreUsage {
        StoreUsage::default()
    }
}

/// Read access to all tables.
pub trait Reads:
    AuditReads
    + DeviceLoginReads
    + EnvironmentReads
    + InstanceReads
    + InvitationReads
    + KeyReads
    + OutboxReads
    + PermissionReads
    + ProjectReads
    + RotationReads
    + ScanReads
    + SecretReads
    + SessionReads
    + TeamReads
    + TokenReads
    + UserReads
    + WebhookReads
    + Send
{
}

impl<T> Reads for T where
    T: AuditReads
        + DeviceLoginReads
        + EnvironmentReads
        + InstanceReads
        + InvitationReads
        + KeyReads
        + OutboxReads
        + PermissionReads
        + ProjectReads
        + RotationReads
        + ScanReads
        + SecretReads
        + SessionReads
        + TeamReads
        + TokenReads
        + UserReads
        + WebhookReads
        + Send
{
}

/// A transaction that can read and write all tables.
#[async_trait]
pub trait Tx:
    Reads
    + AuditWrites
    + DeviceLoginWrites
    + EnvironmentWrites
    + InstanceWrites
    + InvitationWrites
    + KeyWrites
    + OutboxWrites
    + PermissionWrites
    + ProjectWrites
    + RotationWrites
    + ScanWrites
    + SecretWrites
    + SessionWrites
    + TeamWrites
    + TokenWrites
    + UserWrites
    + WebhookWrites
{
    /// Commits the transaction: makes all its writes durable, and visible to others.
    async fn commit(self: Box<Self>) -> StoreResult<()>;

    /// Rolls the transaction back. In contrast to a drop, waits until the transactions whose
    /// uncommitted changes this transaction has read are committed. Fails if their commit fails.
    async fn roll_back(self: Box<Self>) -> StoreResult<()>;
}

/// Error of a store method.
#[derive(Debug)]
pub enum StoreError {
    /// Another record already has the same unique value.
    Duplicate(Subject),
    /// The record was deleted, or was changed since the caller read it.
    Stale(Subject),
    /// The result is larger than the maximum that the store returns from one call.
    TooLarge(&'static str),
    /// The store cannot be reached, or has no space left; a retry may succeed.
    Unavailable(Cause),
    /// The store returned or refused data unexpectedly: a record cannot be decoded, or an SQL
    /// statement failed for a reason that a retry does not fix.
    Corrupt(Cause),
}

impl StoreError {
    /// Converts this error to an error of an operation. `Stale` becomes "not found" of this kind of
    /// resource. Used where `Stale` can only mean that the record was deleted.
    pub(crate) fn or_not_found(self, subject: Subject) -> Error {
        Error::from(self).or_not_found(subject)
    }

    /// Converts this error to an error of an operation. `Duplicate` becomes the given error
    /// `taken`.
    pub(crate) fn taken(self, taken: Error) -> Error {
        match self {
            Self::Duplicate(_) => taken,
            other => other.into(),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate(subject) => write!(f, "this {subject} exists already"),
            Self::Stale(subject) => write!(f, "this {subject} changed since it was read"),
            Self::TooLarge(reason) => f.write_str(reason),
            Self::Unavailable(_) => f.write_str("the store cannot be reached"),
            Self::Corrupt(_) => f.write_str("the store failed"),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unavailable(cause) | Self::Corrupt(cause) => Some(cause.as_ref()),
            Self::Duplicate(_) | Self::Stale(_) | Self::TooLarge(_) => None,
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Duplicate(subject) => Self::Conflict(subject),
            StoreError::Stale(subject) => Self::Stale(subject),
            StoreError::TooLarge(reason) => {
                Self::Refused { code: Code::AnswerTooLarge, reason: reason.into() }
            }
            StoreError::Unavailable(cause) => Self::Unavailable(cause),
            StoreError::Corrupt(cause) => Self::Internal(cause),
        }
    }
}
