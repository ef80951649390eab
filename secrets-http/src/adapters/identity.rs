//! Verification of user tokens (JWTs) of the configured issuer.
//!
//! Tokens are verified with the public keys published by the issuer ([`OidcVerifier`]), with a
//! shared secret, or in development mode with a local key (both
//! [`FixedVerifier`](secrets_core::jwt::FixedVerifier)). Browsers sign in with the authorization
//! code flow ([`CodeFlow`]), or in development mode with one-time codes ([`DevLinks`]).

mod code_flow;
mod dev_links;
mod discovery;
mod key_cache;
mod oidc;
mod provider;
#[cfg(test)]
mod tests;
mod userinfo;

use std::time::Duration;

use secrets_core::ports::identity::Unverified;
use tokio::time::Instant;

pub use self::code_flow::{
    AuthorizationResponse, ClientSecret, CodeFlow, OidcClient, SignInSecrets,
};
pub use self::dev_links::DevLinks;
pub use self::oidc::{OidcSettings, OidcVerifier};
use self::provider::NoAnswer;

/// Timeouts and lifetimes for fetching the public keys of a token issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timings {
    /// Timeout of one request for the keys.
    pub fetch: Duration,
    /// Age at which keys are refreshed in the background, while the old keys stay in use.
    pub refresh_after: Duration,
    /// Age from which a request that needs the keys waits until they are fetched again.
    pub expire_after: Duration,
    /// Maximum age of keys that are still used while the issuer is unavailable.
    pub stale_for: Duration,
    /// Minimum interval between fetches caused by a token with an unknown key ID.
    pub search_pause: Duration,
    /// Minimum time between a failed request for the keys and the next request.
    pub retry_pause: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            fetch: Duration::from_secs(5),
            refresh_after: Duration::from_mins(5),
            expire_after: Duration::from_mins(10),
            stale_for: Duration::from_hours(24),
            search_pause: Duration::from_mins(1),
            retry_pause: Duration::from_secs(10),
        }
    }
}

/// Time and reason of the last failed request for a document of the issuer. No new request is made
/// for `retry_pause` after it.
#[derive(Default)]
struct LastFailure(Option<(Instant, String)>);

impl LastFailure {
    /// Logs and stores a failed request for `document`. Returns the error for the caller.
    fn record(&mut self, document: &str, error: &NoAnswer) -> Unverified {
        tracing::warn!(%error, "cannot fetch {document}");
        let reason = error.to_string();
        let unverified = unavailable(&reason);
        self.0 = Some((Instant::now(), reason));
        unverified
    }

    /// Returns the error of the last request; `None` if the request succeeded.
    fn error(&self) -> Option<Unverified> {
        self.0.as_ref().map(|(_, reason)| unavailable(reason))
    }

    /// Returns the error of the last request if it failed less than `retry_pause` ago, so that no
    /// new request may be made.
    fn recent(&self, timings: &Timings) -> Option<Unverified> {
        let (time, _) = self.0.as_ref()?;
        if time.elapsed() < timings.retry_pause { self.error() } else { None }
    }
}

/// Creates the error for an identity that cannot be verified now, for this reason.
fn unavailable(reason: &str) -> Unverified {
    Unverified::Unavailable(reason.into())
}
