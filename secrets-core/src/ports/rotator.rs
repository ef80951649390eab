//! The port to the databases whose credentials are rotated.
//!
//! A rotator does one thing to one target and tells how it went; it decides nothing. What is tried
//! again, what a failure means and what is written when is said in [`machine`](crate::rotations::machine).

use std::fmt;

use async_trait::async_trait;

use crate::crypto::Plaintext;
use crate::model::RotationId;
use crate::model::rotations::{Integration, PermissionLevel, SslMode};

/// A database, and how its administrator reaches it.
#[derive(Clone)]
pub struct Target {
    /// What kind of database it is.
    pub integration: Integration,
    /// Its host name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The database on it.
    pub database: String,
    /// Who may make users there.
    pub admin_username: String,
    /// Their password.
    pub admin_password: Plaintext,
    /// How the connection is protected.
    pub ssl_mode: SslMode,
    /// The authorities that are believed about the server's name, as PEM; the machine's own where
    /// nothing is given.
    pub ca_certificate: Option<String>,
    /// What reaches it for us, where we cannot.
    pub proxy: Option<Proxy>,
}

/// A function in the network of the target that does what a rotator does.
#[derive(Clone)]
pub struct Proxy {
    /// Which function of AWS Lambda.
    pub lambda_arn: String,
    /// Its region.
    pub region: String,
    /// What messages to and from it are signed and encrypted with.
    pub shared_secret: Plaintext,
}

/// What orders the changes to a target: it refuses those of an attempt that is older than the last
/// one it has seen (Kleppmann, "How to do distributed locking", 2016).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// Whose change.
    pub rotation: RotationId,
    /// The attempt it belongs to; higher is later.
    pub sequence: u64,
}

/// A user of the target and their password.
#[derive(Clone)]
pub struct Login {
    /// The name: 1 to 32 of `[a-z0-9_]`, as [`slot_user`](crate::rotations::slot_user) makes it.
    pub username: String,
    /// The password: of `[A-Za-z0-9_-]`, so that it needs no quoting anywhere.
    pub password: Plaintext,
}

/// A password to be set.
#[derive(Clone)]
pub struct Apply {
    /// Of which attempt.
    pub fence: Fence,
    /// The role that holds the privileges, made where it is missing.
    pub group: String,
    /// The user, made where it is missing, and the password it is to have.
    pub login: Login,
    /// What the group may do.
    pub level: PermissionLevel,
    /// What the target called itself when it was first changed; another is refused where the kind of
    /// database can tell.
    pub identity: Option<String>,
}

/// What a target said of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// What it calls itself: `system_identifier` of PostgreSQL, `server_uuid` of MySQL.
    pub identity: Option<String>,
    /// Whether the password itself had to be sent, because the server takes no verifier.
    pub sent_in_clear: bool,
}

/// Changes credentials on a target. Every call ends by itself within 30 seconds, and may be made
/// again with the same arguments: it then changes nothing more.
#[async_trait]
pub trait DatabaseRotator: Send + Sync {
    /// Logs in as the administrator and looks whether they could do what is asked; changes nothing.
    async fn test(&self, target: &Target) -> Result<(), TargetError>;

    /// Makes group and user where they are missing, grants the group what the level says and sets
    /// the password, all or nothing where the database can; refuses what an older attempt asks.
    async fn apply(&self, target: &Target, apply: &Apply) -> Result<Applied, TargetError>;

    /// Logs in once as the user and tries what the level permits.
    async fn verify(
        &self,
        target: &Target,
        login: &Login,
        level: PermissionLevel,
    ) -> Result<(), TargetError>;

    /// Shuts a user out, without touching the password; a user that is not there is shut out.
    /// Refuses what an older attempt asks.
    async fn lock(&self, target: &Target, fence: Fence, username: &str) -> Result<(), TargetError>;
}

/// Why a target was not changed, or a login not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetError {
    /// What went wrong.
    pub fault: Fault,
    /// The SQLSTATE that the server gave, where it gave one: five letters and digits, and the only
    /// thing of its own words that is ever repeated.
    pub state: Option<SqlState>,
}

/// A SQLSTATE (ISO/IEC 9075): five upper-case letters and digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqlState([u8; 5]);

/// What can go wrong at a target. Closed: what a server says beyond it is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// No address for the name, none that answers, or none that answers in time.
    Unreachable,
    /// An address that may not be spoken to.
    NotAllowed,
    /// The server speaks no TLS where it is asked for.
    TlsNotOffered,
    /// The server's certificate proves nothing.
    TlsUntrusted,
    /// The administrator was refused.
    AdminRejected,
    /// The user was refused.
    LoginRejected,
    /// The administrator may not do what is needed.
    Privilege,
    /// The database is not there.
    NoDatabase,
    /// The server refused the password for its form.
    PasswordPolicy,
    /// Something held a lock for too long, and nothing was changed.
    Busy,
    /// The connection ended in the middle: what became of the change is not known.
    Interrupted,
    /// Another server than the one that was changed before.
    Identity,
    /// A later attempt was there first.
    Fenced,
    /// The user logs in and may not do what they should.
    ProbeRefused,
    /// Something that no server of this kind says, or that is refused on principle.
    Protocol,
    /// The server is too old, or of another make.
    Unsupported,
    /// The function cannot be invoked now.
    ProxyUnavailable,
    /// The function may not be invoked, or is not there.
    ProxyRefused,
    /// The function's answer does not prove who gave it.
    ProxyUntrusted,
}

impl TargetError {
    /// An error about which the server said nothing.
    #[must_use]
    pub fn of(fault: Fault) -> Self {
        Self { fault, state: None }
    }
}

impl From<Fault> for TargetError {
    fn from(fault: Fault) -> Self {
        Self::of(fault)
    }
}

impl SqlState {
    /// A state as a server gave it, if it is one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes: [u8; 5] = text.as_bytes().try_into().ok()?;
        bytes.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()).then_some(Self(bytes))
    }

    /// The five characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::Unreachable,
        Self::NotAllowed,
        Self::TlsNotOffered,
        Self::TlsUntrusted,
        Self::AdminRejected,
        Self::LoginRejected,
        Self::Privilege,
        Self::NoDatabase,
        Self::PasswordPolicy,
        Self::Busy,
        Self::Interrupted,
        Self::Identity,
        Self::Fenced,
        Self::ProbeRefused,
        Self::Protocol,
        Self::Unsupported,
        Self::ProxyUnavailable,
        Self::ProxyRefused,
        Self::ProxyUntrusted,
    ];

    /// Its name for machines. Stable.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::NotAllowed => "address_not_allowed",
            Self::TlsNotOffered => "tls_not_offered",
            Self::TlsUntrusted => "tls_untrusted",
            Self::AdminRejected => "admin_rejected",
            Self::LoginRejected => "login_rejected",
            Self::Privilege => "privilege_missing",
            Self::NoDatabase => "no_database",
            Self::PasswordPolicy => "password_policy",
            Self::Busy => "busy",
            Self::Interrupted => "interrupted",
            Self::Identity => "identity_changed",
            Self::Fenced => "fenced",
            Self::ProbeRefused => "probe_refused",
            Self::Protocol => "protocol",
            Self::Unsupported => "unsupported",
            Self::ProxyUnavailable => "proxy_unavailable",
            Self::ProxyRefused => "proxy_refused",
            Self::ProxyUntrusted => "proxy_untrusted",
        }
    }

    /// What is said of it, to people.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            // One text for both: which of them it is would tell what there is in our network.
            Self::Unreachable | Self::NotAllowed => {
                "the database cannot be reached: nothing answers in time, or it is at an address that may not be reached from here"
            }
            Self::TlsNotOffered => "the server does not offer TLS, which ssl_mode asks for",
            Self::TlsUntrusted => {
                "the server's certificate is not trusted, or is for another name; see ssl_mode"
            }
            Self::AdminRejected => "the server refused admin_username and admin_password",
            Self::LoginRejected => "the server refused the rotated user's password",
            Self::Privilege => {
                "admin_username lacks a privilege: making users, or granting on the database"
            }
            Self::NoDatabase => "the server has no such database",
            Self::PasswordPolicy => "the server's password policy refused the password",
            Self::Busy => "something in the database held a lock for too long",
            Self::Interrupted => "the connection ended before the server had answered",
            Self::Identity => {
                "this is another server than the one rotated before; set the status to active to accept it"
            }
            Self::Fenced => "a later attempt has changed this user already",
            Self::ProbeRefused => "the rotated user may not do what permission_level says",
            Self::Protocol => "what answers there does not behave like such a database",
            Self::Unsupported => "the server is of a make or version that is not supported",
            Self::ProxyUnavailable => "the function cannot be invoked now",
            Self::ProxyRefused => "the function may not be invoked, or does not exist",
            Self::ProxyUntrusted => "the function's answer is not signed with shared_secret",
        }
    }
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.fault.sentence())?;
        match &self.state {
            Some(state) => write!(f, " (SQLSTATE {})", state.as_str()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TargetError {}

/// Where it is, and nothing of how to get in.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({} …)", self.integration.as_str())
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proxy(…)")
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({}, …)", self.username)
    }
}

impl fmt::Debug for Apply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Apply({:?}, {:?})", self.fence, self.login)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_state_is_repeated() {
        assert_eq!(
            SqlState::parse("42501").map(|s| s.as_str().to_owned()).as_deref(),
            Some("42501")
        );
        for text in ["", "4250", "425011", "42 01", "<scr>", "ab1cd", "\u{1b}[31m"] {
            assert!(SqlState::parse(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn faults_are_told_apart() {
        let codes: std::collections::BTreeSet<_> = Fault::ALL.iter().map(|f| f.code()).collect();

        assert_eq!(codes.len(), Fault::ALL.len());
    }
}
