//! Rotating a service token.

use chrono::TimeDelta;
use serde::Deserialize;

use super::ServiceToken;
use crate::crypto::{TokenMac, TokenText};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Broken, Code, Error, Permission, Result, Rule, Subject, TokenId};
use crate::store::Rotation;

/// How a token is rotated.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TokenRotation {
    /// How long the old text is taken as well; it is not, where nothing is said.
    pub grace_period_seconds: Option<GracePeriod>,
}

/// How long the old text of a token is taken beside the new: 0 to 604,800 seconds, a week.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(try_from = "i64")]
#[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 604_800))]
pub struct GracePeriod(i64);

impl TryFrom<i64> for GracePeriod {
    type Error = Broken;

    fn try_from(seconds: i64) -> std::result::Result<Self, Broken> {
        const SECONDS: Rule = Rule::of("must be 0 to 604800 seconds");
        if (0..=604_800).contains(&seconds) { Ok(Self(seconds)) } else { Err(SECONDS.broken()) }
    }
}

/// Gives a service token another text. Its id and all it may stay; what it was before its last
/// rotation proves nothing from now on. The answer holds the new text, this once.
#[derive(Debug)]
pub struct RotateToken {
    /// Which token; `None` if what was given is no id and names nothing.
    pub token: Option<TokenId>,
    /// How.
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
        let token = self.token.ok_or_else(unknown)?;
        let token = cx.reads().token(token).await?.ok_or_else(unknown)?;
        cx.team(token.team, Permission::Manage, unknown()).await?;
        if token.expires_at.is_some_and(|end| end <= cx.now()) {
            return Err(Error::Refused {
                code: Code::InvalidRequest,
                reason: "this token has expired: make another".into(),
            });
        }

        let GracePeriod(seconds) = self.rotation.grace_period_seconds.unwrap_or_default();
        let until = (seconds > 0).then(|| cx.now() + TimeDelta::seconds(seconds));
        let text = TokenText::draw();
        let rotation = Rotation {
            mac: TokenMac::of(cx.keyring(), text.reveal()),
            prefix: text.prefix(),
            previous_until: until,
            now: cx.now(),
        };
        let rotated = cx.tx().rotate_token(token.id, &rotation).await;
        rotated.map_err(|error| error.gone(Subject::Token))?;
        let record = cx.reads().token(token.id).await?.ok_or_else(unknown)?;
        let scope = cx.reads().token_scope(token.id).await?;
        cx.about("service_token", record.id.uuid(), record.name.as_str());
        cx.detail("grace_period_seconds", seconds);
        let token = ServiceToken::new(record, scope, cx.now());
        Ok(ServiceToken { token: Some(text), ..token })
    }
}
