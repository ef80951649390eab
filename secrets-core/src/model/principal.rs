//! Callers as data: the claims of an identity provider, the origin of a request, the principal.

use std::net::IpAddr;

use uuid::Uuid;

use super::{TokenId, UserId};

/// A verified identity: the claims of an identity provider's token whose signature was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// `iss`: the identity provider.
    pub issuer: String,
    /// `sub`: the person's ID at the identity provider. Unique per issuer.
    pub subject: String,
    /// `email`, unchanged.
    pub email: Option<String>,
    /// `email_verified`; false if the claim is absent.
    pub email_verified: bool,
    /// `name`.
    pub name: Option<String>,
    /// `given_name`.
    pub given_name: Option<String>,
    /// `family_name`.
    pub family_name: Option<String>,
    /// `picture`: URL of an image.
    pub picture: Option<String>,
}

impl Identity {
    /// An identity with a verified e-mail address and no other optional claims.
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

/// An account or token whose membership the store looks up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Principal {
    /// A user account.
    User(UserId),
    /// A service token.
    Token(TokenId),
}
