//! Verification of webhook deliveries, for programs that receive them.

use std::fmt;

use crate::crypto::WebhookSecret;
use crate::model::Time;

/// A received webhook delivery: three headers and the body, as received.
pub struct Delivered<'a> {
    /// Value of the `webhook-id` header: the message ID.
    pub id: &'a str,
    /// Value of the `webhook-timestamp` header: Unix time in seconds.
    pub timestamp: &'a str,
    /// Value of the `webhook-signature` header: signatures separated by spaces. One of them must be
    /// valid.
    pub signature: &'a str,
    /// Body bytes as received. A body that was parsed and serialized again may differ.
    pub body: &'a [u8],
}

/// Reason why a received delivery is not authentic or not recent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unproven {
    /// A header is missing parts or has the wrong format.
    Malformed,
    /// No signature matches the secret, the headers and the body.
    Tampered,
    /// The timestamp differs from the current time by more than five minutes: the delivery may be a
    /// replay.
    Stale,
}

/// Maximum difference between the clocks of sender and receiver, in seconds.
const MAX_CLOCK_SKEW: u64 = 300;

impl Delivered<'_> {
    /// Checks that the delivery was signed with this secret, at most five minutes before or after
    /// `now`.
    pub fn check(&self, secret: &WebhookSecret, now: Time) -> Result<(), Unproven> {
        let seconds = self.seconds().ok_or(Unproven::Malformed)?;
        // The signed text joins ID, time and body with dots, so a dot in the ID would be ambiguous.
        if self.id.is_empty() || self.id.contains('.') || self.signature.is_empty() {
            return Err(Unproven::Malformed);
        }
        let mut signatures = self.signature.split(' ');
        if !signatures.any(|one| secret.signed(one, self.id, seconds, self.body)) {
            return Err(Unproven::Tampered);
        }
        if now.timestamp().abs_diff(seconds) > MAX_CLOCK_SKEW {
            return Err(Unproven::Stale);
        }
        Ok(())
    }

    /// Parses the timestamp header. Returns `None` unless the text is a decimal number in exactly
    /// the form that the sender writes.
    fn seconds(&self) -> Option<i64> {
        let seconds: i64 = self.timestamp.parse().ok()?;
        (seconds.to_string() == self.timestamp).then_some(seconds)
    }
}

impl Unproven {
    /// Returns the name of the reason, for programs. The names never change.
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
            Self::Malformed => "the webhook headers are missing or malformed",
            Self::Tampered => "this delivery was not signed with this secret",
            Self::Stale => "the timestamp is not within five minutes of the current time",
        })
    }
}

impl std::error::Error for Unproven {}

/// Formats only the message ID, because the body may be confidential.
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
    fn a_recent_delivery_with_a_valid_signature_is_accepted() {
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
