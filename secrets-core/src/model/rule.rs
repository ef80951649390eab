//! Validation rules for single values, so that every host reports the same errors.
//!
//! A value type returns [`Broken`] for an invalid value, which carries the rule's text and never
//! the value. If a decoder in between keeps only the text (as serde does), [`Rule::code_of`] finds
//! the code again.

use std::fmt;

use crate::model::{Code, FieldError};

/// Validation rule for one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    code: Code,
    text: &'static str,
}

/// Violation of a validation rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken(Rule);

/// Rule for secret keys.
pub(crate) const SECRET_KEY: Rule = Rule {
    code: Code::InvalidKey,
    text: "must be 1 to 255 letters, digits, underscores, dots and hyphens, and begin with a letter or underscore",
};

/// Rule against keys that are also paths of the API.
pub(crate) const RESERVED_KEY: Rule = Rule {
    code: Code::ReservedKey,
    text: "must not be `export` or `bulk`, which the interface uses itself",
};

/// Rule for the size of secret values.
pub(crate) const VALUE_SIZE: Rule =
    Rule { code: Code::ValueTooLarge, text: "must be at most 65536 bytes of UTF-8" };

/// Rule for descriptions.
pub(crate) const SUMMARY: Rule =
    Rule::of("must be at most 500 characters without control characters");

impl Rule {
    /// Creates a rule with the general code [`Code::InvalidRequest`].
    #[must_use]
    pub const fn of(text: &'static str) -> Self {
        Self { code: Code::InvalidRequest, text }
    }

    /// Returns the violation of this rule.
    #[must_use]
    pub const fn broken(self) -> Broken {
        Broken(self)
    }

    /// Code of the rule with this text.
    #[must_use]
    pub fn code_of(text: &str) -> Code {
        [SECRET_KEY, RESERVED_KEY, VALUE_SIZE]
            .into_iter()
            .find_map(|rule| text.contains(rule.text).then_some(rule.code))
            .unwrap_or(Code::InvalidRequest)
    }
}

impl Broken {
    /// Converts to an error of the named field.
    pub fn at(self, field: impl Into<String>) -> FieldError {
        FieldError::new(field, self.0.code, self.0.text)
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.text)
    }
}

impl std::error::Error for Broken {}
