//! Callers as data: the claims of an identity provider, the origin of a request, the principal.

use std::net::IpAddr;

use uuid::Uuid;

use super::{TokenId, UserId};

/// What an identity provider vouches for: the claims of a token whose signature was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// `iss`: who vouches.
    pub issuer: String,
    /// `sub`: the person, as the issuer numbers them. Unique with the issuer.
    pub subject: String,
    /// `email`, as given.
    pub email: Option<String>,
    /// `email_verified`; absent counts as unverified.
    pub email_verified: bool,
    /// `name`.
    pub name: Option<String>,
    /// `given_name`.
    pub given_name: Option<String>,
    /// `family_name`.
    pub family_name: Option<String>,
    /// `picture`: an address of an image.
    pub picture: Option<String>,
}

impl Identity {
    /// Somebody for whom `issuer` vouches, with a verified address and nothing more.
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

/// Where a request comes from; kept with every audit entry.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The client's address.
    pub address: Option<IpAddr>,
    /// The client's name for itself, cut to 128 characters.
    pub agent: Option<String>,
    /// The request's id.
    pub request: Option<Uuid>,
}

/// Whose standing is asked about, in a store's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Principal {
    /// A person.
    User(UserId),
    /// A service token.
    Token(TokenId),
}
