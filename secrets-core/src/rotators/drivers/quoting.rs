//! Names and texts as they stand in statements, which cannot be bound there.

use std::fmt;

use crate::ports::rotator::{Fault, TargetError};

/// A quoted name. Nothing else is put into a statement as a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ident(String);

/// A quoted text. Nothing else is put into a statement as a value.
pub(super) struct Literal(zeroize::Zeroizing<String>);

impl Ident {
    /// For PostgreSQL, which would cut off what is longer than 63 bytes.
    pub(super) fn pg(name: &str) -> Result<Self, TargetError> {
        if name.is_empty() || name.len() > 63 || name.contains('\0') {
            return Err(Fault::NoDatabase.into());
        }
        Ok(Self(format!("\"{}\"", name.replace('"', "\"\""))))
    }

    /// For MySQL and MariaDB: 1 to 64 characters of the basic plane, no space at the end.
    pub(super) fn my(name: &str) -> Result<Self, TargetError> {
        let is_of_mysql = |c: char| c != '\0' && u32::from(c) <= 0xffff;
        let length = name.chars().count();
        if !(1..=64).contains(&length) || !name.chars().all(is_of_mysql) || name.ends_with(' ') {
            return Err(Fault::NoDatabase.into());
        }
        Ok(Self(format!("`{}`", name.replace('`', "``"))))
    }

    /// For the database of a `GRANT`, which is a pattern.
    pub(super) fn my_pattern(name: &str) -> Result<Self, TargetError> {
        Self::my(name)?;
        Ok(Self(format!("`{}`", pattern(name).replace('`', "``"))))
    }
}

/// A name of a database, as what matches it alone.
pub(super) fn pattern(name: &str) -> String {
    name.replace('\\', "\\\\").replace('_', "\\_").replace('%', "\\%")
}

impl Literal {
    /// For PostgreSQL, whatever `standard_conforming_strings` is.
    pub(super) fn pg(text: &str) -> Self {
        Self(postgres_protocol::escape::escape_literal(text).into())
    }

    /// A password, a hash of one or a user of ours, for MySQL and MariaDB: of letters and digits
    /// that mean nothing in a text, whatever `sql_mode` is. Anything else is refused.
    pub(super) fn my_plain(text: &str) -> Result<Self, TargetError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_*:".contains(&byte);
        if text.is_empty() || !text.bytes().all(is_plain) {
            return Err(Fault::Protocol.into());
        }
        Ok(Self(format!("'{text}'").into()))
    }

    /// Any text, for MySQL and MariaDB, as an expression: no quoting can go wrong in hexadecimal.
    pub(super) fn my_text(text: &str) -> Self {
        Self(format!("CONVERT(X'{}' USING utf8mb4)", hexadecimal(text.as_bytes())).into())
    }
}

/// Two upper-case digits for each byte.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |half: u8| char::from(DIGITS[usize::from(half & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

impl fmt::Display for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pg(name: &str) -> Option<String> {
        Ident::pg(name).ok().map(|ident| ident.to_string())
    }

    fn my(name: &str) -> Option<String> {
        Ident::my(name).ok().map(|ident| ident.to_string())
    }

    #[test]
    fn a_name_cannot_end_its_quotes() {
        assert_eq!(pg(r#"a"b; --"#).as_deref(), Some(r#""a""b; --""#));
        assert_eq!(my("a`b; --").as_deref(), Some("`a``b; --`"));
        assert_eq!(Ident::my_pattern(r"a_b%\`").unwrap().to_string(), r"`a\_b\%\\```");
    }

    #[test]
    fn a_name_that_the_server_would_change_is_refused() {
        assert_eq!(pg(""), None);
        assert_eq!(pg("a\0b"), None);
        assert_eq!(pg(&"a".repeat(64)), None);
        assert!(pg(&"a".repeat(63)).is_some());
        assert_eq!(my(""), None);
        assert_eq!(my("a\0b"), None);
        assert_eq!(my("a "), None);
        assert_eq!(my("a😀"), None);
        assert_eq!(my(&"é".repeat(65)), None);
        assert!(my(&"é".repeat(64)).is_some());
    }

    #[test]
    fn a_text_is_quoted_or_refused() {
        assert_eq!(Literal::pg("a'b").to_string(), "'a''b'");
        assert_eq!(Literal::my_plain("kvc_a-Z*9").unwrap().to_string(), "'kvc_a-Z*9'");
        for text in ["", "a'b", "a\\", "a b", "é", "a\0"] {
            assert!(Literal::my_plain(text).is_err(), "{text:?}");
        }
        assert_eq!(Literal::my_text("a'é").to_string(), "CONVERT(X'6127C3A9' USING utf8mb4)");
    }
}
