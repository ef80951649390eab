//! Service tokens that are valid longer than the command-line session that receives them.
//!
//! The credential of a command-line session is a file on a machine. A thief of the file could use
//! the session to create a service token that never expires. Therefore a session may receive such a
//! token only for a short time after its user approved the login on the device page. A session
//! cannot approve a login.

use chrono::TimeDelta;

use crate::engine::Person;
use crate::model::{Error, Result, SessionKind, Time};

/// Time after the start of a session in which the session may receive a service token that outlives
/// the session. (A session starts at most 10 minutes after the login was approved: the lifetime of
/// a device login.)
const APPROVAL_PERIOD: TimeDelta = TimeDelta::minutes(15);

const APPROVAL_REQUIRED: Error = Error::ApprovalRequired(
    "a command-line session may create or rotate a token that outlives it only within 15 minutes of its login: log in again and approve the login on the page /device, or choose an earlier expiry",
);

/// True if the caller uses a command-line session and a service token with this expiry would
/// outlive it. A session may create or rotate such a token only in its first 15 minutes: fails if
/// the session is older.
pub(super) fn outlives_session(
    caller: &Person,
    expires_at: Option<Time>,
    now: Time,
) -> Result<bool> {
    let session = caller.session.as_ref().filter(|session| session.kind == SessionKind::Cli);
    let Some(session) = session else { return Ok(false) };
    if expires_at.is_some_and(|end| end <= session.expires_at) {
        return Ok(false);
    }
    if now - session.created_at > APPROVAL_PERIOD {
        return Err(APPROVAL_REQUIRED);
    }
    Ok(true)
}
