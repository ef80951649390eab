//! Cache of the discovery document of a token issuer.
//!
//! At most one request to the issuer runs at a time. After a failed request, no new request is made
//! for a while; calls during that time fail immediately with the stored reason.

use std::sync::Arc;

use secrets_core::ports::identity::Unverified;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::provider::{Discovery, Provider};
use super::{Timings, unavailable};

/// Cache of the discovery document of one issuer.
pub(super) struct DiscoveryCache {
    timings: Timings,
    /// Cached document, and the last failure. The mutex is held during a request to the issuer, so
    /// that only one request runs at a time.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: Option<(Instant, Arc<Discovery>)>,
    /// Time and reason of the last failed request; `None` after a successful request.
    failure: Option<(Instant, String)>,
}

impl DiscoveryCache {
    pub(super) fn new(timings: Timings) -> Self {
        Self { timings, state: Mutex::default() }
    }

    /// Returns the discovery document: from the cache if it has not expired, otherwise from the
    /// issuer.
    pub(super) async fn current(&self, provider: &Provider) -> Result<Arc<Discovery>, Unverified> {
        let state = timeout(self.timings.fetch, self.state.lock()).await;
        let mut state = state.map_err(|_| unavailable("too many sign-ins at the same time"))?;
        if let Some((time, discovery)) = &state.last
            && time.elapsed() < self.timings.expire_after
        {
            return Ok(Arc::clone(discovery));
        }
        if let Some((time, reason)) = &state.failure
            && time.elapsed() < self.timings.retry_pause
        {
            return Err(unavailable(reason));
        }
        match provider.discover().await {
            Ok(discovery) => {
                let discovery = Arc::new(discovery);
                *state = State { last: Some((Instant::now(), discovery.clone())), failure: None };
                Ok(discovery)
            }
            Err(error) => {
                tracing::warn!(%error, "cannot fetch the discovery document of the issuer");
                state.failure = Some((Instant::now(), error.to_string()));
                Err(unavailable(&error.to_string()))
            }
        }
    }
}
