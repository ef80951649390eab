//! Rotating a service token.

use chrono::TimeDelta;
use serde::Deserialize;

use super::{ServiceToken, locked_token};
use crate::access::outlives_session;
use crate::crypto::{TokenMac, TokenText};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::whole::Whole;
use crate::model::{Code, Error, Result, Subject, TokenId, ValidationRule, Violation};
use crate::store::NewCredential;

/// Options for the rotation of a service token.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TokenRotation {
    /// Time in seconds during which the previous token text is still accepted: 0 to 604,800.
    /// Defaults to 0.
    pub grace_period_seconds: Option<GracePeriod>,
}

/// Time during which the previous text of a rotated token is still accepted: 0 to 604,800 seconds
/// (a week).
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(try_from = "Whole")]
#[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 604_800))]
pub struct GracePeriod(i64);

impl TryFrom<Whole> for GracePeriod {
    type Error = Violation;

    fn try_from(Whole(seconds): Whole) -> std::result::Result<Self, Violation> {
        const SECONDS: ValidationRule = ValidationRule::of("must be 0 to 604800 seconds");
        if (0..=604_800).contains(&seconds) { Ok(Self(seconds)) } else { Err(SECONDS.violation()) }
    }
}

/// Replaces the secret string of a service token. The token keeps its ID, permissions and scope.
/// During the grace period, the string that this rotation replaces is still accepted; earlier
/// strings are not. The response contains the new string, which cannot be read again.
#[derive(Debug)]
pub struct RotateToken {
    /// Token ID; `None`, treated as an unknown token, if the given string is not a valid ID.
    pub token: Option<TokenId>,
    /// Grace period, during which the replaced string is still accepted.
    pub rotation: TokenRotation,
}

impl Operation for RotateToken {
    const NAME: &'static str = "token.rotate";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("token.rotated");
    type Access = Write;
    type Output = ServiceToken;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<ServiceToken> {
        let unknown = || Error::NotFound(Subject::Token);
        let token = locked_token(cx, self.token).await?;
        if token.expires_at.is_some_and(|end| end <= cx.now()) {
            return Err(Error::Refused {
                code: Code::InvalidRequest,
                reason: "this token has expired: create another".into(),
            });
        }

        let outlives_session =
            outlives_session(cx.caller.as_person()?, token.expires_at, cx.now())?;
        let GracePeriod(seconds) = self.rotation.grace_period_seconds.unwrap_or_default();
        let until = (seconds > 0).then(|| cx.now() + TimeDelta::seconds(seconds));
        let text = TokenText::draw();
        let rotation = NewCredential {
            mac: TokenMac::of(cx.keyring(), text.reveal()),
            prefix: text.prefix(),
            previous_until: until,
            outlives_session,
            now: cx.now(),
        };
        let rotated = cx.tx().rotate_token(token.id, &rotation).await;
        rotated.map_err(|error| error.or_not_found(Subject::Token))?;
        let record = cx.reads().token(token.id).await?.ok_or_else(unknown)?;
        let scope = cx.reads().token_scope(token.id).await?;
        cx.set_resource("service_token", record.id.uuid(), record.name.as_str());
        cx.add_detail("grace_period_seconds", seconds);
        if outlives_session {
            cx.add_detail("outlives_session", true);
        }
        let token = ServiceToken::new(record, scope, cx.now());
        Ok(ServiceToken { token: Some(text), ..token })
    }
}
