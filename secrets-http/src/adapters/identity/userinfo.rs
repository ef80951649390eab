//! Userinfo endpoint of a token issuer. It is asked at sign-in if a token has no e-mail address.
//!
//! At most one request to the issuer runs at a time. After a failed request, no new request is made
//! for a while, and each sign-in during that time fails immediately.

use std::sync::Arc;

use secrets_core::jwt::Profile;
use secrets_core::model::Identity;
use secrets_core::ports::identity::Unverified;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::discovery::DiscoveryCache;
use super::provider::{NoAnswer, Provider};
use super::{Timings, unavailable};

/// Userinfo endpoint of one issuer.
pub(super) struct Userinfo {
    timings: Timings,
    discovery: Arc<DiscoveryCache>,
    /// Last failure of the endpoint. The mutex is held during a request to the issuer, so that only
    /// one request runs at a time.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Time and reason of the last failed request.
    failure: Option<(Instant, String)>,
}

impl Userinfo {
    pub(super) fn new(discovery: Arc<DiscoveryCache>, timings: Timings) -> Self {
        Self { timings, discovery, state: Mutex::default() }
    }

    /// Fetches the profile of the token's user. Returns `None` if the issuer has no userinfo
    /// endpoint, or if the response is about another user. Fails with `Invalid` if the issuer
    /// refuses the token.
    pub(super) async fn profile(
        &self,
        provider: &Provider,
        token: &str,
        identity: &Identity,
    ) -> Result<Option<Profile>, Unverified> {
        let state = timeout(self.timings.fetch, self.state.lock()).await;
        let mut state = state.map_err(|_| unavailable("too many sign-ins at the same time"))?;
        if let Some((time, reason)) = &state.failure
            && time.elapsed() < self.timings.retry_pause
        {
            return Err(unavailable(reason));
        }
        let discovery = self.discovery.current(provider).await?;
        let url = match provider.userinfo_endpoint(&discovery) {
            Ok(Some(url)) => url,
            Ok(None) => return Ok(None),
            Err(error) => return Err(state.failed(&error)),
        };
        match provider.profile(&url, token, identity).await {
            Ok(profile) => Ok(profile),
            Err(error) if error.is_refusal() => Err(Unverified::Invalid),
            Err(error) if error.is_unreachable() => Err(state.failed(&error)),
            Err(error) => Err(unavailable(&error.to_string())),
        }
    }
}

impl State {
    fn failed(&mut self, error: &NoAnswer) -> Unverified {
        tracing::warn!(%error, "cannot fetch a user profile from the issuer");
        self.failure = Some((Instant::now(), error.to_string()));
        unavailable(&error.to_string())
    }
}
