//! Callers: the authenticated (or anonymous) origin of a request.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use uuid::Uuid;

use crate::ids::{CliSessionId, TokenId, UserId};
use crate::names::EmailAddress;
use crate::store::{TokenRecord, UserRecord};
use crate::{Error, Result};

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

/// Verifies tokens of an identity provider.
#[async_trait]
pub trait IdentityVerifier: Send + Sync {
    /// Checks a token's signature, issuer, audience and lifetime.
    async fn verify(&self, token: &str) -> std::result::Result<Identity, Unverified>;

    /// Adds the claims of the issuer's userinfo endpoint, if the issuer has one. Called only when a
    /// person signs in.
    async fn enrich(&self, _token: &str, identity: Identity) -> Identity {
        identity
    }
}

/// Reason why a token was not accepted.
#[derive(Debug)]
pub enum Unverified {
    /// The token is not valid, not from this issuer, not for this audience, or not valid at this
    /// time.
    Invalid,
    /// The issuer's keys could not be loaded, so the token could not be checked.
    Unavailable(crate::error::Cause),
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

/// A caller: the verified principal, if any, and the origin of the request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Kind of caller.
    pub who: Who,
    /// Network origin of the request.
    pub origin: Origin,
}

/// Kinds of caller.
#[derive(Debug, Clone)]
pub enum Who {
    /// A person with an account.
    Person(Arc<Person>),
    /// A service token.
    Token(Arc<TokenRecord>),
    /// A person with a valid token of the identity provider but without an account yet.
    Unsynced(Arc<Identity>),
    /// A caller without a credential.
    Anonymous,
}

/// A person with an account.
#[derive(Debug, Clone)]
pub struct Person {
    /// Stored account record.
    pub user: UserRecord,
    /// Claims of the presented token; for a CLI session, the claims stored at the last sign-in.
    pub identity: Identity,
    /// CLI session used for the request; none if a token of the identity provider was used.
    pub session: Option<CliSessionId>,
}

impl Person {
    /// The person's verified e-mail address: from the presented token if it has an e-mail claim,
    /// otherwise from the stored account.
    #[must_use]
    pub fn verified_email(&self) -> Option<EmailAddress> {
        let (email, is_verified) = match &self.identity.email {
            Some(email) => (email, self.identity.email_verified),
            None => (&self.user.email, self.user.email_verified),
        };
        if is_verified { email.parse().ok() } else { None }
    }
}

/// An account or token whose membership the store looks up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Principal {
    /// A user account.
    User(UserId),
    /// A service token.
    Token(TokenId),
}

impl Caller {
    /// A caller without a credential.
    #[must_use]
    pub fn anonymous(origin: Origin) -> Self {
        Self { who: Who::Anonymous, origin }
    }

    /// CLI session used for the request, if any.
    #[must_use]
    pub fn cli_session(&self) -> Option<CliSessionId> {
        match &self.who {
            Who::Person(person) => person.session,
            Who::Token(_) | Who::Unsynced(_) | Who::Anonymous => None,
        }
    }

    /// The principal, for store queries. Fails if the caller has no account and is no service
    /// token.
    pub fn principal(&self) -> Result<Principal> {
        match &self.who {
            Who::Person(person) => Ok(Principal::User(person.user.id)),
            Who::Token(token) => Ok(Principal::Token(token.id)),
            Who::Unsynced(_) => Err(unsynced()),
            Who::Anonymous => Err(NO_CREDENTIAL),
        }
    }

    /// User or token ID stored as the author of records.
    #[must_use]
    pub fn actor(&self) -> Option<Uuid> {
        match &self.who {
            Who::Person(person) => Some(person.user.id.uuid()),
            Who::Token(token) => Some(token.id.uuid()),
            Who::Unsynced(_) | Who::Anonymous => None,
        }
    }

    /// The caller's account record. Fails if the caller is not a person with an account.
    pub fn person(&self) -> Result<&UserRecord> {
        self.somebody().map(|person| &person.user)
    }

    /// The caller as a person. Fails if the caller is not a person with an account.
    pub fn somebody(&self) -> Result<&Person> {
        match &self.who {
            Who::Person(person) => Ok(person),
            Who::Token(_) => Err(Error::Forbidden(PEOPLE_ONLY)),
            Who::Unsynced(_) => Err(unsynced()),
            Who::Anonymous => Err(NO_CREDENTIAL),
        }
    }
}

/// Kinds of caller an operation allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callers {
    /// No credential required.
    Anyone,
    /// People and service tokens.
    Any,
    /// Any valid credential, with or without an account.
    Known,
    /// People only.
    People,
    /// Service tokens only.
    Tokens,
    /// People, with or without an account.
    Identities,
}

const NO_CREDENTIAL: Error = Error::Unauthenticated("this needs a credential");
const PEOPLE_ONLY: &str = "a service token may not do this";
const TOKENS_ONLY: &str = "only a service token may do this";

impl Callers {
    /// Fails unless callers of this kind are allowed. Called before anything else is checked.
    pub fn admit(self, caller: &Caller) -> Result<()> {
        match (self, &caller.who) {
            (Self::Anyone, _)
            | (Self::Any, Who::Person(_) | Who::Token(_))
            | (Self::Known, Who::Person(_) | Who::Token(_) | Who::Unsynced(_))
            | (Self::People, Who::Person(_))
            | (Self::Tokens, Who::Token(_))
            | (Self::Identities, Who::Person(_) | Who::Unsynced(_)) => Ok(()),
            (Self::People | Self::Identities, Who::Token(_)) => Err(Error::Forbidden(PEOPLE_ONLY)),
            (Self::Tokens, Who::Person(_) | Who::Unsynced(_)) => Err(Error::Forbidden(TOKENS_ONLY)),
            (Self::Any | Self::People, Who::Unsynced(_)) => Err(unsynced()),
            (_, Who::Anonymous) => Err(NO_CREDENTIAL),
        }
    }
}

fn unsynced() -> Error {
    Error::Unauthenticated("no account yet: call POST /api/v1/auth/sync once to sign in")
}
