//! Callers: users, service tokens and others that make requests.

use std::sync::Arc;

use uuid::Uuid;

use crate::model::error::NO_ACCOUNT;
use crate::model::{EmailAddress, Error, Identity, Origin, Principal, Result, SessionId, UserId};
use crate::store::{SessionRecord, TokenRecord, UserRecord};

/// Caller of an operation: the authenticated identity and the network origin of the request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Authenticated identity of the caller.
    pub who: Who,
    /// Network origin of the request.
    pub origin: Origin,
    account: Option<UserId>,
}

/// Authenticated identity of a caller, or the kind of a caller without one.
#[derive(Debug, Clone)]
pub enum Who {
    /// A user with an account.
    Person(Arc<Person>),
    /// A service token. The MAC in the record is the MAC of the token that was presented: the
    /// current token or, after a replacement, the previous one.
    Token(Arc<TokenRecord>),
    /// A user who has a valid token of the identity provider, but no account yet.
    Unsynced(Arc<Identity>),
    /// A caller without a credential.
    Anonymous,
    /// The service itself, for work that no caller requested, such as a scheduled rotation.
    System,
}

/// A user with an account, and the credential that authenticated the request.
#[derive(Debug, Clone)]
pub struct Person {
    /// Stored record of the user.
    pub user: UserRecord,
    /// Claims of the token that was presented; for a session, the claims that were stored at the
    /// last sign-in.
    pub identity: Identity,
    /// Session that authenticated the request; `None` if a token of the identity provider was used.
    pub session: Option<SessionRecord>,
}

impl Person {
    /// Returns the user's verified e-mail address: from the presented token if it has an e-mail
    /// claim, otherwise from the stored record. `None` if the address is not verified.
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
    /// Creates a caller. The operations of a service token are counted against the user who created
    /// it, unless [`counted_against`](Self::counted_against) another account.
    #[must_use]
    pub(crate) fn new(who: Who, origin: Origin) -> Self {
        let account = match &who {
            Who::Person(person) => Some(person.user.id),
            Who::Token(token) => Some(token.created_by),
            Who::Unsynced(_) | Who::Anonymous | Who::System => None,
        };
        Self { who, origin, account }
    }

    /// Creates a caller without a credential, for public operations.
    #[must_use]
    pub fn anonymous(origin: Origin) -> Self {
        Self::new(Who::Anonymous, origin)
    }

    /// Creates the caller that represents the service itself.
    #[must_use]
    pub(crate) fn system() -> Self {
        Self::new(Who::System, Origin::default())
    }

    /// Sets the account against which the caller's operations are counted.
    #[must_use]
    pub(crate) fn counted_against(self, account: UserId) -> Self {
        Self { account: Some(account), ..self }
    }

    /// Returns the ID of the session that authenticated the request; `None` for other credentials.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        self.session_record().map(|session| session.id)
    }

    /// Returns the session that authenticated the request; `None` for other credentials.
    pub(crate) fn session_record(&self) -> Option<&SessionRecord> {
        match &self.who {
            Who::Person(person) => person.session.as_ref(),
            Who::Token(_) | Who::Unsynced(_) | Who::Anonymous | Who::System => None,
        }
    }

    /// Returns the ID of the user or service token, for authorization queries. Fails for all other
    /// callers.
    pub fn principal(&self) -> Result<Principal> {
        match &self.who {
            Who::Person(person) => Ok(Principal::User(person.user.id)),
            Who::Token(token) => Ok(Principal::Token(token.id)),
            Who::Unsynced(_) => Err(unsynced()),
            Who::Anonymous | Who::System => Err(NO_CREDENTIAL),
        }
    }

    /// Returns the ID of the user or service token, which is stored as the author of records and in
    /// audit entries; `None` for other callers.
    #[must_use]
    pub fn actor(&self) -> Option<Uuid> {
        match &self.who {
            Who::Person(person) => Some(person.user.id.uuid()),
            Who::Token(token) => Some(token.id.uuid()),
            Who::Unsynced(_) | Who::Anonymous | Who::System => None,
        }
    }

    /// Returns the account against which the caller's operations are counted: the user, or the user
    /// who created the service token. For a token whose creator is not a member of its team, the ID
    /// of the team takes the place of a user ID. `None` for callers without an account.
    #[must_use]
    pub fn account(&self) -> Option<UserId> {
        self.account
    }

    /// Returns the claims that the identity provider made about the caller. Fails if the caller is
    /// not a user.
    pub fn identity(&self) -> Result<&Identity> {
        match &self.who {
            Who::Person(person) => Ok(&person.identity),
            Who::Unsynced(identity) => Ok(identity),
            Who::Token(_) => Err(Error::forbidden(PEOPLE_ONLY)),
            Who::Anonymous | Who::System => Err(NO_CREDENTIAL),
        }
    }

    /// Returns the caller's user record. Fails if the caller is not a user.
    pub fn person(&self) -> Result<&UserRecord> {
        self.as_person().map(|person| &person.user)
    }

    /// Returns the caller's user record, identity and session. Fails if the caller is not a user.
    pub fn as_person(&self) -> Result<&Person> {
        match &self.who {
            Who::Person(person) => Ok(person),
            Who::Token(_) => Err(Error::forbidden(PEOPLE_ONLY)),
            Who::Unsynced(_) => Err(unsynced()),
            Who::Anonymous | Who::System => Err(NO_CREDENTIAL),
        }
    }
}

/// Kinds of callers that an operation allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callers {
    /// Everyone: no credential required.
    Public,
    /// Users with an account, and service tokens.
    Authenticated,
    /// Callers with any valid credential, including users who have no account yet.
    AnyCredential,
    /// Users with an account only.
    People,
    /// Service tokens only.
    Tokens,
    /// Users with an account, and users who have a valid token of the identity provider but no
    /// account yet.
    Identities,
}

const NO_CREDENTIAL: Error = Error::Unauthenticated("this needs a credential");
const PEOPLE_ONLY: &str = "a service token may not do this";
const TOKENS_ONLY: &str = "only a service token may do this";

impl Callers {
    /// Fails unless the operation allows callers of this kind. Called before anything else is
    /// checked.
    pub fn admit(self, caller: &Caller) -> Result<()> {
        match (self, &caller.who) {
            (Self::Public, _)
            | (Self::Authenticated, Who::Person(_) | Who::Token(_))
            | (Self::AnyCredential, Who::Person(_) | Who::Token(_) | Who::Unsynced(_))
            | (Self::People, Who::Person(_))
            | (Self::Tokens, Who::Token(_))
            | (Self::Identities, Who::Person(_) | Who::Unsynced(_)) => Ok(()),
            (Self::People | Self::Identities, Who::Token(_)) => Err(Error::forbidden(PEOPLE_ONLY)),
            (Self::Tokens, Who::Person(_) | Who::Unsynced(_)) => Err(Error::forbidden(TOKENS_ONLY)),
            (Self::Authenticated | Self::People, Who::Unsynced(_)) => Err(unsynced()),
            (_, Who::Anonymous | Who::System) => Err(NO_CREDENTIAL),
        }
    }
}

fn unsynced() -> Error {
    Error::Unauthenticated(NO_ACCOUNT)
}
