//! Tokens that outlive the command-line session that receives their text.
//!
//! A command-line session is a file on a machine. A thief of the file could use the session to
//! create a token that never expires. So a session receives the text of a token that is valid
//! longer than the session only soon after its user approved the login on the device page. A
//! session cannot approve a login.

use chrono::TimeDelta;

use crate::engine::Person;
use crate::model::{Error, Result, SessionKind, Time};

/// Time after the start of a session in which the session may receive a token that outlives it. The
/// start follows the approval by at most the lifetime of a device login, 10 minutes.
const APPROVAL_PERIOD: TimeDelta = TimeDelta::minutes(15);

const APPROVAL_REQUIRED: Error = Error::ApprovalRequired(
    "a command-line session may create or rotate a token that outlives it only within 15 minutes of its login: log in again and approve the login on the page /device, or choose an earlier expiry",
);

/// Returns true if the caller uses a command-line session, and a token with this expiry outlives
/// the session. Fails if the session is not new enough for such a token.
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
