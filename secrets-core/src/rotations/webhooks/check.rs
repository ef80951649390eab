//! Checking what was delivered, for who receives it.

use std::fmt;

use crate::crypto::WebhookSecret;
use crate::model::Time;

/// A delivery as it arrived: three headers as they were written, and the body as it was sent.
pub struct Delivered<'a> {
    /// `webhook-id`.
    pub id: &'a str,
    /// `webhook-timestamp`: seconds since 1970.
    pub timestamp: &'a str,
    /// `webhook-signature`: signatures with a space between them, of which one must be right.
    pub signature: &'a str,
    /// The very bytes: a body that was read and written again is another one.
    pub body: &'a [u8],
}

/// Why a delivery proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unproven {
    /// A header is not what it must be.
    Malformed,
    /// No signature is of this secret, these headers and this body.
    Tampered,
    /// It was signed more than five minutes before or after now: it may be sent again by another.
    Stale,
}

/// How far the sender's clock and the receiver's may be apart, in seconds.
const TOLERANCE: u64 = 300;

impl Delivered<'_> {
    /// Refuses what was not signed with this secret, or not about now.
    pub fn check(&self, secret: &WebhookSecret, now: Time) -> Result<(), Unproven> {
        let seconds = self.seconds().ok_or(Unproven::Malformed)?;
        // A dot would let a part of what was signed pass for another.
        if self.id.is_empty() || self.id.contains('.') || self.signature.is_empty() {
            return Err(Unproven::Malformed);
        }
        let mut signatures = self.signature.split(' ');
        if !signatures.any(|one| secret.signed(one, self.id, seconds, self.body)) {
            return Err(Unproven::Tampered);
        }
        if now.timestamp().abs_diff(seconds) > TOLERANCE {
            return Err(Unproven::Stale);
        }
        Ok(())
    }

    /// The time, if it is written as we write it.
    fn seconds(&self) -> Option<i64> {
        let seconds: i64 = self.timestamp.parse().ok()?;
        (seconds.to_string() == self.timestamp).then_some(seconds)
    }
}

impl Unproven {
    /// Its name for machines.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Tampered => "tampered",
            Self::Stale => "stale",
        }
    }
}

impl fmt::Display for Unproven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the headers of this delivery are not those of a webhook",
            Self::Tampered => "this delivery was not signed with this secret",
            Self::Stale => "this delivery was not signed within five minutes of now",
        })
    }
}

impl std::error::Error for Unproven {}

/// A body may name what is nobody else's business.
impl fmt::Debug for Delivered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivered").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    const SENT: &str = "1767225600";

    fn now() -> Time {
        Time::from_timestamp(1_767_225_600, 0).unwrap()
    }

    fn signed<'a>(secret: &WebhookSecret, body: &'a [u8], kept: &'a mut String) -> Delivered<'a> {
        *kept = secret.sign("msg_1", 1_767_225_600, body);
        Delivered { id: "msg_1", timestamp: SENT, signature: kept, body }
    }

    #[test]
    fn what_was_signed_with_the_secret_about_now_is_taken() {
        let (secret, mut kept) = (WebhookSecret::draw(), String::new());
        let delivered = signed(&secret, b"{}", &mut kept);
        let others = format!("v1a,AAAA v1,AAAA {}", delivered.signature);

        for seconds in [-300, 0, 300] {
            let now = now() + TimeDelta::seconds(seconds);
            assert_eq!(delivered.check(&secret, now), Ok(()));
        }
        let among_others = Delivered { signature: &others, ..delivered };
        assert_eq!(among_others.check(&secret, now()), Ok(()));
    }

    #[test]
    fn anything_else_is_refused_by_kind() {
        let (secret, mut kept) = (WebhookSecret::draw(), String::new());
        let delivered = || Delivered { id: "msg_1", timestamp: SENT, signature: "", body: b"{}" };
        let signature = secret.sign("msg_1", 1_767_225_600, b"{}");
        let dotted = secret.sign("msg.1", 1_767_225_600, b"{}");
        let cases = [
            (Delivered { signature: &signature, body: b"{ }", ..delivered() }, Unproven::Tampered),
            (Delivered { signature: &signature, id: "msg_2", ..delivered() }, Unproven::Tampered),
            (Delivered { signature: "v1,", ..delivered() }, Unproven::Tampered),
            (Delivered { signature: &signature[3..], ..delivered() }, Unproven::Tampered),
            (delivered(), Unproven::Malformed),
            (Delivered { signature: &signature, id: "", ..delivered() }, Unproven::Malformed),
            (Delivered { signature: &dotted, id: "msg.1", ..delivered() }, Unproven::Malformed),
            (
                Delivered { signature: &signature, timestamp: "+1767225600", ..delivered() },
                Unproven::Malformed,
            ),
        ];

        for (delivered, refusal) in cases {
            assert_eq!(delivered.check(&secret, now()), Err(refusal), "{delivered:?}");
        }
        let delivered = signed(&secret, b"{}", &mut kept);
        let other = WebhookSecret::draw();
        assert_eq!(delivered.check(&other, now()), Err(Unproven::Tampered));
        for seconds in [-301, 301] {
            let now = now() + TimeDelta::seconds(seconds);
            assert_eq!(delivered.check(&secret, now), Err(Unproven::Stale));
        }
    }
}
