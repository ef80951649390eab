//! One-time codes with which browsers sign in to the development mode.
//!
//! ```text
//!  0  16  MAC of the rest: the first half of HMAC-SHA256
//! 16  16  random ID
//! 32   8  time of issue in milliseconds since 1970, big-endian
//! 40      e-mail address of the user
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::DevKey;
use crate::crypto::{Key, random};
use crate::model::Time;

/// Lifetime of a one-time code, in minutes.
const LIFETIME: i64 = 5;

/// Maximum length of a one-time code, in characters. Longer strings are rejected without decoding.
const MAX_LENGTH: usize = 1024;

/// Contents of a one-time code. The host application must remember the ID when it accepts the code,
/// so that the code works only once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DevCode {
    /// Random ID of the code.
    pub id: [u8; 16],
    /// Time at which the code was created.
    pub issued_at: Time,
    /// E-mail address of the user.
    pub email: String,
}

impl DevCode {
    /// Returns the time at which the one-time code expires.
    #[must_use]
    pub fn expires_at(&self) -> Time {
        self.issued_at + TimeDelta::minutes(LIFETIME)
    }
}

impl DevKey {
    /// Creates a one-time code for a user with this e-mail address, valid for five minutes from
    /// `now`.
    #[must_use]
    pub fn code(&self, email: &str, now: Time) -> String {
        let issued = u64::try_from(now.timestamp_millis()).unwrap_or(0).to_be_bytes();
        let contents = [random::<16>().as_slice(), &issued, email.as_bytes()].concat();
        let mac = self.mac(&contents).finalize().into_bytes();
        URL_SAFE_NO_PAD.encode([&mac[..16], contents.as_slice()].concat())
    }

    /// Decodes a one-time code and checks its MAC. Returns `None` if the code is invalid or has
    /// expired.
    #[must_use]
    pub fn read_code(&self, code: &str, now: Time) -> Option<DevCode> {
        if code.len() > MAX_LENGTH {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(code).ok()?;
        let (mac, contents) = bytes.split_first_chunk::<16>()?;
        // Compares in constant time.
        self.mac(contents).verify_truncated_left(mac).ok()?;
        let (id, rest) = contents.split_first_chunk::<16>()?;
        let (issued, email) = rest.split_first_chunk::<8>()?;
        let issued = i64::try_from(u64::from_be_bytes(*issued)).ok()?;
        let code = DevCode {
            id: *id,
            issued_at: DateTime::from_timestamp_millis(issued)?,
            email: std::str::from_utf8(email).ok()?.to_owned(),
        };
        (now < code.expires_at()).then_some(code)
    }

    fn mac(&self, contents: &[u8]) -> Hmac<Sha256> {
        let key = Key::from_bytes(Zeroizing::new(*self.seed()));
        let key = key.derive(None, b"secrets-core/v1/dev-code");
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key.as_bytes())
            .expect("HMAC accepts a 32-byte key");
        mac.chain_update(contents)
    }
}
