//! Offloading of CPU-bound work, with a limit on concurrency.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use async_lock::{Semaphore, SemaphoreGuardArc};
use futures_channel::oneshot;

use super::Engine;
use crate::model::{Error, Result};

/// Permits for CPU-bound work. Their number is half the number of processors, at least 2 and at
/// most 8, because deriving an encryption key takes 64 MiB of memory.
pub(super) struct Permits {
    free: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// Maximum number of callers that wait for a permit, each with its input in memory.
const MAX_WAITING: usize = 64;

impl Default for Permits {
    fn default() -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        let free = Arc::new(Semaphore::new((processors / 2).clamp(2, 8)));
        Self { free, waiting: AtomicUsize::new(0) }
    }
}

impl Permits {
    /// Waits for a permit. Fails if too many callers wait already.
    async fn acquire(&self) -> Result<SemaphoreGuardArc> {
        let waiting = Waiting::enter(&self.waiting);
        if waiting.before >= MAX_WAITING {
            return Err(Error::Unavailable("too much CPU-bound work is waiting".into()));
        }
        Ok(self.free.acquire_arc().await)
    }
}

/// A caller that waits, counted until it is dropped.
struct Waiting<'a> {
    count: &'a AtomicUsize,
    before: usize,
}

impl<'a> Waiting<'a> {
    fn enter(count: &'a AtomicUsize) -> Self {
        Self { count, before: count.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Engine {
    /// Runs CPU-bound work through the [`Offload`](crate::ports::offload::Offload) port, once a
    /// permit is free. The permit is held until the work ends, even if the returned future is
    /// dropped before. Fails with [`Error::Unavailable`] if 64 callers wait for a permit already.
    pub(crate) async fn offload<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let permit = self.permits.acquire().await?;
        let (done, result) = oneshot::channel();
        let work = move || {
            // Fails only if the receiving future was dropped.
            drop(done.send(work()));
            drop(permit);
        };
        self.ports.offload.run(Box::new(work)).await;
        result.await.map_err(|_| Error::internal("offloaded work panicked"))
    }
}
