//! Identity providers: verification of the tokens with which users sign in.

use async_trait::async_trait;

use crate::model::{Cause, Identity};

/// Verifies tokens of an identity provider.
#[async_trait]
pub trait IdentityVerifier: Send + Sync {
    /// Checks a token's signature, issuer, audience and lifetime.
    async fn verify(&self, token: &str) -> Result<Identity, Unverified>;

    /// Adds the claims of the issuer's userinfo endpoint, if the issuer has one. Called only when a
    /// user signs in.
    async fn enrich(&self, _token: &str, identity: Identity) -> Identity {
        identity
    }
}

/// Reason why a token was not accepted.
#[derive(Debug)]
pub enum Unverified {
    /// The token is malformed, wrongly signed, not valid at this time, or from another issuer or
    /// for another audience.
    Invalid,
    /// The issuer's public keys could not be loaded, so the token could not be checked.
    Unavailable(Cause),
}
