//! Sign-in of browsers to the development service with one-time codes.

use std::collections::BTreeMap;
use std::sync::Mutex;

use secrets_core::jwt::DevKey;
use secrets_core::model::lock::lock;
use secrets_core::model::{Identity, Time};

/// Maximum number of used codes that are remembered. When it is reached, no code is accepted until
/// a remembered code expires, which takes at most five minutes.
const MAX_USED: usize = 10_000;

/// Redeems the one-time sign-in codes of the development service. Each code can be used once.
pub struct DevLinks {
    key: DevKey,
    /// Start of the service. Codes that were issued earlier are refused, because an earlier process
    /// may have accepted them.
    since: Time,
    /// Used codes by ID, with their expiry time.
    used: Mutex<BTreeMap<[u8; 16], Time>>,
}

impl DevLinks {
    /// Creates the one-time codes of a development service that starts at `since`.
    #[must_use]
    pub fn new(key: DevKey, since: Time) -> Self {
        Self { key, since, used: Mutex::default() }
    }

    /// Redeems a code, and returns the identity of its user. `None` if the code is invalid, expired
    /// or used already.
    pub fn redeem(&self, code: &str, now: Time) -> Option<Identity> {
        let code = self.key.read_code(code, now)?;
        // Codes contain the time in milliseconds.
        if code.issued_at.timestamp_millis() < self.since.timestamp_millis() {
            return None;
        }
        let mut used = lock(&self.used);
        used.retain(|_, expires_at| *expires_at > now);
        if used.len() >= MAX_USED || used.insert(code.id, code.expires_at()).is_some() {
            return None;
        }
        Some(DevKey::identity(&code.email))
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn a_code_signs_in_once_and_only_at_the_process_that_runs() {
        let now = Time::from_timestamp(1_800_000_000, 0).unwrap();
        let key = DevKey::generate().unwrap();
        let (code, other) = (key.code("a@example.com", now), key.code("b@example.com", now));
        let late = key.code("c@example.com", now - TimeDelta::seconds(1));
        let links = DevLinks::new(key, now);

        assert_eq!(links.redeem(&late, now), None);
        assert_eq!(links.redeem(&code, now).unwrap().email.as_deref(), Some("a@example.com"));
        assert_eq!(links.redeem(&code, now), None);
        assert_eq!(links.redeem(&other, now + TimeDelta::minutes(5)), None);
        assert_eq!(links.redeem("", now), None);
    }
}
