//! Creating sessions: used by device logins and by browser sign-ins.

use chrono::TimeDelta;

use crate::crypto::{TokenMac, TokenText};
use crate::engine::{Context, Write};
use crate::model::{Result, SessionId, SessionKind, UserId};
use crate::store::{DeviceClient, SessionRecord, StoreError};

/// Maximum number of sessions of each kind for a user. If another session is created, the session
/// that was unused for the longest time is ended.
const MAX_PER_USER: usize = 100;

/// Kind, client and lifetime of a session to create.
pub(crate) struct NewSession {
    pub(crate) kind: SessionKind,
    pub(crate) client: DeviceClient,
    pub(crate) lifetime: TimeDelta,
}

/// Creates a session of a user. The user's row must be locked, so that a concurrent deletion of the
/// account leaves no session behind. Returns the record and the credential.
pub(crate) async fn create(
    cx: &mut Context<'_, Write>,
    user: UserId,
    new: NewSession,
) -> Result<(SessionRecord, TokenText)> {
    end_oldest(cx, user, new.kind).await?;
    let token = match new.kind {
        SessionKind::Cli => TokenText::draw_cli(),
        SessionKind::Browser => TokenText::draw_browser(),
    };
    let session = SessionRecord {
        id: SessionId::draw(cx.now()),
        kind: new.kind,
        user,
        mac: TokenMac::of(cx.keyring(), token.reveal()),
        prefix: token.prefix(),
        client: new.client,
        created_at: cx.now(),
        expires_at: cx.now() + new.lifetime,
        last_used_at: None,
    };
    cx.tx().insert_session(&session).await?;
    Ok((session, token))
}

/// Ends the sessions of a user with the oldest last use, so that another session does not exceed
/// the maximum number.
async fn end_oldest(cx: &mut Context<'_, Write>, user: UserId, kind: SessionKind) -> Result<()> {
    let mut sessions = cx.reads().sessions(user).await?;
    sessions.retain(|session| session.kind == kind);
    sessions.sort_by_key(SessionRecord::last_activity);
    let excess = (sessions.len() + 1).saturating_sub(MAX_PER_USER);
    for session in sessions.into_iter().take(excess) {
        match cx.tx().delete_session(user, session.id).await {
            // Another request revoked the session meanwhile.
            Ok(()) | Err(StoreError::Stale(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
