//! Who is calling.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use uuid::Uuid;

use crate::model::{CliSessionId, EmailAddress, Error, Result, TokenId, UserId};
use crate::store::{TokenRecord, UserRecord};

/// Somebody whose credential was verified.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Who it is.
    pub who: Who,
    /// Where the request comes from.
    pub origin: Origin,
}

/// The kinds of caller.
#[derive(Debug, Clone)]
pub enum Who {
    /// A person with an account here.
    Person(Arc<Person>),
    /// A machine.
    Token(Arc<TokenRecord>),
    /// A person whom the identity provider knows and who has not signed in here yet.
    Unsynced(Arc<Identity>),
    /// Somebody who showed no credential, where none is asked for.
    Anonymous,
}

/// A person with an account here.
#[derive(Debug, Clone)]
pub struct Person {
    /// What we know of them.
    pub user: UserRecord,
    /// What their identity provider says now; where they come by a session, what it said last.
    pub identity: Identity,
    /// The session by which they come, if it is not their identity provider's token.
    pub session: Option<CliSessionId>,
}

impl Person {
    /// The address that their identity provider vouches for: what the credential says, or else what
    /// was said when they signed in.
    #[must_use]
    pub fn verified_email(&self) -> Option<EmailAddress> {
        let (email, is_verified) = match &self.identity.email {
            Some(email) => (email, self.identity.email_verified),
            None => (&self.user.email, self.user.email_verified),
        };
        if is_verified { email.parse().ok() } else { None }
    }
}

impl Caller {
    /// Somebody who showed no credential.
    #[must_use]
    pub fn anonymous(origin: Origin) -> Self {
        Self { who: Who::Anonymous, origin }
    }

    /// The session by which a person comes.
    #[must_use]
    pub fn cli_session(&self) -> Option<CliSessionId> {
        match &self.who {
            Who::Person(person) => person.session,
            Who::Token(_) | Who::Unsynced(_) | Who::Anonymous => None,
        }
    }

    /// The caller as the stores know it.
    pub fn principal(&self) -> Result<Principal> {
        match &self.who {
            Who::Person(person) => Ok(Principal::User(person.user.id)),
            Who::Token(token) => Ok(Principal::Token(token.id)),
            Who::Unsynced(_) => Err(unsynced()),
            Who::Anonymous => Err(NO_CREDENTIAL),
        }
    }

    /// The id kept beside what the caller makes.
    #[must_use]
    pub fn actor(&self) -> Option<Uuid> {
        match &self.who {
            Who::Person(person) => Some(person.user.id.uuid()),
            Who::Token(token) => Some(token.id.uuid()),
            Who::Unsynced(_) | Who::Anonymous => None,
        }
    }

    /// The person's record, where only a person can go on.
    pub fn person(&self) -> Result<&UserRecord> {
        self.somebody().map(|person| &person.user)
    }

    /// The person, where only a person can go on.
    pub fn somebody(&self) -> Result<&Person> {
        match &self.who {
            Who::Person(person) => Ok(person),
            Who::Token(_) => Err(Error::Forbidden(PEOPLE_ONLY)),
            Who::Unsynced(_) => Err(unsynced()),
            Who::Anonymous => Err(NO_CREDENTIAL),
        }
    }
}

/// Which kinds of caller an operation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callers {
    /// Whoever likes.
    Anyone,
    /// People and service tokens.
    Any,
    /// Whoever holds a valid credential, an account or not.
    Known,
    /// People only.
    People,
    /// Service tokens only.
    Tokens,
    /// People, whether or not they have an account yet.
    Identities,
}

const NO_CREDENTIAL: Error = Error::Unauthenticated("this needs a credential");
const PEOPLE_ONLY: &str = "a service token may not do this";
const TOKENS_ONLY: &str = "only a service token may do this";

impl Callers {
    /// Refuses a caller of the wrong kind, before anything else is looked at.
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
