//! Offloading of CPU-bound work, with a limit on concurrency.

use std::sync::Arc;
use std::thread::available_parallelism;

use async_lock::Semaphore;
use futures_channel::oneshot;

use super::Engine;
use crate::model::{Error, Result};

/// Permits for CPU-bound work. Their number is half the number of processors, at least 2 and at
/// most 8, because deriving an encryption key takes 64 MiB of memory.
pub(super) struct Permits(Arc<Semaphore>);

impl Default for Permits {
    fn default() -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        Self(Arc::new(Semaphore::new((processors / 2).clamp(2, 8))))
    }
}

impl Engine {
    /// Runs CPU-bound work through the [`Offload`](crate::ports::offload::Offload) port, once a
    /// permit is free. The permit is held until the work ends, even if the returned future is
    /// dropped before.
    pub(crate) async fn offload<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let permit = self.permits.0.acquire_arc().await;
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
