//! Values in the clear: wiped when dropped, shown nowhere, given out by one function.

use std::fmt;

use serde::{Deserialize, Deserializer, Serializer, de};
use zeroize::Zeroizing;

use super::Undecryptable;
use crate::model::names::is_summary;
use crate::model::rule::{SUMMARY, VALUE_SIZE};
use crate::model::{Broken, Rule};

/// A secret's value: UTF-8 without NUL, at most 65,536 bytes.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(value_type = String, max_length = 65_536))]
pub struct Plaintext(Zeroizing<String>);

/// A secret's description: at most 500 characters, sealed like a value.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(
    value_type = String, max_length = 500,
    pattern = "^[^\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff]*$",
))]
pub struct Description(Zeroizing<String>);

const NO_NUL: Rule = Rule::of("must not contain the character NUL");

impl Plaintext {
    /// The most bytes a value may have.
    pub const LIMIT: usize = 65_536;

    /// A value, if it may be one.
    pub fn new(text: String) -> Result<Self, Broken> {
        let text = Zeroizing::new(text);
        if text.len() > Self::LIMIT {
            return Err(VALUE_SIZE.broken());
        }
        if text.contains('\0') {
            return Err(NO_NUL.broken());
        }
        Ok(Self(text))
    }

    /// The value of a hidden secret: nothing.
    #[must_use]
    pub fn nothing() -> Self {
        Self(Zeroizing::default())
    }

    pub(super) fn from_opened(bytes: &[u8]) -> Result<Self, Undecryptable> {
        let text = std::str::from_utf8(bytes).map_err(|_| Undecryptable)?;
        Ok(Self(Zeroizing::new(text.to_owned())))
    }

    /// The value itself. What calls this answers for where it goes.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Writes the value into an answer; for `#[serde(serialize_with)]`, so that every place a value
    /// leaves by is named in its type.
    pub fn serialize_revealed<S: Serializer>(
        value: &Self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(value.reveal())
    }
}

impl Description {
    /// A description, if it may be one.
    pub fn new(text: String) -> Result<Self, Broken> {
        let text = Zeroizing::new(text);
        if is_summary(&text) { Ok(Self(text)) } else { Err(SUMMARY.broken()) }
    }

    /// The description as what is sealed.
    #[must_use]
    pub fn into_plaintext(self) -> Plaintext {
        Plaintext(self.0)
    }

    /// The text itself.
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
    type Error = Broken;

    fn try_from(text: String) -> Result<Self, Broken> {
        Self::new(text)
    }
}

impl TryFrom<String> for Description {
    type Error = Broken;

    fn try_from(text: String) -> Result<Self, Broken> {
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
