//! Separate timeouts for an idle connection and for the head of a request.
//!
//! hyper has only one timer for both: it starts the timer when it begins to wait for the head of a
//! request, and drops it when the head is complete. This timer uses the long idle timeout until the
//! first byte has arrived, and the short head timeout from then on. The first request of a
//! connection has no idle timeout.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use tokio::time;

use super::guarded::Received;

/// Timer of one connection: chooses between the idle timeout and the timeout for a request's head.
pub(super) struct HeadTimer {
    received: Received,
    idle: Duration,
    head: Duration,
    is_later: AtomicBool,
}

impl HeadTimer {
    pub(super) fn new(received: Received, idle: Duration, head: Duration) -> Self {
        Self { received, idle, head, is_later: AtomicBool::new(false) }
    }

    fn wait(&self, until: Instant, began: bool) -> Pin<Box<dyn Sleep>> {
        Box::pin(Waiting {
            timer: Box::pin(time::sleep_until(until.into())),
            received: self.received.clone(),
            before: self.received.bytes(),
            head: self.head,
            began,
        })
    }
}

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.wait(self.now() + duration, true)
    }

    /// Creates the timer for the next request head. hyper passes a deadline of now plus the head
    /// timeout.
    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        if self.is_later.swap(true, Ordering::Relaxed) {
            self.wait(self.now() + self.idle, false)
        } else {
            self.wait(deadline, true)
        }
    }

    fn now(&self) -> Instant {
        time::Instant::now().into()
    }
}

/// Timer of a connection that waits for one request head. hyper polls the timer after every read
/// that does not complete the head.
struct Waiting {
    timer: Pin<Box<time::Sleep>>,
    received: Received,
    /// Number of bytes that the connection had received when this timer was started.
    before: u64,
    head: Duration,
    began: bool,
}

impl Future for Waiting {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if !self.began && self.received.bytes() > self.before {
            self.began = true;
            let deadline = time::Instant::now() + self.head;
            self.timer.as_mut().reset(deadline);
        }
        self.timer.as_mut().poll(cx)
    }
}

impl Sleep for Waiting {}
