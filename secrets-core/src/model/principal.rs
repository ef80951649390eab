//! Data about callers: identity claims, origin of a request, principal.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use uuid::Uuid;

use super::{TokenId, UserId};

/// A verified user identity: the claims of an identity provider's token, or claims that the host
/// application has verified itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// `iss` claim: the identity provider.
    pub issuer: String,
    /// `sub` claim: the user's ID at the identity provider. Unique per issuer.
    pub subject: String,
    /// `email` claim, unchanged.
    pub email: Option<String>,
    /// `email_verified` claim; false if the claim is absent.
    pub email_verified: bool,
    /// `name` claim.
    pub name: Option<String>,
    /// `given_name` claim.
    pub given_name: Option<String>,
    /// `family_name` claim.
    pub family_name: Option<String>,
    /// `picture` claim: URL of an image.
    pub picture: Option<String>,
    /// Token with these claims, kept only if the claims have no e-mail address: then the identity
    /// provider is asked for the address at sign-in.
    pub token: Option<IdentityToken>,
}

/// Token of an identity provider.
#[derive(Clone, PartialEq, Eq)]
pub struct IdentityToken(Arc<str>);

impl IdentityToken {
    /// Wraps the text of a token.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Returns the text.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for IdentityToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdentityToken(…)")
    }
}

impl Identity {
    /// Creates an identity with a verified e-mail address and no other optional claims.
    pub fn new(
        issuer: impl Into<String>,
        subject: impl Into<String>,
        email: impl Into<String>,
    ) -> Self {
        Self {
            issuer: issuer.into(),
            subject: subject.into(),
            email: Some(email.into()),
            email_verified: true,
            name: None,
            given_name: None,
            family_name: None,
            picture: None,
            token: None,
        }
    }
}

/// Network origin of a request. Stored with every audit entry.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// Client IP address.
    pub address: Option<IpAddr>,
    /// User agent, truncated to 128 characters.
    pub agent: Option<String>,
    /// Request ID.
    pub request: Option<Uuid>,
}

/// ID of a user or service token, for authorization queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Principal {
    /// User ID.
    User(UserId),
    /// Service token ID.
    Token(TokenId),
}
