//! The one timer hyper has for a connection, made into two.
//!
//! hyper starts its timer when it begins to wait for the head of a request, and drops it when the
//! head is complete. So the same few seconds would bound how long a connection may rest between
//! two requests and how long a client may take to write one. Here the wait is long until the first
//! byte has come and short from then on; the first request of a connection is due at once.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use tokio::time;

use super::guarded::Received;

/// A connection's timer.
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

    /// hyper asks for a head's time from now.
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

/// The wait for one head. hyper polls it after every read that did not complete the head.
struct Waiting {
    timer: Pin<Box<time::Sleep>>,
    received: Received,
    /// What had been received when the wait began.
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
