//! Polling the status of a device login.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize, Serializer};

use super::{POLL_SECONDS, SESSION_DAYS, session_span};
use crate::crypto::{TokenMac, TokenText};
use crate::engine::{Audit, Callers, Context, Lock, Operation, Write};
use crate::model::{Error, Result, SessionKind, Subject, UserId};
use crate::sessions::{self, NewSession};
use crate::store::{DeviceLoginRecord, DeviceStatus, StoreError};

/// OAuth client ID of the command line, the only client that can use the device login.
pub(super) const CLIENT: &str = "cli";

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Maximum poll interval in seconds. Polls that come too early do not increase the interval beyond
/// this maximum.
const MAX_POLL_SECONDS: u32 = 60;

/// Polls the status of a login (RFC 8628, section 3.4). The fields are optional, so that a missing
/// field gives an OAuth error instead of a validation error. A request without any field gives
/// `invalid_request`.
#[derive(Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PollDeviceLogin {
    /// Grant type: `urn:ietf:params:oauth:grant-type:device_code`.
    #[cfg_attr(
        feature = "openapi",
        schema(example = "urn:ietf:params:oauth:grant-type:device_code")
    )]
    pub grant_type: Option<String>,
    /// Device code of the client.
    pub device_code: Option<String>,
    /// Client ID: `cli`.
    #[cfg_attr(feature = "openapi", schema(example = "cli"))]
    pub client_id: Option<String>,
}

/// Result of a poll for the status of a login.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum PollOutcome {
    /// The login was approved: contains the new session.
    Granted(CliGrant),
    /// The poll returned no session: contains the OAuth error.
    Refused(PollError),
}

/// A new command-line session (access token response of RFC 6749, section 5.1).
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CliGrant {
    /// Access token of the session. Returned only once.
    #[serde(serialize_with = "crate::crypto::revealed")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub access_token: TokenText,
    /// Token type: always `Bearer`.
    pub token_type: &'static str,
    /// Lifetime of the session in seconds.
    pub expires_in: i64,
    /// User that the session acts as.
    pub user: CliUser,
}

/// User that the session acts as.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CliUser {
    /// User ID.
    pub id: UserId,
    /// E-mail address of the user.
    pub email: String,
    /// Name of the user.
    pub name: String,
}

/// OAuth errors of a poll (RFC 8628, section 3.5; RFC 6749, section 5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollError {
    /// The user has not decided yet.
    AuthorizationPending,
    /// The user has not decided yet, and the client polls too often.
    SlowDown,
    /// The user denied the login.
    AccessDenied,
    /// The login expired before the client received a session.
    ExpiredToken,
    /// The device code is unknown or already redeemed.
    InvalidGrant,
    /// The grant type is not supported.
    UnsupportedGrantType,
    /// The client ID is unknown.
    InvalidClient,
    /// A required field is missing.
    InvalidRequest,
}

impl PollError {
    /// Returns the OAuth error code.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AuthorizationPending => "authorization_pending",
            Self::SlowDown => "slow_down",
            Self::AccessDenied => "access_denied",
            Self::ExpiredToken => "expired_token",
            Self::InvalidGrant => "invalid_grant",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::InvalidClient => "invalid_client",
            Self::InvalidRequest => "invalid_request",
        }
    }

    /// Returns the human-readable error description.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::AuthorizationPending => {
                "the user has not decided yet: poll again after the interval"
            }
            Self::SlowDown => "the user has not decided yet: wait 5 seconds longer between polls",
            Self::AccessDenied => "the login was denied",
            Self::ExpiredToken => "the codes have expired: start a new login",
            Self::InvalidGrant => "the device_code is unknown or was already used",
            Self::UnsupportedGrantType => {
                "grant_type must be urn:ietf:params:oauth:grant-type:device_code"
            }
            Self::InvalidClient => "client_id must be cli",
            Self::InvalidRequest => "grant_type, device_code and client_id are required",
        }
    }
}

impl Serialize for PollError {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let fields = [("error", self.as_str()), ("error_description", self.description())];
        serializer.collect_map(fields)
    }
}

impl Operation for PollDeviceLogin {
    const NAME: &'static str = "device_login.poll";
    const CALLERS: Callers = Callers::Public;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Write;
    type Output = PollOutcome;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<PollOutcome> {
        let code = match self.device_code() {
            Ok(code) => code,
            Err(refusal) => return Ok(PollOutcome::Refused(refusal)),
        };
        let mac = TokenMac::of_code(cx.keyring(), &code);
        let Some(login) = cx.reads().login_by_device_code(&mac).await? else {
            return Ok(PollOutcome::Refused(PollError::InvalidGrant));
        };
        if login.expires_at <= cx.now() {
            return Ok(PollOutcome::Refused(PollError::ExpiredToken));
        }
        match login.status {
            DeviceStatus::Pending => wait(cx, login).await.map(PollOutcome::Refused),
            DeviceStatus::Denied => Ok(PollOutcome::Refused(PollError::AccessDenied)),
            DeviceStatus::Redeemed => Ok(PollOutcome::Refused(PollError::InvalidGrant)),
            DeviceStatus::Approved => redeem(cx, login).await,
        }
    }
}

impl PollDeviceLogin {
    fn device_code(self) -> std::result::Result<String, PollError> {
        let (Some(grant), Some(code), Some(client)) =
            (self.grant_type, self.device_code, self.client_id)
        else {
            return Err(PollError::InvalidRequest);
        };
        match (grant == GRANT_TYPE, client == CLIENT) {
            (false, _) => Err(PollError::UnsupportedGrantType),
            (_, false) => Err(PollError::InvalidClient),
            _ => Ok(code),
        }
    }
}

/// Records the time of a poll by a client whose login is not decided yet. Increases the poll
/// interval if the poll came too early.
async fn wait(cx: &mut Context<'_, Write>, mut login: DeviceLoginRecord) -> Result<PollError> {
    let earliest = login.polled_at.map(|last| last + TimeDelta::seconds(login.poll_seconds.into()));
    let is_early = earliest.is_some_and(|earliest| cx.now() < earliest);
    if is_early {
        login.poll_seconds = (login.poll_seconds + POLL_SECONDS).min(MAX_POLL_SECONDS);
    }
    login.polled_at = Some(cx.now());
    match cx.tx().update_device_login(&login, DeviceStatus::Pending).await {
        // The user decided concurrently: the next poll returns the decision.
        Ok(()) | Err(StoreError::Stale(_)) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(if is_early { PollError::SlowDown } else { PollError::AuthorizationPending })
}

/// Creates a session for an approved login and marks the login as redeemed, so that it gives no
/// second session.
async fn redeem(cx: &mut Context<'_, Write>, mut login: DeviceLoginRecord) -> Result<PollOutcome> {
    let user = login.user.ok_or_else(|| Error::internal("an approved login has no user"))?;
    login.status = DeviceStatus::Redeemed;
    // Lock the user, so that a concurrent account deletion leaves no session behind.
    let redeemed = match cx.lock(Lock::User(user)).await {
        Ok(()) => {
            cx.tx().update_device_login(&login, DeviceStatus::Approved).await.map_err(Error::from)
        }
        Err(error) => Err(error),
    };
    match redeemed {
        Ok(()) => {}
        Err(Error::Stale(_)) => return Ok(PollOutcome::Refused(PollError::InvalidGrant)),
        Err(error) => return Err(error),
    }
    let user = cx.reads().user(user).await?.ok_or(Error::NotFound(Subject::User))?;
    let (kind, lifetime) = (SessionKind::Cli, session_span());
    let new = NewSession { kind, client: login.client, lifetime };
    let (_, token) = sessions::create(cx, user.id, new).await?;
    Ok(PollOutcome::Granted(CliGrant {
        access_token: token,
        token_type: "Bearer",
        expires_in: SESSION_DAYS * 24 * 60 * 60,
        user: CliUser { id: user.id, email: user.email, name: user.name },
    }))
}
