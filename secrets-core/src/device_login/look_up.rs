//! Seeing who asks.

use std::net::IpAddr;

use serde::Serialize;

use super::UserCode;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{DisplayName, Result, Time};

/// Shows the login of a code, so that its person sees whom they let in.
#[derive(Debug)]
pub struct LookUpDeviceLogin {
    /// The code.
    pub code: UserCode,
}

/// Who asks.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeviceRequest {
    /// What the client calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<DisplayName>,
    /// What it calls its machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<DisplayName>,
    /// What it calls its operating system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os: Option<DisplayName>,
    /// The address it called from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub ip_address: Option<IpAddr>,
    /// When it asked.
    pub created_at: Time,
    /// When the code ends.
    pub expires_at: Time,
    /// `pending`, `approved`, `denied` or `redeemed`.
    pub status: &'static str,
}

impl Operation for LookUpDeviceLogin {
    const NAME: &'static str = "device_login.look_up";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = DeviceRequest;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<DeviceRequest> {
        let login = cx.login_of(&self.code).await?;
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
