//! Revoking the caller's own sessions.

use serde::Serialize;

use super::resource_type;
use crate::engine::{Audit, Callers, Context, Lock, Operation, Write};
use crate::model::{Error, Result, SessionId, SessionKind, Subject, UserId};
use crate::store::SessionRecord;

/// Revokes one of the caller's sessions. If it is a browser session, also revokes the caller's
/// approvals of device logins, because the session may have approved them.
#[derive(Debug)]
pub struct RevokeSession {
    /// ID of the session; `None`, treated as an unknown session, if the given string is not a valid
    /// ID.
    pub session: Option<SessionId>,
}

/// Revokes one of the caller's sessions in command-line clients.
#[derive(Debug)]
pub struct RevokeCliSession {
    /// ID of the session to revoke; `None` revokes the session that made the request.
    pub session: Option<SessionId>,
}

/// Revokes all sessions of the caller except the session that made the request, and the caller's
/// approvals of device logins, so that no client gets a new session.
#[derive(Debug)]
pub struct RevokeOtherSessions;

/// Result of revoking several sessions.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RevokedSessions {
    /// Number of sessions that were revoked.
    pub revoked: u64,
}

impl Operation for RevokeSession {
    const NAME: &'static str = "session.revoke";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("cli.revoked");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let session = self.session.ok_or(Error::NotFound(Subject::Session))?;
        let found = own_session(cx, session).await?;
        // A command-line session approves no device logins.
        if found.kind == SessionKind::Browser {
            revoke_approvals(cx, found.user).await?;
        }
        revoke(cx, &found).await
    }
}

impl Operation for RevokeCliSession {
    const NAME: &'static str = "cli_session.revoke";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("cli.revoked");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let person = cx.caller.as_person()?;
        let current = person.session.as_ref().filter(|session| session.kind == SessionKind::Cli);
        let session = self.session.or(current.map(|session| session.id));
        let session =
            session.ok_or_else(|| Error::invalid("id", "must name one of your sessions"))?;
        let found = own_session(cx, session).await?;
        if found.kind != SessionKind::Cli {
            return Err(Error::NotFound(Subject::Session));
        }
        revoke(cx, &found).await
    }
}

impl Operation for RevokeOtherSessions {
    const NAME: &'static str = "session.revoke_others";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("session.others_revoked");
    type Access = Write;
    type Output = RevokedSessions;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<RevokedSessions> {
        let (user, current) = (cx.caller.person()?.id, cx.caller.session());
        revoke_approvals(cx, user).await?;
        let revoked = cx.tx().delete_sessions(user, current).await?;
        cx.audit.team = cx.personal_team().await?;
        cx.add_detail("revoked", revoked);
        Ok(RevokedSessions { revoked })
    }
}

/// Loads a session of the caller. Fails if the caller has no session with this ID.
async fn own_session(cx: &mut Context<'_, Write>, session: SessionId) -> Result<SessionRecord> {
    let user = cx.caller.person()?.id;
    let own = cx.reads().sessions(user).await?;
    own.into_iter().find(|own| own.id == session).ok_or(Error::NotFound(Subject::Session))
}

/// Deletes the device logins that the user has approved or denied, so that clients get no sessions
/// for them. Locks the user first, so that no device login is approved or redeemed until the end of
/// the transaction.
async fn revoke_approvals(cx: &mut Context<'_, Write>, user: UserId) -> Result<()> {
    cx.lock(Lock::User(user)).await.map_err(|error| error.or_not_found(Subject::User))?;
    cx.tx().delete_device_logins(user).await?;
    Ok(())
}

/// Deletes a session of the caller, and sets the resource of the audit entry.
pub(super) async fn revoke(cx: &mut Context<'_, Write>, session: &SessionRecord) -> Result<()> {
    cx.tx()
        .delete_session(session.user, session.id)
        .await
        .map_err(|error| error.or_not_found(Subject::Session))?;
    cx.audit.action = Some(match session.kind {
        SessionKind::Cli => "cli.revoked",
        SessionKind::Browser => "browser.revoked",
    });
    cx.audit.team = cx.personal_team().await?;
    cx.set_resource(resource_type(session.kind), session.id.uuid(), "");
    Ok(())
}
