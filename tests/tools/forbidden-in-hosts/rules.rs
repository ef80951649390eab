//! Code that a host must not contain, with which `tests/suites/guards` tests its rule. It is not compiled.

use secrets_core::engine as core;
use secrets_core::engine::{Operation, Worker};

impl Operation for Rule {}

impl<T: Send> core::Task for Rules<T>
where
    T: Sync,
{
}

impl Worker for Rule {}

impl secrets_core::ports::Channel for Rule {}

fn limit() {
    let limiter = secrets_core::limits::RateLimiter::hourly(9);
    tokio::task::spawn_blocking(move || limiter);
}
