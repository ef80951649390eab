//! Store whose calls fail while a test has set a failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use async_trait::async_trait;
use secrets_core::model::Time;
use secrets_core::store::{Reads, Store, StoreError, StoreResult, Tx};

/// Wrapper of another store. Its calls fail while a test has set a failure.
pub struct Outage {
    inner: Arc<dyn Store>,
    fault: AtomicU8,
}

/// Kind of failure of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failing {
    /// No failure.
    Nothing = 0,
    /// Writes fail; reads work.
    Writes = 1,
    /// All reads and writes fail, as if the database could not be reached.
    Everything = 2,
    /// All reads and writes fail, as if the stored records were corrupt.
    Records = 3,
}

/// Error message of the failures. It may appear in the log, but never in a response.
pub const CAUSE: &str = "postgres://secrets:hunter2@db.internal refused";

impl Outage {
    /// Wraps a store, which works normally until a failure begins.
    #[must_use]
    pub fn of(inner: &Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { inner: Arc::clone(inner), fault: AtomicU8::new(0) })
    }

    /// Makes the store fail in this way from now on; [`Failing::Nothing`] ends the failure.
    pub fn begin(&self, fault: Failing) {
        self.fault.store(fault as u8, Ordering::SeqCst);
    }

    fn is(&self, fault: Failing) -> bool {
        self.fault.load(Ordering::SeqCst) == fault as u8
    }

    fn works(&self) -> StoreResult<()> {
        match () {
            () if self.is(Failing::Everything) => Err(StoreError::Unavailable(CAUSE.into())),
            () if self.is(Failing::Records) => Err(StoreError::Corrupt(CAUSE.into())),
            () => Ok(()),
        }
    }
}

#[async_trait]
impl Store for Outage {
    async fn read(&self) -> StoreResult<Box<dyn Reads>> {
        self.works()?;
        self.inner.read().await
    }

    async fn begin(&self) -> StoreResult<Box<dyn Tx>> {
        self.works()?;
        if self.is(Failing::Writes) {
            return Err(StoreError::Unavailable(CAUSE.into()));
        }
        self.inner.begin().await
    }

    async fn ping(&self) -> StoreResult<Option<Time>> {
        self.works()?;
        self.inner.ping().await
    }
}
