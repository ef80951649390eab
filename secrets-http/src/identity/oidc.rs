//! The tokens of an OpenID provider.

use std::sync::Arc;

use async_trait::async_trait;
use hyper::Uri;
use secrets_core::model::{Clock, Identity};
use secrets_core::ports::identity::{IdentityVerifier, Unverified};
use secrets_core::jwt::{Expectations, KeySet, Keys, Refusal, self};

use super::key_cache::KeyCache;
use super::provider::Provider;
use super::{Timings, refused};
use crate::fetch::{Client, Limits};

/// Far more than fifty keys take.
const LONGEST_DOCUMENT: usize = 256 * 1024;

/// Which provider it is.
#[derive(Debug, Clone)]
pub struct OidcSettings {
    /// Issuer and audience of its tokens.
    pub expectations: Expectations,
    /// Where its keys are, unless it is to be asked.
    pub jwks_url: Option<Uri>,
    /// Other ones than usual are for tests.
    pub timings: Timings,
}

/// Verifies the tokens of an OpenID provider with the keys it publishes.
pub struct OidcVerifier {
    cache: Arc<KeyCache>,
    expectations: Expectations,
    clock: Arc<dyn Clock>,
}

impl OidcVerifier {
    /// Fetches nothing yet.
    pub fn new(settings: OidcSettings, clock: Arc<dyn Clock>, client: Client) -> Self {
        let OidcSettings { expectations, jwks_url, timings } = settings;
        let limits = Limits { time: timings.fetch, bytes: LONGEST_DOCUMENT };
        let provider = Provider { client, issuer: expectations.issuer.clone(), jwks_url, limits };
        Self { cache: Arc::new(KeyCache::new(provider, timings)), expectations, clock }
    }

    /// Fetches the keys if that has not happened, and says how many can be used.
    pub async fn warm(&self) -> Result<usize, Unverified> {
        self.cache.current().await.map(|snapshot| snapshot.keys.len())
    }

    fn check(&self, token: &str, keys: &Arc<KeySet>) -> Result<Identity, Refusal> {
        let keys = Keys::Set(Arc::clone(keys));
        jwt::verify(token, &keys, &self.expectations, self.clock.now())
    }
}

#[async_trait]
impl IdentityVerifier for OidcVerifier {
    async fn verify(&self, token: &str) -> Result<Identity, Unverified> {
        let seen = self.cache.current().await?;
        let verdict = match self.check(token, &seen.keys) {
            Err(Refusal::UnknownKey) => match self.cache.newer(&seen).await? {
                Some(newer) => self.check(token, &newer.keys),
                None => Err(Refusal::UnknownKey),
            },
            verdict => verdict,
        };
        verdict.map_err(refused)
    }

    async fn enrich(&self, token: &str, identity: Identity) -> Identity {
        if identity.email.is_some() {
            return identity;
        }
        match self.cache.provider.profile(token, &identity).await {
            Ok(Some(profile)) => profile.complete(identity),
            Ok(None) => identity,
            Err(error) => {
                tracing::warn!(%error, "cannot ask the issuer who somebody is");
                identity
            }
        }
    }
}
