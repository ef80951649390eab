//! Rules about single values, so that every host names them alike.
//!
//! A value type refuses with [`Broken`], which carries the rule's text and never the value. Where a
//! decoder in between keeps only the text (serde does), [`Rule::code_of`] finds the code again.

use std::fmt;

use crate::model::{Code, FieldError};

/// A rule about one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    code: Code,
    text: &'static str,
}

/// A value broke this rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken(Rule);

/// A secret's name.
pub(crate) const SECRET_KEY: Rule = Rule {
    code: Code::InvalidKey,
    text: "must be 1 to 255 letters, digits, underscores, dots and hyphens, and begin with a letter or underscore",
};

/// A name that the interface's own paths hide.
pub(crate) const RESERVED_KEY: Rule = Rule {
    code: Code::ReservedKey,
    text: "must not be `export` or `bulk`, which the interface uses itself",
};

/// A secret's size.
pub(crate) const VALUE_SIZE: Rule =
    Rule { code: Code::ValueTooLarge, text: "must be at most 65536 bytes of UTF-8" };

/// What something is for.
pub(crate) const SUMMARY: Rule =
    Rule::of("must be at most 500 characters without control characters");

impl Rule {
    /// A rule without a code of its own.
    #[must_use]
    pub const fn of(text: &'static str) -> Self {
        Self { code: Code::InvalidRequest, text }
    }

    /// The refusal of a value that breaks this rule.
    #[must_use]
    pub const fn broken(self) -> Broken {
        Broken(self)
    }

    /// The code of the rule with this text.
    #[must_use]
    pub fn code_of(text: &str) -> Code {
        [SECRET_KEY, RESERVED_KEY, VALUE_SIZE]
            .into_iter()
            .find_map(|rule| text.contains(rule.text).then_some(rule.code))
            .unwrap_or(Code::InvalidRequest)
    }
}

impl Broken {
    /// The refusal, for a field of this name.
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
