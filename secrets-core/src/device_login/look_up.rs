//! Looking up a device login before deciding.

use std::net::IpAddr;

use serde::Serialize;

use super::UserCode;
use super::login_of;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{DisplayName, Result, Time};

/// Reads the details of the unexpired login with this user code, so that the user can check the
/// client before approving the login.
#[derive(Debug)]
pub struct LookUpDeviceLogin {
    /// User code of the login.
    pub code: UserCode,
}

/// Login request of a device: details of the client, and the status of the login.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeviceRequest {
    /// Name of the client, as reported by the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<DisplayName>,
    /// Name of the client's machine, as reported by the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<DisplayName>,
    /// Operating system of the client's machine, as reported by the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os: Option<DisplayName>,
    /// IP address of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub ip_address: Option<IpAddr>,
    /// Time at which the device login was started.
    pub created_at: Time,
    /// Expiry time of the device login.
    pub expires_at: Time,
    /// Status of the login: `pending`, `approved`, `denied` or `redeemed`.
    pub status: &'static str,
}

impl Operation for LookUpDeviceLogin {
    const NAME: &'static str = "device_login.look_up";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = DeviceRequest;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<DeviceRequest> {
        let login = login_of(cx, &self.code).await?;
        Ok(DeviceRequest {
            client_name: login.client.name,
            hostname: login.client.hostname,
            os: login.client.os,
            ip_address: login.client.address,
            created_at: login.created_at,
            expires_at: login.expires_at,
            status: login.status.as_str(),
        })
    }
}
