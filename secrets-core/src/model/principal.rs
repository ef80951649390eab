//! Data about callers: identity claims, network origin of a request, and the ID used for
//! authorization.

use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use uuid::Uuid;
use zeroize::Zeroizing;

use super::{Time, TokenId, UserId};

/// A verified user identity: the claims of an identity provider's token, or claims that the host
/// application has verified itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// `iss` claim: identifier (usually the URL) of the identity provider.
    pub issuer: String,
    /// `sub` claim: the user's ID at the identity provider. Unique per issuer.
    pub subject: String,
    /// `email` claim, as sent by the identity provider.
    pub email: Option<String>,
    /// `email_verified` claim; false if the claim is absent.
    pub email_verified: bool,
    /// `name` claim: the user's full name.
    pub name: Option<String>,
    /// `given_name` claim: the user's first name.
    pub given_name: Option<String>,
    /// `family_name` claim: the user's last name.
    pub family_name: Option<String>,
    /// `picture` claim: URL of an image of the user.
    pub picture: Option<String>,
    /// Token that contained these claims. Kept only if the claims have no e-mail address: at
    /// sign-in, the token is used to get the address from the identity provider.
    pub token: Option<IdentityToken>,
}

/// A token of an identity provider, as a string that is wiped on drop.
#[derive(Clone, PartialEq, Eq)]
pub struct IdentityToken(Arc<Zeroizing<String>>);

impl IdentityToken {
    /// Creates a token from its string.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(Arc::new(Zeroizing::new(text.to_owned())))
    }

    /// Returns the token as a string.
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
    /// Creates an identity with a verified e-mail address and without other optional claims.
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

/// Network origin of a request: client address, user agent and request ID. Stored with every audit
/// entry.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// IP address of the client.
    pub address: Option<IpAddr>,
    /// `User-Agent` header of the client, truncated to 128 characters.
    pub agent: Option<Arc<str>>,
    /// ID of the request.
    pub request: Option<Uuid>,
    /// Rate-limit window of the team that the request is for, once known. All clones of an origin
    /// share this value.
    pub team_window: TeamWindow,
    /// Time that the request has spent before its operation, deducted from its time limit. All
    /// clones of an origin share this time.
    pub time_used: TimeUsed,
}

/// Time that a request has spent before its operation, on authentication and on other waits of the
/// host application. Deducted from the time limit of the request's first operation.
#[derive(Debug, Clone, Default)]
pub struct TimeUsed(Arc<AtomicU64>);

impl TimeUsed {
    /// Adds the duration of a wait.
    pub fn add(&self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.0.fetch_add(micros, Ordering::Relaxed);
    }

    /// Returns the time that the request has spent so far.
    pub(crate) fn get(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }

    /// Returns the time that the request has spent so far, and resets it to zero for the next
    /// operation of the same caller.
    pub(crate) fn take(&self) -> Duration {
        Duration::from_micros(self.0.swap(0, Ordering::Relaxed))
    }
}

/// Rate-limit window of the team for which a request was counted. Each request is counted only
/// once, for the first team that the caller is authorized for; this value is empty until then.
#[derive(Debug, Clone, Default)]
pub struct TeamWindow(pub(crate) Arc<OnceLock<Option<Window>>>);

impl TeamWindow {
    /// Returns the window; `None` if the request was not counted for a team.
    #[must_use]
    pub fn get(&self) -> Option<Window> {
        self.0.get().copied().flatten()
    }
}

/// State of a rate-limit counter in the current time window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Maximum number of requests per window.
    pub limit: u32,
    /// Number of requests left in the current window.
    pub remaining: u32,
    /// Start of the next window, in which counting starts again at 0.
    pub resets_at: Time,
    /// True if this request was within the limit.
    pub admitted: bool,
}

/// ID of a user or service token, for authorization queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Principal {
    /// User ID.
    User(UserId),
    /// ID of a service token.
    Token(TokenId),
}
