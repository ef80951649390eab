//! The engine: runs operations on the store and records them in the audit log.
//!
//! An [`Operation`] is a value that declares who may call it, how it is recorded, and whether it
//! reads or writes. [`Engine::perform`] is the only way to run one: it opens a reader or a
//! transaction, runs the operation, writes the audit entry and commits. The engine does not depend
//! on any particular operation.

mod admission;
pub(crate) mod audit_chain;
mod audit_context;
pub(crate) mod audit_queue;
mod caller;
mod context;
mod counters;
pub(crate) mod epoch;
mod failures;
pub(crate) mod manifests;
mod offload;
mod operation;
mod options;
pub(crate) mod records;
pub(crate) mod refusals;
mod shared;
mod start;
mod task;
pub(crate) mod time_limit;
mod worker;

pub(crate) use audit_context::AuditContext;
pub use caller::{Caller, Callers, Person, Who};
pub use context::Context;
pub(crate) use context::Lock;
pub(crate) use counters::DeliveryEnd;
pub use counters::{Counters, Counts, RefusalCounters};
pub use failures::{FailingItem, WorkItem};
pub(crate) use failures::{Failures, backoff};
pub use operation::{Access, Audit, Operation, Read, Write};
pub use options::{Options, Ports, SessionLimits};
pub use start::StartError;
pub(crate) use start::next_sample;
pub use task::Task;
pub(crate) use worker::yield_now;
pub use worker::{Job, Periodic, Schedule, Worker};

use std::mem;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::try_join_all;
use tracing::field::Empty;
use tracing::{Instrument as _, info_span};

use self::admission::Admission;
use self::audit_queue::{AuditQueue, MAX_BATCH};
use self::offload::CpuPermits;
use self::shared::Shared;
use self::time_limit::TimeLimit;
use crate::crypto::Keyring;
use crate::limits::SharedWindows;
use crate::model::{Error, Result, Time};
use crate::ports::identity::KeySetUsage;
use crate::store::{AuditRecord, Store, StoreUsage};

/// Engine of a running service: its ports (interfaces to external systems), options and encryption
/// keys, and the state shared by its operations.
pub struct Engine {
    ports: Ports,
    options: Options,
    keyring: Keyring,
    audit: AuditQueue,
    counters: Counters,
    shared: Shared,
    permits: CpuPermits,
    admission: Admission,
    windows: SharedWindows,
}

impl Engine {
    /// Creates an engine and loads the encryption keys of the instance, or creates them if the
    /// store is empty.
    ///
    /// Fails, without writing anything, if the encryption keys do not match the stored data, or if
    /// the database was replaced by an earlier state of it.
    pub async fn open(ports: Ports, options: Options) -> std::result::Result<Self, StartError> {
        let keyring = start::keyring(&ports).await?;
        epoch::advance(&ports, &keyring).await?;
        let windows = SharedWindows::new(ports.counters.clone(), &keyring);
        let (audit, counters, shared, permits, admission) = Default::default();
        Ok(Self { ports, options, keyring, audit, counters, shared, permits, admission, windows })
    }

    /// Performs an operation: runs the operation, which authorizes the caller, and records it in
    /// the audit log. A failed operation changes nothing. Fails as unavailable if the time limit
    /// passes before the commit.
    pub async fn perform<O: Operation>(&self, caller: &Caller, operation: O) -> Result<O::Output> {
        let span = info_span!("operation", otel.name = O::NAME, otel.status_code = Empty);
        // Pinned, because `instrument` would copy the future, which is large.
        let work = pin!(self.run_recorded(caller, operation));
        let result = work.instrument(span.clone()).await;
        if let Err(error) = &result {
            self.counters.count_failure(error);
            if matches!(error, Error::Internal(_) | Error::Unavailable(_) | Error::Unconfirmed(_)) {
                span.record("otel.status_code", "ERROR");
            }
        }
        result
    }

    /// Returns the current values of the engine's counters. Needs no database query.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counters.counts(&self.keyring, self.audit.waiting_entries() as u64, self.now())
    }

    /// Returns, for each worker of rotations, deliveries and audit log pruning, how long its oldest
    /// due item has been waiting on this node. Needs no database query.
    #[must_use]
    pub fn lags(&self) -> Vec<(&'static str, std::time::Duration)> {
        self.counters.lags(self.now())
    }

    /// Returns the age of the identity provider's key set and the numbers of its fetches on this
    /// node; `None` if no provider is configured whose keys are fetched.
    #[must_use]
    pub fn key_set(&self) -> Option<KeySetUsage> {
        self.ports.identity.as_ref()?.key_set()
    }

    /// Returns the counters of requests refused because of a limit. [`perform`](Self::perform)
    /// counts the operations that it refuses; a host application, such as the HTTP server, adds the
    /// requests that it refuses itself.
    #[must_use]
    pub fn refusals(&self) -> &RefusalCounters {
        &self.counters.refusals
    }

    /// Returns the items of background work whose last try on this node failed. Needs no database
    /// query.
    #[must_use]
    pub fn failing(&self) -> Vec<FailingItem> {
        self.shared::<Failures>().list(self.now())
    }

    /// Returns the state of the store's connections and cache. Needs no database query.
    #[must_use]
    pub fn store_usage(&self) -> StoreUsage {
        self.store().usage()
    }

    /// Returns the rate-limit counters that all nodes share.
    #[must_use]
    pub fn windows(&self) -> &SharedWindows {
        &self.windows
    }

    async fn run_recorded<O: Operation>(&self, caller: &Caller, operation: O) -> Result<O::Output> {
        O::CALLERS.admit(caller)?;
        let limit = TimeLimit::of_operation(self, &caller.origin.time_used, O::IS_LONG);
        // Boxed, because a function that awaits a future stores it twice, and copies it.
        let work = Box::pin(async {
            let turn = self.admission.admit(caller, O::Access::IS_WRITE);
            let admitted = limit.wait(self.store(), turn).await?;
            // The context is boxed, because it is moved through several functions.
            let mut cx = Box::new(Context::<O::Access>::open(self, caller, O::IS_LONG).await?);
            let output = operation.run(&mut cx).await;
            Ok((admitted, cx, output))
        });
        let (_admitted, mut cx, output) = limit.run(work).await?;
        let _memory = mem::take(&mut cx.memory);
        match output {
            Ok(output) => {
                let is_write = O::Access::IS_WRITE && !cx.is_dry_run;
                let finished = Box::pin(self.finish(caller, cx, O::AUDIT));
                limit.finish(is_write, finished).await?;
                Ok(output)
            }
            Err(error) => Err(Box::pin(self.cancel(&limit, caller, cx, (O::AUDIT, error))).await),
        }
    }

    /// Ends an operation that has failed with `error`, and records it in the audit log if the
    /// caller lacks a permission. Returns `error`. If the operation has read uncommitted changes of
    /// other transactions and their commit fails, returns the error of that commit instead.
    async fn cancel<A: Access>(
        &self,
        limit: &TimeLimit<'_>,
        caller: &Caller,
        cx: Box<Context<'_, A>>,
        (audit, error): (Audit, Error),
    ) -> Error {
        let (session, context, _) = cx.into_parts();
        let mut is_abandoned = false;
        let ended = async {
            // The error can be the result of changes of other transactions that are not committed
            // yet.
            A::abandon(session).await?;
            is_abandoned = true;
            refusals::record_denied(self, caller, context, (audit, &error)).await;
            Ok(())
        };
        match limit.finish(false, ended).await {
            Err(lost) if !is_abandoned => lost,
            _ => error,
        }
    }

    /// Commits an operation that has run, and records it in the audit log.
    async fn finish<A: Access>(
        &self,
        caller: &Caller,
        mut cx: Box<Context<'_, A>>,
        audit: Audit,
    ) -> Result<()> {
        let is_dry_run = cx.is_dry_run;
        let manifests = mem::take(&mut cx.manifests);
        let (mut session, context, now) = cx.into_parts();
        if !is_dry_run {
            A::complete(&mut session, &self.keyring, manifests).await?;
        }
        match audit {
            Audit::Change(action) if is_dry_run => {
                A::abandon(session).await?;
                // Roll back first, because recording can wait for the lock that the transaction
                // holds.
                self.record_all(context.into_entries(caller, action, now)).await?;
            }
            _ if is_dry_run => A::abandon(session).await?,
            Audit::Nothing => commit::<A>(session).await?,
            Audit::Change(action) => {
                let entries = context.into_entries(caller, action, now);
                A::record(&mut session, &entries).await?;
                commit::<A>(session).await?;
            }
            Audit::Read(_) if !self.options.audit_reads => {}
            Audit::Read(_) | Audit::Export(_) if context.skips_audit => {}
            Audit::Read(action) | Audit::Export(action) => {
                // Release the reader first, because recording waits for other entries and for the
                // disk.
                drop(session);
                self.record_all(context.into_entries(caller, action, now)).await?;
            }
        }
        Ok(())
    }

    /// Stores the audit entries of one operation, like [`record`](Self::record).
    async fn record_all(&self, entries: Vec<AuditRecord>) -> Result<()> {
        let mut entries = entries.into_iter();
        // Record the first entry alone, because it may have to wait for room in a full queue.
        // Record the others at most a batch at a time, because all operations share the queue.
        if let Some(first) = entries.next() {
            self.record(first).await?;
        }
        while !entries.as_slice().is_empty() {
            let part = entries.by_ref().take(MAX_BATCH);
            try_join_all(part.map(|entry| self.record(entry))).await?;
        }
        Ok(())
    }

    /// Stores an audit entry with the next batch of entries. Fails if the batch cannot be
    /// committed.
    pub(crate) async fn record(&self, entry: AuditRecord) -> Result<()> {
        let stored = pin!(self.audit.record(self.store(), &self.counters, entry));
        let stored = stored.instrument(info_span!("record audit entry")).await;
        stored.map_err(|_| Error::Unavailable("the audit log cannot be written".into()))
    }

    /// True if the last attempt to store a batch of audit entries succeeded.
    pub(crate) fn is_audit_log_written(&self) -> bool {
        !self.audit.is_failing()
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn now(&self) -> Time {
        self.ports.clock.now()
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.ports.store.as_ref()
    }

    pub(crate) fn ports(&self) -> &Ports {
        &self.ports
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn keyring(&self) -> &Keyring {
        &self.keyring
    }

    /// Returns the state of type `T` that a feature keeps in this process, such as a counter.
    /// Created by `Default` on first use.
    pub(crate) fn shared<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        self.shared.get()
    }
}

/// Commits a write; closes the reader of a read.
async fn commit<A: Access>(session: Box<A::Session>) -> Result<()> {
    A::finish(session).await.map_err(|error| Error::from(error).unconfirmed())
}
