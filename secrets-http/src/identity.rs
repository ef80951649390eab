//! Verification of user tokens (JWTs) of the configured issuer.
//!
//! Tokens are verified with the keys published by the issuer ([`OidcVerifier`]), with a shared
//! secret, or in development mode with a local key (both [`FixedVerifier`]).

mod key_cache;
mod oidc;
mod provider;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use secrets_core::model::{Clock, Identity};
use secrets_core::ports::identity::{IdentityVerifier, Unverified};
use secrets_core::jwt::{Expectations, Keys, Refusal, self};

pub use self::oidc::{OidcSettings, OidcVerifier};

/// Timeouts and lifetimes for fetching the keys of an issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timings {
    /// Timeout of one request to the issuer.
    pub fetch: Duration,
    /// Age at which keys are refreshed in the background, while the old ones stay in use.
    pub refresh_after: Duration,
    /// Age at which keys are fetched again before use.
    pub expire_after: Duration,
    /// Maximum age of keys that are used while the issuer is unavailable.
    pub stale_for: Duration,
    /// Minimum interval between fetches caused by a token with an unknown key ID.
    pub search_pause: Duration,
    /// Delay before a failed fetch is retried.
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
            retry_pause: Duration::from_secs(5),
        }
    }
}

/// Verifies tokens with a fixed key.
pub struct FixedVerifier {
    keys: Keys,
    expectations: Expectations,
    clock: Arc<dyn Clock>,
}

impl FixedVerifier {
    /// Creates a verifier for tokens signed with this key.
    pub fn new(keys: Keys, expectations: Expectations, clock: Arc<dyn Clock>) -> Self {
        Self { keys, expectations, clock }
    }
}

#[async_trait]
impl IdentityVerifier for FixedVerifier {
    async fn verify(&self, token: &str) -> Result<Identity, Unverified> {
        jwt::verify(token, &self.keys, &self.expectations, self.clock.now()).map_err(refused)
    }
}

/// Logs the reason why a token was refused. The caller does not learn the reason; the operator
/// needs it, most often because of a wrong audience in a new installation.
fn refused(refusal: Refusal) -> Unverified {
    let reason = match refusal {
        Refusal::UnknownKey => "the issuer has no key with this ID",
        Refusal::Invalid(reason) => reason,
    };
    tracing::debug!(reason, "refused a token");
    Unverified::Invalid
}
