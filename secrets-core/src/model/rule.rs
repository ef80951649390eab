//! Validation rules for single values, so that every host application reports the same errors.
//!
//! A value type returns [`Violation`] for an invalid value. The violation contains the rule's text
//! and error code, but never the value. Decoders such as serde pass on only the text of an error;
//! for them, [`ValidationRule::code_of`] finds the code of the rule again.

use std::fmt;

use crate::model::{Code, FieldError};

/// Validation rule for one value: a human-readable text and an error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValidationRule {
    code: Code,
    text: &'static str,
}

/// Violation of a validation rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Violation(ValidationRule);

/// Validation rule for the characters and length of secret keys.
pub(crate) const SECRET_KEY: ValidationRule = ValidationRule {
    code: Code::InvalidKey,
    text: "must be 1 to 255 letters, digits, underscores, dots and hyphens, and begin with a letter or underscore",
};

/// Validation rule that rejects secret keys that are equal to paths of the API.
pub(crate) const RESERVED_KEY: ValidationRule = ValidationRule {
    code: Code::ReservedKey,
    text: "must not be `export` or `bulk`, which the interface uses itself",
};

/// Validation rule for the size of secret values.
pub(crate) const VALUE_SIZE: ValidationRule =
    ValidationRule { code: Code::ValueTooLarge, text: "must be at most 65536 bytes of UTF-8" };

/// Validation rule for the length and characters of descriptions.
pub(crate) const SUMMARY: ValidationRule =
    ValidationRule::of("must be at most 500 characters without control or invisible characters");

impl ValidationRule {
    /// Creates a validation rule with this text and the general code [`Code::InvalidRequest`].
    #[must_use]
    pub const fn of(text: &'static str) -> Self {
        Self { code: Code::InvalidRequest, text }
    }

    /// Returns a violation of this rule, as an error.
    #[must_use]
    pub const fn violation(self) -> Violation {
        Violation(self)
    }

    /// Returns the code of the validation rule whose text occurs in an error message;
    /// [`Code::InvalidRequest`] if no rule's text occurs.
    #[must_use]
    pub fn code_of(text: &str) -> Code {
        [SECRET_KEY, RESERVED_KEY, VALUE_SIZE]
            .into_iter()
            .find_map(|rule| text.contains(rule.text).then_some(rule.code))
            .unwrap_or(Code::InvalidRequest)
    }
}

impl Violation {
    /// Converts the violation to a field error that names this field.
    pub fn at(self, field: impl Into<String>) -> FieldError {
        FieldError::new(field, self.0.code, self.0.text)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.text)
    }
}

impl std::error::Error for Violation {}
