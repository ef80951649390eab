//! Operations: what a caller can ask for, and what they are given to do it.

use std::future::Future;

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::Result;
use crate::audit::Note;
use crate::caller::{Caller, Callers};
use crate::clock::Time;
use crate::crypto::Keyring;
use crate::device_login::Guesser;
use crate::limits::RateLimiter;
use crate::rotations::Timings;
use crate::service::{Options, Service};
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

/// What an operation is given: the caller, the time, the store as far as it may use it, and the
/// duties of the house as methods (`access` resolves and authorizes, `crypto` seals and opens).
pub struct Context<'a, A: Access> {
    pub(crate) caller: &'a Caller,
    pub(crate) note: Note,
    now: Time,
    service: &'a Service,
    session: Box<A::Session>,
}

impl<'a, A: Access> Context<'a, A> {
    pub(crate) async fn open(service: &'a Service, caller: &'a Caller) -> Result<Self> {
        let session = A::open(service.store()).await?;
        Ok(Self { caller, note: Note::default(), now: service.now(), service, session })
    }

    /// The moment the operation began.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The store, for reading.
    pub fn reads(&mut self) -> &mut dyn Reads {
        A::reads(&mut self.session)
    }

    /// The operator's choices.
    #[must_use]
    pub fn options(&self) -> &'a Options {
        self.service.options()
    }

    /// How long things take in rotations.
    pub(crate) fn timings(&self) -> Timings {
        self.service.rotators().map_or_else(Timings::default, |rotators| rotators.timings)
    }

    /// Whether mail is sent.
    pub(crate) fn sends_mail(&self) -> bool {
        self.service.mail().is_some()
    }

    pub(crate) fn guesses(&self) -> &'a RateLimiter<Guesser> {
        self.service.guesses()
    }

    pub(crate) fn keyring(&self) -> &'a Keyring {
        self.service.keyring()
    }

    /// Says what the audit entry is about.
    pub fn about(&mut self, kind: &'static str, id: Uuid, name: impl Into<String>) {
        self.note.resource = Some((kind, Some(id), Some(name.into())));
    }

    /// Adds a detail to the audit entry; never a value.
    pub fn detail(&mut self, name: &'static str, detail: impl Into<Value>) {
        self.note.details.insert(name.to_owned(), detail.into());
    }

    pub(crate) fn into_parts(self) -> (Box<A::Session>, Note, Time) {
        (self.session, self.note, self.now)
    }
}

impl Context<'_, Write> {
    /// The transaction.
    pub fn tx(&mut self) -> &mut dyn Tx {
        self.session.as_mut()
    }
}
