//! Listing the caller's own sessions.

use super::{UserSession, end_of};
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{Result, SessionKind};
use crate::tokens::uses::CredentialUses;

/// Lists the caller's active sessions of all kinds, oldest first.
#[derive(Debug)]
pub struct ListSessions;

/// Lists the caller's active sessions in command-line clients, oldest first.
#[derive(Debug)]
pub struct ListCliSessions;

impl Operation for ListSessions {
    const NAME: &'static str = "session.list";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Vec<UserSession>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<UserSession>> {
        list(cx, SessionKind::ALL).await
    }
}

impl Operation for ListCliSessions {
    const NAME: &'static str = "cli_session.list";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Vec<UserSession>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<UserSession>> {
        list(cx, &[SessionKind::Cli]).await
    }
}

async fn list(cx: &mut Context<'_, Read>, kinds: &[SessionKind]) -> Result<Vec<UserSession>> {
    let (user, current, now) = (cx.caller.person()?.id, cx.caller.session(), cx.now());
    let (limits, recent) = (cx.options().sessions, cx.shared::<CredentialUses>());
    let mut sessions = cx.reads().sessions(user).await?;
    for session in &mut sessions {
        recent.apply(session);
    }
    let active = sessions
        .into_iter()
        .filter(|session| kinds.contains(&session.kind) && end_of(session, limits) > now);
    Ok(active.map(|session| UserSession::new(session, current)).collect())
}
