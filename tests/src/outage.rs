//! A store that fails when it is told to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use async_trait::async_trait;
use secrets_core::model::Time;
use secrets_core::store::{Reads, Store, StoreError, StoreResult, Tx};

/// A store over another one, which may fail.
pub struct Outage {
    inner: Arc<dyn Store>,
    fault: AtomicU8,
}

/// How a store fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failing {
    /// Not at all.
    Nothing = 0,
    /// It cannot be written to.
    Writes = 1,
    /// It cannot be reached.
    Everything = 2,
    /// What it holds cannot be read.
    Records = 3,
}

/// What an outage says of itself: for the log, and in no answer.
pub const CAUSE: &str = "postgres://secrets:hunter2@db.internal refused";

impl Outage {
    /// A store that works like this one until it is told to fail.
    #[must_use]
    pub fn of(inner: &Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { inner: Arc::clone(inner), fault: AtomicU8::new(0) })
    }

    /// Fails so from now on.
    pub fn begin(&self, fault: Failing) {
        self.fault.store(fault as u8, Ordering::SeqCst);
    }

    fn is(&self, fault: Failing) -> bool {
        self.fault.load(Ordering::SeqCst) == fault as u8
    }

    fn works(&self) -> StoreResult<()> {
        match () {
            () if self.is(Failing::Everything) => Err(StoreError::Unavailable(CAUSE.into())),
            () if self.is(Failing::Records) => Err(StoreError::Broken(CAUSE.into())),
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
