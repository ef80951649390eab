//! CPU-bound work, away from the threads that serve requests.

use async_trait::async_trait;

/// A piece of CPU-bound work.
pub type Work = Box<dyn FnOnce() + Send>;

/// Runs CPU-bound work, such as deriving a key from a passphrase, where no request waits for the
/// thread.
#[async_trait]
pub trait Offload: Send + Sync {
    /// Runs the work and returns when it is done. The work runs to its end even if the returned
    /// future is dropped.
    async fn run(&self, work: Work);
}

/// Runs work on the calling thread: for programs with one thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct Inline;

#[async_trait]
impl Offload for Inline {
    async fn run(&self, work: Work) {
        work();
    }
}
