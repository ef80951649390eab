//! Offloading: running CPU-bound work on threads that handle no requests, so that requests do not
//! wait.

use async_trait::async_trait;

/// CPU-bound work in the form of a closure.
pub type Work = Box<dyn FnOnce() + Send>;

/// Runner of CPU-bound work, such as deriving an encryption key from a passphrase, on threads that
/// handle no requests.
#[async_trait]
pub trait Offload: Send + Sync {
    /// Runs the work and returns when it is done. The work continues even if the returned future is
    /// dropped.
    async fn run(&self, work: Work);
}

/// Implementation of [`Offload`] that runs CPU-bound work on the calling thread, for programs with
/// a single thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct Inline;

#[async_trait]
impl Offload for Inline {
    async fn run(&self, work: Work) {
        work();
    }
}
