//! Operations: the requests that a caller can make, with the kinds of caller they allow, their
//! store access and their audit behaviour.

use std::future::Future;

use serde::Serialize;

use super::manifests::Manifests;
use super::{Callers, Context};
use crate::crypto::Keyring;
use crate::model::Result;
use crate::store::{AuditRecord, Reads, Store, StoreResult, Tx};

/// A request as a value: its fields are the input, [`run`](Self::run) performs it and returns the
/// output.
pub trait Operation: Send + Sized {
    /// Name of the operation in logs and bindings: `noun.verb`.
    const NAME: &'static str;
    /// Kinds of callers that may run the operation. Checked before anything else.
    const CALLERS: Callers;
    /// Audit log behaviour of the operation.
    const AUDIT: Audit;
    /// True if the output can be many megabytes long, such as all secrets of an environment. A host
    /// application should limit how many such outputs it holds.
    const HAS_LARGE_OUTPUT: bool = false;
    /// True if the operation can take seconds on a large database. Its time limit is then eight
    /// times as long.
    const IS_LONG: bool = Self::HAS_LARGE_OUTPUT;
    /// Store access: [`Read`] or [`Write`]. An operation with read access that writes does not
    /// compile.
    type Access: Access;
    /// Type of the result of a successful run.
    type Output: Serialize + Send;

    /// Runs the operation and returns its output.
    fn run(
        self,
        cx: &mut Context<'_, Self::Access>,
    ) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// Audit log behaviour of an operation. The string in a variant is the action name in the audit
/// entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audit {
    /// No audit entry is written.
    Nothing,
    /// Audit entries of a change, written in the same transaction as the change.
    Change(&'static str),
    /// Audit entries of a read, written before the output is returned. If they cannot be written,
    /// the operation fails. The operator can turn off the recording of reads.
    Read(&'static str),
    /// Audit entries of an export, written like those of [`Read`](Audit::Read), but even if the
    /// operator has turned off the recording of reads.
    Export(&'static str),
}

/// Kind of store access of an operation. Implemented by [`Read`] and [`Write`] only.
pub trait Access: Send + 'static {
    /// True if the reader or transaction can write.
    const IS_WRITE: bool;
    /// Type of the store access: a reader or a transaction.
    type Session: ?Sized + Send;

    /// Opens a reader, or begins a transaction. `is_long` is true for a [long](Operation::IS_LONG)
    /// operation; it has no effect on readers.
    fn open(
        store: &dyn Store,
        is_long: bool,
    ) -> impl Future<Output = StoreResult<Box<Self::Session>>> + Send;

    /// Returns the read methods of the reader or transaction.
    fn reads(session: &mut Self::Session) -> &mut dyn Reads;

    /// Writes the audit entries in the transaction of the change. Does nothing for readers.
    fn record(
        session: &mut Self::Session,
        entries: &[AuditRecord],
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// Stores the manifests of the environments that the operation wrote. Does nothing for readers.
    fn complete(
        session: &mut Self::Session,
        keyring: &Keyring,
        manifests: Manifests,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// Rolls back the transaction. If it has read uncommitted changes of other transactions, waits
    /// until these are committed, and fails if their commit fails. Does nothing for readers.
    fn abandon(session: Box<Self::Session>) -> impl Future<Output = StoreResult<()>> + Send;

    /// Commits the transaction. Does nothing for readers.
    fn finish(session: Box<Self::Session>) -> impl Future<Output = StoreResult<()>> + Send;
}

/// Read-only access, without locks.
#[derive(Debug, Clone, Copy)]
pub enum Read {}

/// Read and write access, in one transaction.
#[derive(Debug, Clone, Copy)]
pub enum Write {}

impl Access for Read {
    const IS_WRITE: bool = false;
    type Session = dyn Reads;

    async fn open(store: &dyn Store, _: bool) -> StoreResult<Box<dyn Reads>> {
        store.read().await
    }

    fn reads(session: &mut Self::Session) -> &mut dyn Reads {
        session
    }

    async fn record(_: &mut Self::Session, _: &[AuditRecord]) -> StoreResult<()> {
        Ok(())
    }

    async fn complete(_: &mut Self::Session, _: &Keyring, _: Manifests) -> StoreResult<()> {
        Ok(())
    }

    async fn abandon(_: Box<dyn Reads>) -> StoreResult<()> {
        Ok(())
    }

    async fn finish(_: Box<dyn Reads>) -> StoreResult<()> {
        Ok(())
    }
}

impl Access for Write {
    const IS_WRITE: bool = true;
    type Session = dyn Tx;

    async fn open(store: &dyn Store, is_long: bool) -> StoreResult<Box<dyn Tx>> {
        store.begin_for_request(is_long).await
    }

    fn reads(session: &mut Self::Session) -> &mut dyn Reads {
        session
    }

    async fn record(session: &mut Self::Session, entries: &[AuditRecord]) -> StoreResult<()> {
        session.insert_audit(entries).await
    }

    async fn complete(
        session: &mut Self::Session,
        keyring: &Keyring,
        manifests: Manifests,
    ) -> StoreResult<()> {
        manifests.store(keyring, session).await
    }

    async fn abandon(session: Box<dyn Tx>) -> StoreResult<()> {
        session.roll_back().await
    }

    async fn finish(session: Box<dyn Tx>) -> StoreResult<()> {
        session.commit().await
    }
}
