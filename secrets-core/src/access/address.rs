//! Check whether a caller's credential proves the caller's e-mail address.

use chrono::TimeDelta;

use super::approval::RECENT_LOGIN;
use crate::engine::Person;
use crate::model::{SessionKind, Time};

/// True if the caller's credential proves that the caller's e-mail address still belongs to the
/// caller. False for a token without an e-mail claim whose user has not signed in for 15 minutes.
/// Also false for a command-line session that is older than 15 minutes, or whose user has not
/// signed in for `browser` plus 15 minutes. `browser` is the maximum age of a browser session,
/// which can approve a command-line login.
///
/// At a sign-in, the address is read from the identity provider. If the provider returns none, the
/// stored address is kept.
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

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::crypto::{TokenMac, random};
    use crate::model::{Identity, SessionId};
    use crate::store::{DeviceClient, SessionRecord, UserRecord};
    use crate::testing::fixtures::{at, user};

    /// Returns the time this number of minutes before the current time of the tests.
    fn ago(minutes: i64) -> Time {
        at(0) - TimeDelta::minutes(minutes)
    }

    /// Creates a caller whose user signed in this number of minutes ago. `session` is the kind and
    /// the age in minutes of the session, and `email` the e-mail claim.
    fn caller(signed_in: i64, session: Option<(SessionKind, i64)>, email: Option<&str>) -> Person {
        let user = UserRecord { last_login_at: Some(ago(signed_in)), ..user("alice") };
        let session = session.map(|(kind, age)| SessionRecord {
            id: SessionId::draw(ago(age)),
            kind,
            user: user.id,
            mac: TokenMac(random()),
            prefix: "cli_0Eoh211G".to_owned(),
            client: DeviceClient::default(),
            created_at: ago(age),
            expires_at: at(60),
            last_used_at: None,
        });
        let identity = Identity::new(&user.issuer, &user.subject, &user.email);
        let identity = Identity { email: email.map(str::to_owned), ..identity };
        Person { user, identity, session }
    }

    #[test]
    fn a_recent_sign_in_or_a_claim_in_the_token_proves_an_address() {
        use SessionKind::{Browser, Cli};

        let (claim, hours) = (Some("alice@example.com"), 12 * 60);
        for (signed_in, session, email, expected) in [
            (10_000, None, claim, true),
            (15, None, None, true),
            (16, None, None, false),
            (10_000, Some((Browser, 10_000)), None, true),
            (hours + 15, Some((Cli, 15)), claim, true),
            (hours + 16, Some((Cli, 15)), claim, false),
            (16, Some((Cli, 16)), claim, false),
        ] {
            let caller = caller(signed_in, session, email);

            let proves = proves_address(&caller, TimeDelta::hours(12), at(0));

            assert_eq!(proves, expected, "{signed_in} {session:?} {email:?}");
        }
    }
}
