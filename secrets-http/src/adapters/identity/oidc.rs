//! Verification of tokens of an OpenID provider.

use std::sync::Arc;

use async_trait::async_trait;
use hyper::Uri;
use secrets_core::jwt::{self, Expectations, JwtError, KeySet, Keys};
use secrets_core::model::{Clock, Identity};
use secrets_core::ports::identity::{IdentityVerifier, Unverified};

use super::Timings;
use super::key_cache::KeyCache;
use super::provider::Provider;
use super::userinfo::Userinfo;
use crate::adapters::fetch::{Client, Limits};

/// Maximum size of a document of the provider, in bytes. A key set with the maximum of fifty keys
/// is much smaller.
const MAX_DOCUMENT_BYTES: usize = 256 * 1024;

/// Settings of an OpenID provider.
#[derive(Debug, Clone)]
pub struct OidcSettings {
    /// Expected issuer and audience of tokens.
    pub expectations: Expectations,
    /// URL of the key set. If `None`, taken from the discovery document.
    pub jwks_url: Option<Uri>,
    /// Timings. Only tests change the default.
    pub timings: Timings,
}

/// Verifies the tokens of an OpenID provider with the public keys of the provider.
pub struct OidcVerifier {
    cache: Arc<KeyCache>,
    userinfo: Userinfo,
    expectations: Expectations,
    clock: Arc<dyn Clock>,
}

impl OidcVerifier {
    /// Creates a verifier. Keys are fetched when first needed.
    pub fn new(settings: OidcSettings, clock: Arc<dyn Clock>, client: Client) -> Self {
        let OidcSettings { expectations, jwks_url, timings } = settings;
        let limits = Limits { time: timings.fetch, bytes: MAX_DOCUMENT_BYTES };
        let provider = Provider { client, issuer: expectations.issuer.clone(), jwks_url, limits };
        let cache = Arc::new(KeyCache::new(provider, timings));
        Self { cache, userinfo: Userinfo::new(timings), expectations, clock }
    }

    /// Fetches the keys if they are not cached yet. Returns the number of usable keys.
    pub async fn warm(&self) -> Result<usize, Unverified> {
        self.cache.current().await.map(|snapshot| snapshot.keys.len())
    }

    fn check(&self, token: &str, keys: &Arc<KeySet>) -> Result<Identity, JwtError> {
        let keys = Keys::Set(Arc::clone(keys));
        jwt::verify(token, &keys, &self.expectations, self.clock.now())
    }
}

#[async_trait]
impl IdentityVerifier for OidcVerifier {
    async fn verify(&self, token: &str) -> Result<Identity, Unverified> {
        let seen = self.cache.current().await?;
        let verdict = match self.check(token, &seen.keys) {
            Err(JwtError::UnknownKey) => match self.cache.newer(&seen).await? {
                Some(newer) => self.check(token, &newer.keys),
                None => Err(JwtError::UnknownKey),
            },
            verdict => verdict,
        };
        verdict.map_err(JwtError::into_unverified)
    }

    async fn enrich(&self, token: &str, identity: Identity) -> Result<Identity, Unverified> {
        if identity.email.is_some() {
            return Ok(identity);
        }
        let profile = self.userinfo.profile(&self.cache.provider, token, &identity).await?;
        Ok(match profile {
            Some(profile) => profile.complete(identity),
            None => identity,
        })
    }
}
