//! Userinfo endpoint of a token issuer. It is requested at sign-in if a token has no e-mail
//! address.
//!
//! At most one request to the issuer runs at a time. After a request without a response, no new
//! request is made for a while, and each sign-in during that time fails immediately. A response
//! with an error status fails only the sign-in that requested it: it can concern one user, and must
//! not prevent the sign-ins of others.

use std::sync::Arc;

use secrets_core::jwt::Profile;
use secrets_core::model::Identity;
use secrets_core::ports::identity::Unverified;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::discovery::DiscoveryCache;
use super::provider::Provider;
use super::{LastFailure, Timings, unavailable};

/// Name of a response of the endpoint in the log.
const PROFILE: &str = "a user profile from the issuer";

/// Userinfo endpoint of one issuer.
pub(super) struct Userinfo {
    timings: Timings,
    discovery: Arc<DiscoveryCache>,
    /// Last failure of the endpoint. The mutex is held during a request to the issuer, so that only
    /// one request runs at a time.
    failure: Mutex<LastFailure>,
}

impl Userinfo {
    pub(super) fn new(discovery: Arc<DiscoveryCache>, timings: Timings) -> Self {
        Self { timings, discovery, failure: Mutex::default() }
    }

    /// Fetches the profile of the token's user. Returns `None` if the issuer has no userinfo
    /// endpoint, or if the response is about another user. Fails with `Invalid` if the issuer
    /// refuses the token, and with `Unavailable` if the issuer responds with another error or does
    /// not respond.
    pub(super) async fn profile(
        &self,
        provider: &Provider,
        token: &str,
        identity: &Identity,
    ) -> Result<Option<Profile>, Unverified> {
        let failure = timeout(self.timings.fetch, self.failure.lock()).await;
        let mut failure = failure.map_err(|_| unavailable("too many sign-ins at the same time"))?;
        if let Some(error) = failure.recent(&self.timings) {
            return Err(error);
        }
        let discovery = self.discovery.current(provider).await?;
        let url = match provider.userinfo_endpoint(&discovery) {
            Ok(Some(url)) => url,
            Ok(None) => return Ok(None),
            Err(error) => return Err(failure.record(PROFILE, &error)),
        };
        match provider.profile(&url, token, identity).await {
            Ok(profile) => Ok(profile),
            Err(error) if error.is_refusal() => Err(Unverified::Invalid),
            Err(error) if error.is_unreachable() => Err(failure.record(PROFILE, &error)),
            Err(error) => Err(unavailable(&error.to_string())),
        }
    }
}
