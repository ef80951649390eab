//! Device login, for command-line clients: the OAuth 2.0 device authorization grant (RFC 8628).
//!
//! A client starts a login and gets two codes: a device code, with which it polls for the result,
//! and a user code, which it shows to the user. The user, signed in elsewhere, reviews the client's
//! details and approves or denies the login. If it is approved, the next poll returns a session: a
//! credential that acts as the user for 30 days.

mod code;
mod decide;
mod look_up;
mod poll;
mod start;

use std::net::IpAddr;

use chrono::TimeDelta;

pub use code::UserCode;
pub use decide::{ApproveDeviceLogin, DecideDeviceLogin, Decided, Decision, DenyDeviceLogin};
pub use look_up::{DeviceRequest, LookUpDeviceLogin};
pub use poll::{CliGrant, CliUser, PollDeviceLogin, PollError, PollOutcome};
pub use start::{DeviceLogin, NewDeviceLogin, StartDeviceLogin};

use crate::engine::{Access, Context, Engine};
use crate::limits::{AddressLimiter, RateLimiter};
use crate::model::{Bound, Error, Result, Subject, UserId};
use crate::store::DeviceLoginRecord;

/// Lifetime of a device login, in seconds. The user must decide within this time.
const LOGIN_SECONDS: u32 = 600;

/// Initial poll interval in seconds, and the increase after a poll that came too early (RFC 8628,
/// section 3.5).
const POLL_SECONDS: u32 = 5;

/// Lifetime of a session, in days.
const SESSION_DAYS: i64 = 30;

/// Maximum number of wrong codes per user, and of invalid credentials per IP address, in a minute.
const ATTEMPTS_PER_MINUTE: u32 = 5;

/// Counters of wrong user codes for each user, and of invalid credentials for each IP address.
pub(crate) struct LoginAttempts {
    users: RateLimiter<UserId>,
    addresses: AddressLimiter,
}

impl Default for LoginAttempts {
    fn default() -> Self {
        Self {
            users: RateLimiter::new(ATTEMPTS_PER_MINUTE),
            addresses: AddressLimiter::new(ATTEMPTS_PER_MINUTE),
        }
    }
}

const UNKNOWN: Error = Error::NotFound(Subject::DeviceLogin);

/// Finds the unexpired device login with this user code, and counts the attempt if the code is
/// wrong. After too many wrong codes in a minute, fails even for valid codes.
async fn login_of<A: Access>(
    cx: &mut Context<'_, A>,
    code: &UserCode,
) -> Result<DeviceLoginRecord> {
    let (whose, now) = (cx.caller.person()?.id, cx.now());
    let attempts = cx.shared::<LoginAttempts>();
    Bound::LoginAttempts.check(attempts.users.peek(whose, now))?;
    let found = match code.mac(cx.keyring()) {
        Some(mac) => cx.reads().login_by_user_code(&mac).await?,
        None => None,
    };
    found.filter(|login| login.expires_at > now).ok_or_else(|| {
        attempts.users.count(whose, now);
        UNKNOWN
    })
}

/// Fails if this IP address has submitted too many invalid credentials in the current minute.
/// Called by web pages on which a user enters a credential.
pub fn check_attempts(engine: &Engine, address: IpAddr) -> Result<()> {
    let window = engine.shared::<LoginAttempts>().addresses.peek(address, engine.now());
    let bound = Bound::LoginAttempts;
    bound.check(window).inspect_err(|_| engine.refusals().count(bound))
}

/// Counts an invalid credential that was submitted from this IP address.
pub fn count_failure(engine: &Engine, address: IpAddr) {
    engine.shared::<LoginAttempts>().addresses.count(address, engine.now());
}

fn session_span() -> TimeDelta {
    TimeDelta::days(SESSION_DAYS)
}
