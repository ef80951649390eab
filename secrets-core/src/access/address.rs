//! Check whether a caller's credential proves the caller's e-mail address.

use chrono::TimeDelta;

use super::approval::RECENT_LOGIN;
use crate::engine::Person;
use crate::model::{SessionKind, Time};

/// True if the caller's credential proves that the caller's e-mail address still belongs to the
/// caller. False for a command-line session that is older than 15 minutes, and for a token without
/// an e-mail claim whose user has not signed in for 15 minutes. `browser` is the maximum age of a
/// browser session, with which a command-line login can be approved.
///
/// A sign-in asks the identity provider for the address, and keeps the stored one if the provider
/// returns none.
pub(crate) fn proves_address(caller: &Person, browser: TimeDelta, now: Time) -> bool {
    let signed_in = |most: TimeDelta| caller.user.last_login_at.is_some_and(|at| now - at <= most);
    match &caller.session {
        Some(session) if session.kind == SessionKind::Cli => {
            now - session.created_at <= RECENT_LOGIN && signed_in(browser + RECENT_LOGIN)
        }
        Some(_) => true,
        None => caller.identity.email.is_some() || signed_in(RECENT_LOGIN),
    }
}
