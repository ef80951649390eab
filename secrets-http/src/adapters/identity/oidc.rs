//! Verification of tokens of an OpenID provider.

use std::sync::Arc;

use async_trait::async_trait;
use hyper::Uri;
use secrets_core::jwt::{self, Expectations, JwtError, KeySet};
use secrets_core::model::{Clock, Identity};
use secrets_core::ports::identity::{IdentityVerifier, KeySetUsage, Unverified};

use super::Timings;
use super::discovery::DiscoveryCache;
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
    /// URL of the key set. If `None`, the URL is taken from the discovery document.
    pub jwks_url: Option<Uri>,
    /// Timeouts and lifetimes. Only tests change the defaults.
    pub timings: Timings,
}

/// Verifies the tokens of an OpenID provider with the public keys of the provider.
pub struct OidcVerifier {
    pub(super) cache: Arc<KeyCache>,
    pub(super) discovery: Arc<DiscoveryCache>,
    userinfo: Userinfo,
    pub(super) expectations: Expectations,
    clock: Arc<dyn Clock>,
}

impl OidcVerifier {
    /// Creates a verifier. Keys are fetched when first needed.
    pub fn new(settings: OidcSettings, clock: Arc<dyn Clock>, client: Client) -> Self {
        let OidcSettings { expectations, jwks_url, timings } = settings;
        let limits = Limits { time: timings.fetch, bytes: MAX_DOCUMENT_BYTES };
        let provider = Provider { client, issuer: expectations.issuer.clone(), jwks_url, limits };
        let cache = Arc::new(KeyCache::new(provider, timings));
        let discovery = Arc::new(DiscoveryCache::new(timings));
        let userinfo = Userinfo::new(Arc::clone(&discovery), timings);
        Self { cache, discovery, userinfo, expectations, clock }
    }

    /// Fetches the keys if they are not cached yet. Returns the number of usable keys.
    pub async fn warm(&self) -> Result<usize, Unverified> {
        self.cache.current().await.map(|snapshot| snapshot.keys.len())
    }

    /// Verifies an ID token that was issued to the client ID `client` in the sign-in with this
    /// `nonce`.
    pub(super) async fn verify_id_token(
        &self,
        token: &str,
        client: &str,
        nonce: &str,
    ) -> Result<Identity, Refused> {
        let issuer = self.expectations.issuer.clone();
        let expectations = Expectations { issuer, audience: client.to_owned() };
        let check = |keys: &KeySet| {
            jwt::verify_id_token(token, keys, &expectations, nonce, self.clock.now())
        };
        self.with_keys(check).await
    }

    /// Runs `check` with the cached keys. If the check fails because a key is missing, fetches
    /// newer keys and runs the check again.
    async fn with_keys(
        &self,
        check: impl Fn(&KeySet) -> Result<Identity, JwtError> + Send,
    ) -> Result<Identity, Refused> {
        let seen = self.cache.current().await?;
        let verdict = match check(&seen.keys) {
            Err(JwtError::UnknownKey) => match self.cache.newer(&seen).await? {
                Some(newer) => check(&newer.keys),
                None => Err(JwtError::UnknownKey),
            },
            verdict => verdict,
        };
        verdict.map_err(Refused::Token)
    }
}

/// Reason why a token was not verified: the token is invalid, or there are no keys to verify it.
pub(super) enum Refused {
    /// The token is invalid.
    Token(JwtError),
    /// There are no usable keys.
    NoKeys(Unverified),
}

impl From<Unverified> for Refused {
    fn from(reason: Unverified) -> Self {
        Self::NoKeys(reason)
    }
}

#[async_trait]
impl IdentityVerifier for OidcVerifier {
    async fn verify(&self, token: &str) -> Result<Identity, Unverified> {
        let check = |keys: &KeySet| jwt::verify(token, keys, &self.expectations, self.clock.now());
        self.with_keys(check).await.map_err(|refused| match refused {
            Refused::Token(error) => error.into_unverified(),
            Refused::NoKeys(reason) => reason,
        })
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

    fn key_set(&self) -> Option<KeySetUsage> {
        Some(self.cache.usage())
    }
}
