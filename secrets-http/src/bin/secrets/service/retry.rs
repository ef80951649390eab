//! Retries of requests after a response with the header `Retry-After`.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use tokio::time::Instant;

use super::Response;

/// Returns the time to wait before the request is sent again. Returns `None` if the request must
/// not be repeated, or if the wait would exceed the time limit. After the status 503, only reads
/// are repeated, because a change may have been made.
pub(super) fn wait(method: &Method, response: &Response, until: Instant) -> Option<Duration> {
    let may_retry = match response.status() {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::SERVICE_UNAVAILABLE => method == Method::GET,
        _ => false,
    };
    let seconds: u64 = response.header("retry-after").filter(|_| may_retry)?.parse().ok()?;
    let wait = Duration::from_secs(seconds.max(1));
    Some(wait).filter(|wait| *wait < until.saturating_duration_since(Instant::now()))
}
