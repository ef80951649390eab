//! Asking how a login stands.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize, Serializer};

use super::{POLL_SECONDS, SESSION_DAYS, session_span};
use crate::crypto::{TokenMac, TokenText};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{CliSessionId, Result, Subject, UserId};
use crate::store::{CliSessionRecord, DeviceLoginRecord, DeviceStatus, StoreError};

/// The one client there is.
pub(super) const CLIENT: &str = "cli";

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// The longest that a client is told to wait between its questions.
const LONGEST_POLL_SECONDS: u32 = 60;

/// Asks how a login stands (RFC 8628, section 3.4). Fields that are missing are answered in the way
/// of OAuth too, so none of them is required here.
#[derive(Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PollDeviceLogin {
    /// `urn:ietf:params:oauth:grant-type:device_code`.
    #[cfg_attr(
        feature = "openapi",
        schema(example = "urn:ietf:params:oauth:grant-type:device_code")
    )]
    pub grant_type: Option<String>,
    /// The code that the client kept.
    pub device_code: Option<String>,
    /// `cli`.
    #[cfg_attr(feature = "openapi", schema(example = "cli"))]
    pub client_id: Option<String>,
}

/// What a client is told.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum PollOutcome {
    /// Its session.
    Granted(CliGrant),
    /// Why there is none, or none yet.
    Refused(Refusal),
}

/// A session, as its client gets it (RFC 6749, section 5.1).
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CliGrant {
    /// The credential; shown this once.
    #[serde(serialize_with = "revealed")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub access_token: TokenText,
    /// `Bearer`.
    pub token_type: &'static str,
    /// How many seconds it lasts.
    pub expires_in: i64,
    /// As whom it counts.
    pub user: CliUser,
}

/// As whom a session counts.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CliUser {
    /// Which person.
    pub id: UserId,
    /// Their address.
    pub email: String,
    /// Their name.
    pub name: String,
}

/// Why there is no session (RFC 8628, section 3.5; RFC 6749, section 5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Nobody decided yet.
    AuthorizationPending,
    /// Nobody decided yet, and the client asks too often.
    SlowDown,
    /// The person said no.
    AccessDenied,
    /// It took too long.
    ExpiredToken,
    /// No such code, or one that had its session.
    InvalidGrant,
    /// Another grant.
    UnsupportedGrantType,
    /// Another client.
    InvalidClient,
    /// A field is missing.
    InvalidRequest,
}

impl Refusal {
    /// The name under which it is told.
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

    /// The same for people.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::AuthorizationPending => "nobody has decided yet: ask again after the interval",
            Self::SlowDown => "nobody has decided yet: wait 5 seconds longer between questions",
            Self::AccessDenied => "the login was denied",
            Self::ExpiredToken => "the codes are too old: start again",
            Self::InvalidGrant => "there is no login of this device_code, or it is over",
            Self::UnsupportedGrantType => {
                "grant_type must be urn:ietf:params:oauth:grant-type:device_code"
            }
            Self::InvalidClient => "client_id must be cli",
            Self::InvalidRequest => "grant_type, device_code and client_id are required",
        }
    }
}

impl Serialize for Refusal {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let fields = [("error", self.as_str()), ("error_description", self.description())];
        serializer.collect_map(fields)
    }
}

impl Operation for PollDeviceLogin {
    const NAME: &'static str = "device_login.poll";
    const CALLERS: Callers = Callers::Anyone;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Write;
    type Output = PollOutcome;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<PollOutcome> {
        let code = match self.device_code() {
            Ok(code) => code,
            Err(refusal) => return Ok(PollOutcome::Refused(refusal)),
        };
        let mac = TokenMac::of_code(cx.keyring(), &code);
        let Some(login) = cx.reads().login_of_device(&mac).await? else {
            return Ok(PollOutcome::Refused(Refusal::InvalidGrant));
        };
        if login.expires_at <= cx.now() {
            return Ok(PollOutcome::Refused(Refusal::ExpiredToken));
        }
        match login.status {
            DeviceStatus::Pending => wait(cx, login).await.map(PollOutcome::Refused),
            DeviceStatus::Denied => Ok(PollOutcome::Refused(Refusal::AccessDenied)),
            DeviceStatus::Redeemed => Ok(PollOutcome::Refused(Refusal::InvalidGrant)),
            DeviceStatus::Approved => redeem(cx, login).await,
        }
    }
}

impl PollDeviceLogin {
    fn device_code(self) -> std::result::Result<String, Refusal> {
        let (Some(grant), Some(code), Some(client)) =
            (self.grant_type, self.device_code, self.client_id)
        else {
            return Err(Refusal::InvalidRequest);
        };
        match (grant == GRANT, client == CLIENT) {
            (false, _) => Err(Refusal::UnsupportedGrantType),
            (_, false) => Err(Refusal::InvalidClient),
            _ => Ok(code),
        }
    }
}

/// Notes the question, and slows down who asks too often.
async fn wait(cx: &mut Context<'_, Write>, mut login: DeviceLoginRecord) -> Result<Refusal> {
    let earliest = login.polled_at.map(|last| last + TimeDelta::seconds(login.poll_seconds.into()));
    let is_early = earliest.is_some_and(|earliest| cx.now() < earliest);
    if is_early {
        login.poll_seconds = (login.poll_seconds + POLL_SECONDS).min(LONGEST_POLL_SECONDS);
    }
    login.polled_at = Some(cx.now());
    match cx.tx().update_device_login(&login, DeviceStatus::Pending).await {
        // Somebody decided this very moment: the next question will hear of it.
        Ok(()) | Err(StoreError::Stale(_)) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(if is_early { Refusal::SlowDown } else { Refusal::AuthorizationPending })
}

/// Gives the session, once.
async fn redeem(cx: &mut Context<'_, Write>, mut login: DeviceLoginRecord) -> Result<PollOutcome> {
    login.status = DeviceStatus::Redeemed;
    match cx.tx().update_device_login(&login, DeviceStatus::Approved).await {
        Ok(()) => {}
        Err(StoreError::Stale(_)) => return Ok(PollOutcome::Refused(Refusal::InvalidGrant)),
        Err(error) => return Err(error.into()),
    }
    let user = login.user.ok_or_else(|| crate::model::Error::internal("an approval by nobody"))?;
    let user = cx.reads().user(user).await?.ok_or(crate::model::Error::NotFound(Subject::User))?;
    let token = TokenText::draw_cli();
    let session = CliSessionRecord {
        id: CliSessionId::draw(cx.now()),
        user: user.id,
        mac: TokenMac::of(cx.keyring(), token.reveal()),
        prefix: token.prefix(),
        client: login.client,
        created_at: cx.now(),
        expires_at: cx.now() + session_span(),
    };
    cx.tx().insert_cli_session(&session).await?;
    Ok(PollOutcome::Granted(CliGrant {
        access_token: token,
        token_type: "Bearer",
        expires_in: SESSION_DAYS * 24 * 60 * 60,
        user: CliUser { id: user.id, email: user.email, name: user.name },
    }))
}

fn revealed<S: Serializer>(
    token: &TokenText,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(token.reveal())
}
