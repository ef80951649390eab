//! Operations: the requests that a caller can make, and how each declares itself.

use std::future::Future;

use serde::Serialize;

use super::{Callers, Context};
use crate::model::Result;
use crate::store::{AuditRecord, Reads, Store, StoreResult, Tx};

/// Something a caller can ask for: a value that says what it needs, does it, and gives what came of it.
pub trait Operation: Send + Sized {
    /// Its name in logs and bindings: `noun.verb`.
    const NAME: &'static str;
    /// Who may ask, before anything else is looked at.
    const CALLERS: Callers;
    /// How it is recorded.
    const AUDIT: Audit;
    /// [`Read`] or [`Write`]: what it works on. A write in a reading operation does not compile.
    type Access: Access;
    /// What it gives.
    type Output: Serialize + Send;

    /// Does it.
    fn run(
        self,
        cx: &mut Context<'_, Self::Access>,
    ) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// How an operation is recorded in the audit log, and as what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audit {
    /// Not at all.
    Nothing,
    /// In the transaction of the change itself.
    Change(&'static str),
    /// Before the answer leaves; if it cannot be recorded, nothing is answered. Reads can be left
    /// out of the log by the operator.
    Read(&'static str),
    /// Like a read, and never left out.
    Export(&'static str),
}

/// What an operation works on.
pub trait Access: Send + 'static {
    /// What the store hands out for it.
    type Session: ?Sized + Send;

    /// Asks the store for it.
    fn open(store: &dyn Store) -> impl Future<Output = StoreResult<Box<Self::Session>>> + Send;

    /// Its reading half.
    fn reads(session: &mut Self::Session) -> &mut dyn Reads;

    /// Writes the audit entry beside the change.
    fn record(
        session: &mut Self::Session,
        entry: &AuditRecord,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// Makes what was done last.
    fn finish(session: Box<Self::Session>) -> impl Future<Output = StoreResult<()>> + Send;
}

/// Looks, and takes no lock.
#[derive(Debug, Clone, Copy)]
pub enum Read {}

/// Changes, in one transaction.
#[derive(Debug, Clone, Copy)]
pub enum Write {}

impl Access for Read {
    type Session = dyn Reads;

    async fn open(store: &dyn Store) -> StoreResult<Box<dyn Reads>> {
        store.read().await
    }

    fn reads(session: &mut Self::Session) -> &mut dyn Reads {
        session
    }

    async fn record(_: &mut Self::Session, _: &AuditRecord) -> StoreResult<()> {
        Ok(())
    }

    async fn finish(_: Box<dyn Reads>) -> StoreResult<()> {
        Ok(())
    }
}

impl Access for Write {
    type Session = dyn Tx;

    async fn open(store: &dyn Store) -> StoreResult<Box<dyn Tx>> {
        store.begin().await
    }

    fn reads(session: &mut Self::Session) -> &mut dyn Reads {
        session
    }

    async fn record(session: &mut Self::Session, entry: &AuditRecord) -> StoreResult<()> {
        session.insert_audit(std::slice::from_ref(entry)).await
    }

    async fn finish(session: Box<dyn Tx>) -> StoreResult<()> {
        session.commit().await
    }
}
