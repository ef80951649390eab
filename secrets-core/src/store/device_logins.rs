//! Device logins of command-line clients (RFC 8628).

use std::net::IpAddr;

use async_trait::async_trait;

use super::StoreResult;
use crate::crypto::TokenMac;
use crate::model::{DeviceLoginId, DisplayName, Time, UserId};

/// Details of a client, as it reports them, and its network address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceClient {
    /// Client name, as reported by the client.
    pub name: Option<DisplayName>,
    /// Host name, as reported by the client.
    pub hostname: Option<DisplayName>,
    /// Operating system, as reported by the client.
    pub os: Option<DisplayName>,
    /// IP address the login was requested from.
    pub address: Option<IpAddr>,
}

/// A device login: a request of a command-line client for a session, which a user approves or
/// denies in the browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceLoginRecord {
    /// Device login ID.
    pub id: DeviceLoginId,
    /// MAC of the device code, which the client sends when it polls.
    pub device: TokenMac,
    /// MAC of the user code, which the user types in the browser.
    pub code: TokenMac,
    /// The requesting client.
    pub client: DeviceClient,
    /// Status.
    pub status: DeviceStatus,
    /// User who approved or denied the login.
    pub user: Option<UserId>,
    /// Minimum poll interval of the client, in seconds.
    pub poll_seconds: u32,
    /// Time of the last poll.
    pub polled_at: Option<Time>,
    /// Creation time.
    pub created_at: Time,
    /// Expiry time.
    pub expires_at: Time,
}

/// Status of a device login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceStatus {
    /// Not decided yet.
    Pending,
    /// Approved by a user; the client has not fetched its session yet.
    Approved,
    /// Denied by a user.
    Denied,
    /// Approved, and the client has fetched its session.
    Redeemed,
}

impl DeviceStatus {
    const ALL: [Self; 4] = [Self::Pending, Self::Approved, Self::Denied, Self::Redeemed];

    /// Returns the name used in storage and in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Redeemed => "redeemed",
        }
    }

    /// Returns the status with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }
}

/// Read access to device logins.
#[async_trait]
pub trait DeviceLoginReads: Send {
    /// Returns the login whose device code has this MAC, expired or not.
    async fn login_by_device_code(
        &mut self,
        device: &TokenMac,
    ) -> StoreResult<Option<DeviceLoginRecord>>;

    /// Returns the login whose user code has this MAC, expired or not.
    async fn login_by_user_code(
        &mut self,
        code: &TokenMac,
    ) -> StoreResult<Option<DeviceLoginRecord>>;
}

/// Write access to device logins.
#[async_trait]
pub trait DeviceLoginWrites: Send {
    /// Inserts a login. Fails with `Duplicate` if one of its codes is taken.
    async fn insert_device_login(&mut self, login: &DeviceLoginRecord) -> StoreResult<()>;

    /// Updates status, user, poll interval and time of the last poll. Fails with `Stale` unless the
    /// stored status is `was`.
    async fn update_device_login(
        &mut self,
        login: &DeviceLoginRecord,
        was: DeviceStatus,
    ) -> StoreResult<()>;

    /// Deletes the logins that a user approved or denied.
    async fn delete_device_logins(&mut self, user: UserId) -> StoreResult<()>;

    /// Deletes at most `limit` logins that expire at or before `by`. Returns the number of deleted
    /// logins.
    async fn delete_ended_logins(&mut self, by: Time, limit: u32) -> StoreResult<u64>;
}
