//! Logins of command-line clients, and the sessions that come of them.

use std::net::IpAddr;

use async_trait::async_trait;

use super::{StoreResult, UserRecord};
use crate::crypto::TokenMac;
use crate::model::{CliSessionId, DeviceLoginId, DisplayName, Time, UserId};

/// What a client says of itself, and where it called from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceClient {
    /// What it calls itself.
    pub name: Option<DisplayName>,
    /// What it calls its machine.
    pub hostname: Option<DisplayName>,
    /// What it calls its operating system.
    pub os: Option<DisplayName>,
    /// The address its request came from.
    pub address: Option<IpAddr>,
}

/// A login that waits for a person, or waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceLoginRecord {
    /// Which login.
    pub id: DeviceLoginId,
    /// The hash of the code that the client holds.
    pub device: TokenMac,
    /// The hash of the code that the person types.
    pub code: TokenMac,
    /// Who asks.
    pub client: DeviceClient,
    /// How it stands.
    pub status: DeviceStatus,
    /// Who decided.
    pub user: Option<UserId>,
    /// How many seconds the client must wait between its questions.
    pub poll_seconds: u32,
    /// When it asked last.
    pub polled_at: Option<Time>,
    /// When it began.
    pub created_at: Time,
    /// When it ends.
    pub expires_at: Time,
}

/// How a login stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceStatus {
    /// Nobody decided.
    Pending,
    /// Somebody said yes, and the client has not asked since.
    Approved,
    /// Somebody said no.
    Denied,
    /// The client has its session.
    Redeemed,
}

/// A session: a credential that counts as its person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliSessionRecord {
    /// Which session.
    pub id: CliSessionId,
    /// Whose.
    pub user: UserId,
    /// The hash its credential is found by.
    pub mac: TokenMac,
    /// The credential's first characters, for people.
    pub prefix: String,
    /// Who asked for it.
    pub client: DeviceClient,
    /// When it began.
    pub created_at: Time,
    /// When it ends.
    pub expires_at: Time,
}

impl DeviceStatus {
    const ALL: [Self; 4] = [Self::Pending, Self::Approved, Self::Denied, Self::Redeemed];

    /// The name under which it is kept and told.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Redeemed => "redeemed",
        }
    }

    /// The status kept under this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }
}

/// Reading logins and sessions.
#[async_trait]
pub trait DeviceLoginReads: Send {
    /// The login of a client's code, over or not.
    async fn login_of_device(
        &mut self,
        device: &TokenMac,
    ) -> StoreResult<Option<DeviceLoginRecord>>;

    /// The login of a person's code, over or not.
    async fn login_of_code(&mut self, code: &TokenMac) -> StoreResult<Option<DeviceLoginRecord>>;

    /// The session of a credential, over or not, and its person.
    async fn cli_session(
        &mut self,
        mac: &TokenMac,
    ) -> StoreResult<Option<(CliSessionRecord, UserRecord)>>;

    /// A person's sessions, oldest first.
    async fn cli_sessions(&mut self, user: UserId) -> StoreResult<Vec<CliSessionRecord>>;
}

/// Writing logins and sessions.
#[async_trait]
pub trait DeviceLoginWrites: Send {
    /// Fails with `Duplicate` if one of the codes is taken.
    async fn insert_device_login(&mut self, login: &DeviceLoginRecord) -> StoreResult<()>;

    /// Replaces status, person, pace and last question. Fails with `Stale` unless the login has the
    /// status `was`.
    async fn update_device_login(
        &mut self,
        login: &DeviceLoginRecord,
        was: DeviceStatus,
    ) -> StoreResult<()>;

    /// Keeps a session.
    async fn insert_cli_session(&mut self, session: &CliSessionRecord) -> StoreResult<()>;

    /// Ends a person's session. Fails with `Stale` if they have none of this id.
    async fn delete_cli_session(&mut self, user: UserId, session: CliSessionId) -> StoreResult<()>;

    /// Ends all sessions of a person, and the logins that they decided.
    async fn delete_cli_sessions(&mut self, user: UserId) -> StoreResult<()>;

    /// Removes logins and sessions that are over by then.
    async fn delete_ended_logins(&mut self, by: Time) -> StoreResult<()>;
}
