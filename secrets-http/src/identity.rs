//! Who is calling: the tokens of the configured issuer.
//!
//! An issuer is known by the keys it publishes ([`OidcVerifier`]), by a secret shared with it, or,
//! in the development mode, by a key of our own ([`FixedVerifier`]).

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

/// How long things take and last, where keys are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timings {
    /// For one answer of the issuer.
    pub fetch: Duration,
    /// Keys of this age are fetched again, while the old ones are used on.
    pub refresh_after: Duration,
    /// Keys of this age are fetched again before they are used.
    pub expire_after: Duration,
    /// Keys are used up to this age where newer ones cannot be had.
    pub stale_for: Duration,
    /// How often, at most, keys are fetched because a token names one that is not there.
    pub search_pause: Duration,
    /// How long a failed fetch is not repeated.
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

/// Verifies tokens with a key known beforehand.
pub struct FixedVerifier {
    keys: Keys,
    expectations: Expectations,
    clock: Arc<dyn Clock>,
}

impl FixedVerifier {
    /// For tokens that meet the expectations and were signed with this key.
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

/// The caller learns nothing but that. The log may say more: a new installation's most likely
/// trouble is an audience that is not what the issuer writes.
fn refused(refusal: Refusal) -> Unverified {
    let reason = match refusal {
        Refusal::UnknownKey => "the issuer has no such key",
        Refusal::Invalid(reason) => reason,
    };
    tracing::debug!(reason, "refused a token");
    Unverified::Invalid
}
