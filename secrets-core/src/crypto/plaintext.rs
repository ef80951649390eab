//! Decrypted values. Wiped on drop, hidden in `Debug` output, and readable through `reveal` only.

use std::fmt;
use std::mem;

use serde::{Deserialize, Deserializer, de};
use subtle::ConstantTimeEq as _;
use zeroize::{Zeroize as _, Zeroizing};

use super::Undecryptable;
use crate::model::names::is_summary;
use crate::model::rule::{SUMMARY, VALUE_SIZE};
use crate::model::{ValidationRule, Violation};

/// A secret's value: UTF-8 without NUL, at most 65,536 bytes.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(value_type = String, max_length = 65_536))]
pub struct Plaintext(Zeroizing<String>);

/// A secret's description: at most 500 characters, encrypted like a value.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(
    value_type = String, max_length = 500,
    pattern = "^[^\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u00ad\\u034f\\u061c\\u115f-\\u1160\\u17b4-\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufeff\\uffa0]*$",
))]
pub struct Description(Zeroizing<String>);

const NO_NUL: ValidationRule = ValidationRule::of("must not contain the character NUL");

impl Plaintext {
    /// Maximum size of a value, in bytes.
    pub const LIMIT: usize = 65_536;

    /// Validates a secret's value.
    pub fn new(text: String) -> Result<Self, Violation> {
        let text = Zeroizing::new(text);
        if text.len() > Self::LIMIT {
            return Err(VALUE_SIZE.violation());
        }
        if text.contains('\0') {
            return Err(NO_NUL.violation());
        }
        Ok(Self(text))
    }

    /// Creates an empty value, which is the value of a hidden secret.
    #[must_use]
    pub fn nothing() -> Self {
        Self(Zeroizing::default())
    }

    /// Converts decrypted bytes into a value without copying them. Fails if they are not valid
    /// text.
    pub(super) fn from_opened(mut bytes: Zeroizing<Vec<u8>>) -> Result<Self, Undecryptable> {
        match String::from_utf8(mem::take(&mut *bytes)) {
            Ok(text) => Ok(Self(Zeroizing::new(text))),
            Err(error) => {
                error.into_bytes().zeroize();
                Err(Undecryptable)
            }
        }
    }

    /// Returns the decrypted value. The caller is responsible for every further use of the value.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// True if both values are equal. Compares values of the same length in constant time.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Description {
    /// Validates a secret's description.
    pub fn new(text: String) -> Result<Self, Violation> {
        let text = Zeroizing::new(text);
        if is_summary(&text) { Ok(Self(text)) } else { Err(SUMMARY.violation()) }
    }

    /// Converts the description into a plaintext for encryption.
    #[must_use]
    pub fn into_plaintext(self) -> Plaintext {
        Plaintext(self.0)
    }

    /// Returns the decrypted description.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Plaintext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Plaintext(…)")
    }
}

impl fmt::Debug for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Description(…)")
    }
}

impl TryFrom<String> for Plaintext {
    type Error = Violation;

    fn try_from(text: String) -> Result<Self, Violation> {
        Self::new(text)
    }
}

impl TryFrom<String> for Description {
    type Error = Violation;

    fn try_from(text: String) -> Result<Self, Violation> {
        Self::new(text)
    }
}

impl<'de> Deserialize<'de> for Plaintext {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Description {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_at_most_65536_bytes_and_no_nul() {
        for (text, is_valid) in [
            (String::new(), true),
            ("x".repeat(65_536), true),
            ("é".repeat(32_768), true),
            ("x".repeat(65_537), false),
            ("é".repeat(32_769), false),
            ("a\0b".to_owned(), false),
        ] {
            let length = text.len();
            assert_eq!(Plaintext::new(text).is_ok(), is_valid, "{length} bytes");
        }
    }

    #[test]
    fn a_description_has_at_most_500_characters() {
        for (text, is_valid) in
            [("é".repeat(500), true), ("é".repeat(501), false), ("a\u{7}b".to_owned(), false)]
        {
            let length = text.chars().count();
            assert_eq!(Description::new(text).is_ok(), is_valid, "{length} characters");
        }
    }

    #[test]
    fn values_are_compared_by_their_text() {
        let [value, same, longer] =
            ["kvc_a", "kvc_a", "kvc_ab"].map(|text| Plaintext::new(text.to_owned()).unwrap());

        assert!(value.is_same(&same));
        assert!(!value.is_same(&longer));
        assert!(!value.is_same(&Plaintext::nothing()));
    }

    #[test]
    fn a_value_that_is_not_utf8_does_not_open() {
        let opened = |bytes: &[u8]| Plaintext::from_opened(Zeroizing::new(bytes.to_vec()));

        assert_eq!(opened(b"kvc_a").unwrap().reveal(), "kvc_a");
        assert!(opened(b"\xff").is_err());
    }
}
