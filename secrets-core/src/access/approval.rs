//! Lasting access that a command-line session gives: service tokens that are valid longer than the
//! session, and the roles admin and owner.
//!
//! The credential of a command-line session is a file on a machine. A thief of the file could use
//! the session to create a service token that never expires, or to make another account an admin.
//! Therefore a session may give such access only for a short time after its user approved the login
//! on the device page. A session cannot approve a login.

use chrono::TimeDelta;

use crate::engine::Person;
use crate::model::{Error, Result, SessionKind, Time};
use crate::store::SessionRecord;

/// Time after a login in which the login counts as recent. (A command-line session starts at most
/// 10 minutes after its login was approved: the lifetime of a device login.)
pub(super) const RECENT_LOGIN: TimeDelta = TimeDelta::minutes(15);

const TOKEN_NEEDS_APPROVAL: Error = Error::ApprovalRequired(
    "a command-line session may create or rotate a token that outlives it only within 15 minutes of its login: log in again and approve the login on the page /device, or choose an earlier expiry",
);

const ROLE_NEEDS_APPROVAL: Error = Error::ApprovalRequired(
    "a command-line session may give the role admin or owner only within 15 minutes of its login: log in again and approve the login on the page /device",
);

/// True if the caller uses a command-line session and a service token with this expiry would
/// outlive it. A session may create or rotate such a token only in its first 15 minutes: fails if
/// the session is older.
pub(crate) fn outlives_session(
    caller: &Person,
    expires_at: Option<Time>,
    now: Time,
) -> Result<bool> {
    let Some(session) = command_line_session(caller) else { return Ok(false) };
    if expires_at.is_some_and(|end| end <= session.expires_at) {
        return Ok(false);
    }
    if is_recent(session, now) { Ok(true) } else { Err(TOKEN_NEEDS_APPROVAL) }
}

/// Fails if the caller uses a command-line session that is older than 15 minutes. Must be called
/// before a person gets the role admin or owner, because the role outlives the session.
pub(crate) fn check_role_approval(caller: &Person, now: Time) -> Result<()> {
    let session = command_line_session(caller);
    let is_approved = session.is_none_or(|session| is_recent(session, now));
    if is_approved { Ok(()) } else { Err(ROLE_NEEDS_APPROVAL) }
}

fn command_line_session(caller: &Person) -> Option<&SessionRecord> {
    caller.session.as_ref().filter(|session| session.kind == SessionKind::Cli)
}

fn is_recent(session: &SessionRecord, now: Time) -> bool {
    now - session.created_at <= RECENT_LOGIN
}
