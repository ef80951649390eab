//! Command-line sessions of the caller.

use std::net::IpAddr;

use serde::Serialize;

use crate::engine::{Audit, Callers, Context, Operation, Read, Write};
use crate::model::{CliSessionId, DisplayName, Error, Result, Subject, Time};
use crate::store::CliSessionRecord;

/// Lists the caller's active command-line sessions, oldest first.
#[derive(Debug)]
pub struct ListCliSessions;

/// A command-line session, without its credential.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CliSession {
    /// Session ID.
    pub id: CliSessionId,
    /// First characters of the session's credential.
    pub token_prefix: String,
    /// Name given by the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<DisplayName>,
    /// Name of the client's machine, given by the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<DisplayName>,
    /// Operating system, given by the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os: Option<DisplayName>,
    /// IP address of the client that started the login.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub ip_address: Option<IpAddr>,
    /// True if the request was made with this session.
    pub current: bool,
    /// Creation time.
    pub created_at: Time,
    /// Expiry time.
    pub expires_at: Time,
}

/// Revokes one of the caller's command-line sessions.
#[derive(Debug)]
pub struct RevokeCliSession {
    /// Session ID; `None` revokes the session used for the request.
    pub session: Option<CliSessionId>,
}

impl Operation for ListCliSessions {
    const NAME: &'static str = "cli_session.list";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Vec<CliSession>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<CliSession>> {
        let (user, current, now) = (cx.caller.person()?.id, cx.caller.cli_session(), cx.now());
        let sessions = cx.reads().cli_sessions(user).await?;
        let alive = sessions.into_iter().filter(|session| session.expires_at > now);
        Ok(alive.map(|session| CliSession::new(session, current)).collect())
    }
}

impl Operation for RevokeCliSession {
    const NAME: &'static str = "cli_session.revoke";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("cli.revoked");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let user = cx.caller.person()?.id;
        let session = self.session.or(cx.caller.cli_session());
        let session =
            session.ok_or_else(|| Error::invalid("id", "must name one of your sessions"))?;
        cx.tx()
            .delete_cli_session(user, session)
            .await
            .map_err(|error| error.or_not_found(Subject::CliSession))?;
        cx.audit.team = cx.personal_team().await?;
        cx.set_resource("cli_session", session.uuid(), "");
        Ok(())
    }
}

impl CliSession {
    fn new(session: CliSessionRecord, current: Option<CliSessionId>) -> Self {
        Self {
            current: current == Some(session.id),
            id: session.id,
            token_prefix: session.prefix,
            client_name: session.client.name,
            hostname: session.client.hostname,
            os: session.client.os,
            ip_address: session.client.address,
            created_at: session.created_at,
            expires_at: session.expires_at,
        }
    }
}
