//! Passphrases and key derivation with Argon2id (RFC 9106, version 0x13).

use std::fmt;

use argon2::{Algorithm, Argon2, Params, Version};
use serde::{Deserialize, Deserializer, de};
use zeroize::Zeroizing;

use super::Key;
use crate::model::{ValidationRule, Violation};

/// A passphrase that protects a file: 12 to 1,024 characters.
pub struct Passphrase(Zeroizing<String>);

/// Argon2id cost parameters: memory, passes and lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Amount of memory in KiB.
    pub(crate) memory: u32,
    pub(crate) passes: u32,
    pub(crate) lanes: u8,
}

impl Cost {
    /// Parameters for new files: the second recommended option of RFC 9106, section 4.
    pub(crate) const NEW: Self = Self { memory: 65_536, passes: 3, lanes: 4 };

    /// Memory that deriving a key for a new file takes, in bytes: 64 MiB.
    pub(crate) const NEW_BYTES: u64 = Self::NEW.memory as u64 * 1024;

    /// True if the parameters are in the accepted range: strong enough for a passphrase, and cheap
    /// enough for a file whose origin is not verified yet.
    pub(crate) fn is_bounded(self) -> bool {
        (19_456..=262_144).contains(&self.memory)
            && (2..=10).contains(&self.passes)
            && (1..=8).contains(&self.lanes)
    }
}

impl Passphrase {
    /// Validates a passphrase. Fails if its length is not 12 to 1,024 characters.
    pub fn new(text: String) -> Result<Self, Violation> {
        const RULE: ValidationRule = ValidationRule::of("must be 12 to 1024 characters");
        let text = Zeroizing::new(text);
        if (12..=1024).contains(&text.chars().count()) {
            Ok(Self(text))
        } else {
            Err(RULE.violation())
        }
    }

    /// Derives an encryption key with these parameters and this salt. Returns `None`, without
    /// running Argon2id, if the parameters are out of bounds.
    pub(crate) fn derive(&self, cost: Cost, salt: &[u8; 16]) -> Option<Key> {
        if !cost.is_bounded() {
            return None;
        }
        let params = Params::new(cost.memory, cost.passes, u32::from(cost.lanes), Some(32)).ok()?;
        let mut key = Zeroizing::new([0; 32]);
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(self.0.as_bytes(), salt, key.as_mut_slice())
            .ok()?;
        Some(Key::from_bytes(key))
    }
}

impl<'de> Deserialize<'de> for Passphrase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_accepted_within_their_bounds() {
        for (memory, passes, lanes, is_bounded) in [
            (65_536, 3, 4, true),
            (19_456, 2, 1, true),
            (262_144, 10, 8, true),
            (19_455, 3, 4, false),
            (262_145, 3, 4, false),
            (65_536, 1, 4, false),
            (65_536, 11, 4, false),
            (65_536, 3, 0, false),
            (65_536, 3, 9, false),
        ] {
            let cost = Cost { memory, passes, lanes };
            assert_eq!(cost.is_bounded(), is_bounded, "{cost:?}");
        }
    }

    #[test]
    fn a_passphrase_has_12_characters_or_more() {
        for text in ["", "short", "elevenchars", &"x".repeat(1025)] {
            assert!(Passphrase::new(text.to_owned()).is_err(), "{text}");
        }
        for text in ["twelve chars", "日本語のパスフレーズです", &"é".repeat(1024)] {
            assert!(Passphrase::new(text.to_owned()).is_ok(), "{text}");
        }
    }
}
