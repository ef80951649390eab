//! Where records are kept.
//!
//! A store hands out readers and transactions. What only reads works on a reader and cannot write:
//! the traits are apart, so it would not compile. Writes of a transaction are seen by its own later
//! reads and, after [`Tx::commit`], by everyone at once; dropping it undoes everything.
//!
//! Lookups return `Option`, lists are ordered. [`StoreError::Duplicate`] and [`StoreError::Stale`]
//! leave a transaction usable; after [`StoreError::Broken`] nothing but dropping it makes sense.
//!
//! [`MemoryStore`] is the reference; `testing::conformance` holds the rules, one test each, which
//! every store passes.

use std::fmt;

use async_trait::async_trait;

use crate::model::{Cause, Error, Subject, Time};

mod audit;
mod device_logins;
mod environments;
mod instance;
mod invitations;
mod memory;
mod outbox;
mod permissions;
mod projects;
mod rotations;
mod scans;
mod secrets;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub mod sql;
mod teams;
mod tokens;
mod users;
mod webhooks;

pub use audit::{
    ActionFilter, AuditFilter, AuditHead, AuditOrder, AuditReads, AuditRecord, AuditScope,
    AuditSeal, AuditWrites,
};
pub use device_logins::{
    CliSessionRecord, DeviceClient, DeviceLoginReads, DeviceLoginRecord, DeviceLoginWrites,
    DeviceStatus,
};
pub use environments::{
    EnvironmentReads, EnvironmentRecord, EnvironmentWrites, Link, Sight, Wanted,
};
pub use instance::{InstanceReads, InstanceWrites, Sample};
pub use invitations::{InvitationReads, InvitationRecord, InvitationWrites};
pub use memory::MemoryStore;
pub use outbox::{DeliveryRecord, OutboxReads, OutboxWrites};
pub use permissions::{PermissionDefault, PermissionReads, PermissionRecord, PermissionWrites};
pub use projects::{ProjectReads, ProjectRecord, ProjectStanding, ProjectWrites, Purge, Standing};
pub use rotations::{
    AttemptRecord, Lease, RotationPlace, RotationReads, RotationRecord, RotationWrites,
};
pub use scans::{FindingRecord, ScanReads, ScanRecord, ScanWrites, SecretPlace};
pub use secrets::{Change, SecretReads, SecretRecord, SecretVersion, SecretWrites};
pub(crate) use teams::DELETED;
pub use teams::{MemberRecord, Membership, TeamReads, TeamRecord, TeamUsage, TeamWrites};
pub use tokens::{
    PreviousToken, Rotation, TokenReads, TokenRecord, TokenScope, TokenUse, TokenWrites,
};
pub use users::{UserReads, UserRecord, UserWrites};
pub use webhooks::{WebhookDeliveryRecord, WebhookReads, WebhookRecord, WebhookWrites};

/// What a store returns.
pub type StoreResult<T> = Result<T, StoreError>;

/// Where records are kept.
#[async_trait]
pub trait Store: Send + Sync {
    /// A reader. It sees what was committed before each of its calls, and takes no lock.
    async fn read(&self) -> StoreResult<Box<dyn Reads>>;

    /// A transaction. Dropping it undoes everything it did.
    async fn begin(&self) -> StoreResult<Box<dyn Tx>>;

    /// Answers when the store can be read, with the time it believes if it has a clock of its own.
    async fn ping(&self) -> StoreResult<Option<Time>>;
}

/// Every table, for reading.
pub trait Reads:
    AuditReads
    + DeviceLoginReads
    + EnvironmentReads
    + InstanceReads
    + InvitationReads
    + OutboxReads
    + PermissionReads
    + ProjectReads
    + RotationReads
    + ScanReads
    + SecretReads
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
        + OutboxReads
        + PermissionReads
        + ProjectReads
        + RotationReads
        + ScanReads
        + SecretReads
        + TeamReads
        + TokenReads
        + UserReads
        + WebhookReads
        + Send
{
}

/// One transaction over every table.
#[async_trait]
pub trait Tx:
    Reads
    + AuditWrites
    + DeviceLoginWrites
    + EnvironmentWrites
    + InstanceWrites
    + InvitationWrites
    + OutboxWrites
    + PermissionWrites
    + ProjectWrites
    + RotationWrites
    + ScanWrites
    + SecretWrites
    + TeamWrites
    + TokenWrites
    + UserWrites
    + WebhookWrites
{
    /// Makes it all last, and seen.
    async fn commit(self: Box<Self>) -> StoreResult<()>;
}

/// What a store may answer instead of a result.
#[derive(Debug)]
pub enum StoreError {
    /// Something of that name is there already.
    Duplicate(Subject),
    /// The record is gone or changed since it was read.
    Stale(Subject),
    /// The store cannot be reached, or has no room; trying again may help.
    Unavailable(Cause),
    /// The store holds something it should not, or refused what it should take.
    Broken(Cause),
}

impl StoreError {
    /// The error of an operation for which a record that changed is a thing that is gone.
    pub(crate) fn gone(self, subject: Subject) -> Error {
        match self {
            Self::Stale(_) => Error::NotFound(subject),
            other => other.into(),
        }
    }

    /// The error of an operation that would have said `taken` of a duplicate.
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
            Self::Unavailable(_) => f.write_str("the store cannot be reached"),
            Self::Broken(_) => f.write_str("the store failed"),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unavailable(cause) | Self::Broken(cause) => Some(cause.as_ref()),
            Self::Duplicate(_) | Self::Stale(_) => None,
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Duplicate(subject) => Self::Conflict(subject),
            StoreError::Stale(subject) => Self::Stale(subject),
            StoreError::Unavailable(cause) => Self::Unavailable(cause),
            StoreError::Broken(cause) => Self::Internal(cause),
        }
    }
}
