//! Cache of the discovery document of a token issuer.
//!
//! At most one request to the issuer runs at a time. After a failed request, no new request is made
//! for a while; calls during that time fail immediately with the stored reason.

use std::sync::Arc;

use secrets_core::ports::identity::Unverified;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::provider::{Discovery, Provider};
use super::{LastFailure, Timings, unavailable};

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
    failure: LastFailure,
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
        if let Some(error) = state.failure.recent(&self.timings) {
            return Err(error);
        }
        match provider.discover().await {
            Ok(discovery) => {
                let discovery = Arc::new(discovery);
                let last = Some((Instant::now(), Arc::clone(&discovery)));
                *state = State { last, failure: LastFailure::default() };
                Ok(discovery)
            }
            Err(error) => Err(state.failure.record("the discovery document of the issuer", &error)),
        }
    }
}
