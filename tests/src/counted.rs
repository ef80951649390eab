//! Store that counts how often it is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use secrets_core::model::Time;
use secrets_core::store::{Reads, Store, StoreResult, Tx};

/// Wrapper of a store that counts the calls of [`Store::read`].
pub struct Counted {
    inner: Arc<dyn Store>,
    reads: AtomicUsize,
}

impl Counted {
    /// Wraps a store that was not read yet.
    #[must_use]
    pub fn of(inner: &Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { inner: Arc::clone(inner), reads: AtomicUsize::new(0) })
    }

    /// Returns the number of calls of [`Store::read`].
    #[must_use]
    pub fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Store for Counted {
    async fn read(&self) -> StoreResult<Box<dyn Reads>> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.inner.read().await
    }

    async fn begin(&self) -> StoreResult<Box<dyn Tx>> {
        self.inner.begin().await
    }

    async fn ping(&self) -> StoreResult<Option<Time>> {
        self.inner.ping().await
    }
}
