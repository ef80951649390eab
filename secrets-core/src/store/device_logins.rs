//! Device logins of command-line clients (RFC 8628).

use std::net::IpAddr;

use async_trait::async_trait;

use super::StoreResult;
use crate::crypto::TokenMac;
use crate::model::{DeviceLoginId, DisplayName, Time, UserId};

/// Client that requests a login or has a session: the details that it reports about itself, and its
/// IP address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceClient {
    /// Client name, as reported by the client.
    pub name: Option<DisplayName>,
    /// Host name, as reported by the client.
    pub hostname: Option<DisplayName>,
    /// Operating system, as reported by the client.
    pub os: Option<DisplayName>,
    /// IP address from which the login was requested.
    pub address: Option<IpAddr>,
}

/// A device login: a request of a command-line client for a session, which a user approves or
/// denies in the browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceLoginRecord {
    /// Device login ID.
    pub id: DeviceLoginId,
    /// MAC of the device code, which the client keeps and sends when it polls.
    pub device: TokenMac,
    /// MAC of the user code, which the user types in the browser.
    pub code: TokenMac,
    /// Client that requested the login.
    pub client: DeviceClient,
    /// Status of the login.
    pub status: DeviceStatus,
    /// User who approved or denied the login; `None` while it is pending.
    pub user: Option<UserId>,
    /// Minimum time between two polls by the client, in seconds.
    pub poll_seconds: u32,
    /// Time of the client's last poll; `None` before the first.
    pub polled_at: Option<Time>,
    /// Creation time.
    pub created_at: Time,
    /// Expiry time.
    pub expires_at: Time,
}

/// Status of a device login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceStatus {
    /// Neither approved nor denied by a user yet.
    Pending,
    /// Approved by a user. The client has not received its session yet.
    Approved,
    /// Denied by a user.
    Denied,
    /// Approved by a user, and the client has received its session.
    Redeemed,
}

impl DeviceStatus {
    const ALL: [Self; 4] = [Self::Pending, Self::Approved, Self::Denied, Self::Redeemed];

    /// Returns the name of the status, as used in storage and in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Redeemed => "redeemed",
        }
    }

    /// Returns the status with this name; `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }
}

/// Read access to device logins.
#[async_trait]
pub trait DeviceLoginReads: Send {
    /// Returns the login whose device code has this MAC, even if the login has expired.
    async fn login_by_device_code(
        &mut self,
        device: &TokenMac,
    ) -> StoreResult<Option<DeviceLoginRecord>>;

    /// Returns the login whose user code has this MAC, even if the login has expired.
    async fn login_by_user_code(
        &mut self,
        code: &TokenMac,
    ) -> StoreResult<Option<DeviceLoginRecord>>;
}

/// Write access to device logins.
#[async_trait]
pub trait DeviceLoginWrites: Send {
    /// Inserts a device login. Fails with `Duplicate` if another login has the same device code or
    /// user code.
    async fn insert_device_login(&mut self, login: &DeviceLoginRecord) -> StoreResult<()>;

    /// Updates status, user, poll interval and time of the last poll of a login. Fails with `Stale`
    /// unless the stored status is `was`.
    async fn update_device_login(
        &mut self,
        login: &DeviceLoginRecord,
        was: DeviceStatus,
    ) -> StoreResult<()>;

    /// Deletes the device logins that this user approved or denied.
    async fn delete_device_logins(&mut self, user: UserId) -> StoreResult<()>;

    /// Deletes at most `limit` logins that expire at or before `by`. Returns the number of deleted
    /// logins.
    async fn delete_ended_logins(&mut self, by: Time, limit: u32) -> StoreResult<u64>;
}
