//! Starting a device login.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use super::code::UserCode;
use super::{LOGIN_SECONDS, POLL_SECONDS};
use crate::crypto::{CodeText, TokenMac};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{BaseUrl, DeviceLoginId, DisplayName, Error, Result, Subject};
use crate::store::{DeviceClient, DeviceLoginRecord, DeviceStatus, StoreError};

/// Details that a client gives about itself when it starts a login.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewDeviceLogin {
    /// Client ID: `cli`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^cli$", example = "cli"))]
    pub client_id: String,
    /// Name of the client: 1 to 100 characters.
    pub client_name: Option<DisplayName>,
    /// Name of the client's machine: 1 to 100 characters.
    pub hostname: Option<DisplayName>,
    /// Operating system of the client's machine: 1 to 100 characters.
    pub os: Option<DisplayName>,
}

/// Starts a device login: the sign-in of a command-line client, which a user approves in a browser.
/// No credential is required.
#[derive(Debug)]
pub struct StartDeviceLogin {
    /// Details of the client that starts the login.
    pub login: NewDeviceLogin,
    /// Base URL of the verification page.
    pub base: BaseUrl,
}

/// A started device login (RFC 8628, section 3.2).
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeviceLogin {
    /// Device code. The client keeps it secret and uses it to poll for the result.
    #[serde(serialize_with = "crate::crypto::revealed")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub device_code: CodeText,
    /// User code, which the client shows to the user.
    #[serde(serialize_with = "crate::crypto::revealed")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "BCDF-GHJK"))]
    pub user_code: UserCode,
    /// URL of the page on which the user enters the code.
    pub verification_uri: String,
    /// URL of the verification page with the user code included.
    pub verification_uri_complete: String,
    /// Lifetime of both codes in seconds.
    pub expires_in: u32,
    /// Minimum time between two polls, in seconds.
    pub interval: u32,
}

/// Maximum number of attempts to generate a user code that no other login has. Since there are 20⁸
/// codes, it is practically impossible that all attempts fail.
const MAX_ATTEMPTS: usize = 8;

impl Operation for StartDeviceLogin {
    const NAME: &'static str = "device_login.start";
    const CALLERS: Callers = Callers::Public;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Write;
    type Output = DeviceLogin;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<DeviceLogin> {
        if self.login.client_id != super::poll::CLIENT {
            return Err(Error::invalid("client_id", "must be cli"));
        }
        let device_code = CodeText::draw();
        let mut record = DeviceLoginRecord {
            id: DeviceLoginId::draw(cx.now()),
            device: TokenMac::of_code(cx.keyring(), device_code.reveal()),
            code: TokenMac([0; 32]),
            client: DeviceClient {
                name: self.login.client_name,
                hostname: self.login.hostname,
                os: self.login.os,
                address: cx.caller.origin.address,
            },
            status: DeviceStatus::Pending,
            user: None,
            poll_seconds: POLL_SECONDS,
            polled_at: None,
            created_at: cx.now(),
            expires_at: cx.now() + TimeDelta::seconds(LOGIN_SECONDS.into()),
        };
        let user_code = insert(cx, &mut record).await?;

        let page = self.base.to("/device");
        Ok(DeviceLogin {
            device_code,
            verification_uri_complete: format!("{page}?user_code={}", user_code.reveal()),
            verification_uri: page,
            user_code,
            expires_in: LOGIN_SECONDS,
            interval: POLL_SECONDS,
        })
    }
}

/// Stores the device login with a new user code that no other login has. Returns the user code.
async fn insert(cx: &mut Context<'_, Write>, record: &mut DeviceLoginRecord) -> Result<UserCode> {
    for _ in 0..MAX_ATTEMPTS {
        let code = UserCode::draw();
        record.code = code.mac(cx.keyring()).unwrap_or(record.code);
        match cx.tx().insert_device_login(record).await {
            Ok(()) => return Ok(code),
            Err(StoreError::Duplicate(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::Conflict(Subject::DeviceLogin))
}
