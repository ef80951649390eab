//! Futures that continue to their end even if the client disconnects.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// Future that continues in a task of its own if it is dropped before it has ended. While it is
/// polled, it needs no separate task.
pub(super) struct RunToEnd<T: Send + 'static>(Option<Work<T>>);

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<T: Send + 'static> RunToEnd<T> {
    /// Wraps a future so that it runs to its end, even if the returned future is dropped before it
    /// is polled.
    pub(super) fn new(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(Some(Box::pin(work)))
    }
}

impl<T: Send + 'static> Future for RunToEnd<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        // Taken out, so that a future that panics is not polled again.
        let Some(mut work) = self.0.take() else { return Poll::Pending };
        let polled = work.as_mut().poll(cx);
        if polled.is_pending() {
            self.0 = Some(work);
        }
        polled
    }
}

impl<T: Send + 'static> Drop for RunToEnd<T> {
    fn drop(&mut self) {
        if let (Some(work), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            drop(runtime.spawn(work));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::panic::AssertUnwindSafe;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::FutureExt as _;
    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn a_dropped_future_runs_to_its_end() {
        let (go, done) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (start, end) = (Arc::clone(&go), Arc::clone(&done));
        let mut work = RunToEnd::new(async move {
            start.notified().await;
            end.notify_one();
        });
        assert!((&mut work).now_or_never().is_none());

        drop(work);
        go.notify_one();

        done.notified().await;
    }

    #[tokio::test]
    async fn a_future_that_panics_is_not_polled_again() {
        let polls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&polls);
        let mut work = RunToEnd::<()>::new(poll_fn(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            panic!("expected by this test")
        }));

        let ended = AssertUnwindSafe(&mut work).catch_unwind().await;
        drop(work);
        tokio::task::yield_now().await;

        assert!(ended.is_err());
        assert_eq!(polls.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_future_returns_its_output() {
        assert_eq!(RunToEnd::new(async { 7 }).await, 7);
    }
}
