//! Token verifier with a fixed key set.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Expectations, JwtError, KeySet, verify};
use crate::model::{Clock, Identity};
use crate::ports::identity::{IdentityVerifier, Unverified};

/// Token verifier with a fixed key set.
pub struct FixedVerifier {
    keys: KeySet,
    expectations: Expectations,
    clock: Arc<dyn Clock>,
}

impl FixedVerifier {
    /// Creates a verifier for tokens that are signed with one of these keys.
    pub fn new(keys: KeySet, expectations: Expectations, clock: Arc<dyn Clock>) -> Self {
        Self { keys, expectations, clock }
    }
}

#[async_trait]
impl IdentityVerifier for FixedVerifier {
    async fn verify(&self, token: &str) -> Result<Identity, Unverified> {
        verify(token, &self.keys, &self.expectations, self.clock.now())
            .map_err(JwtError::into_unverified)
    }
}

impl JwtError {
    /// Converts the error to the error for the caller, which says only whether the token is expired
    /// or invalid. Logs the exact reason for the operator; the most common one is a wrong audience
    /// in the configuration.
    #[must_use]
    pub fn into_unverified(self) -> Unverified {
        let (reason, unverified) = match self {
            Self::UnknownKey => ("the issuer has no key with this ID", Unverified::Invalid),
            Self::Expired => ("expired", Unverified::Expired),
            Self::Invalid(reason) => (reason, Unverified::Invalid),
        };
        tracing::debug!(reason, "refused a token");
        unverified
    }
}
