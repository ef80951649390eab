//! Cache of the discovery document of a token issuer.
//!
//! The issuer gets one request at a time. After a failure it gets none for a while, and each use in
//! that time fails at once.

use std::sync::Arc;

use secrets_core::ports::identity::Unverified;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::Timings;
use super::provider::{Discovery, Provider};

/// Cache of the discovery document of one issuer. See the module documentation.
pub(super) struct DiscoveryCache {
    timings: Timings,
    /// Locked during a request.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: Option<(Instant, Arc<Discovery>)>,
    /// Time and reason of the last failure.
    failure: Option<(Instant, String)>,
}

impl DiscoveryCache {
    pub(super) fn new(timings: Timings) -> Self {
        Self { timings, state: Mutex::default() }
    }

    /// Returns the document. Fetches it first if the last one has expired.
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

fn unavailable(reason: &str) -> Unverified {
    Unverified::Unavailable(reason.into())
}
