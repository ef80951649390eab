//! Starting a login.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize, Serializer};

use super::code::UserCode;
use super::{LOGIN_SECONDS, POLL_SECONDS};
use crate::caller::Callers;
use crate::crypto::{CodeText, TokenMac};
use crate::error::{Error, Result, Subject};
use crate::ids::DeviceLoginId;
use crate::links::BaseUrl;
use crate::names::DisplayName;
use crate::operation::{Audit, Context, Operation, Write};
use crate::store::{DeviceClient, DeviceLoginRecord, DeviceStatus, StoreError};

/// What a client says of itself when it starts a login.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewDeviceLogin {
    /// `cli`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^cli$", example = "cli"))]
    pub client_id: String,
    /// What the client calls itself: 1 to 100 characters.
    pub client_name: Option<DisplayName>,
    /// What it calls its machine: 1 to 100 characters.
    pub hostname: Option<DisplayName>,
    /// What it calls its operating system: 1 to 100 characters.
    pub os: Option<DisplayName>,
}

/// Starts a login, for whoever asks.
#[derive(Debug)]
pub struct StartDeviceLogin {
    /// Who asks.
    pub login: NewDeviceLogin,
    /// Where links begin.
    pub base: BaseUrl,
}

/// A login that has begun (RFC 8628, section 3.2).
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeviceLogin {
    /// The code that the client keeps and asks with.
    #[serde(serialize_with = "device_code")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub device_code: CodeText,
    /// The code that the client shows to its person.
    #[serde(serialize_with = "user_code")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "BCDF-GHJK"))]
    pub user_code: UserCode,
    /// Where the person goes.
    pub verification_uri: String,
    /// The same, with the code in it.
    pub verification_uri_complete: String,
    /// How many seconds the codes last.
    pub expires_in: u32,
    /// How many seconds the client must wait between its questions.
    pub interval: u32,
}

/// How often another code is drawn before giving up: with 20⁸ codes, never.
const MAX_ATTEMPTS: usize = 8;

impl Operation for StartDeviceLogin {
    const NAME: &'static str = "device_login.start";
    const CALLERS: Callers = Callers::Anyone;
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
        let user_code = keep(cx, &mut record).await?;

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

/// Keeps a login under a code that no other has.
async fn keep(cx: &mut Context<'_, Write>, record: &mut DeviceLoginRecord) -> Result<UserCode> {
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

fn device_code<S: Serializer>(
    code: &CodeText,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(code.reveal())
}

fn user_code<S: Serializer>(
    code: &UserCode,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(code.reveal())
}
