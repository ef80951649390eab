//! Quoting of identifiers and literals in SQL statements that accept no bind parameters.

use std::fmt;

use crate::ports::rotator::{Fault, TargetError};

/// A quoted identifier, such as a table or user name. Names that are not constant are inserted into
/// SQL statements only as values of this type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ident(String);

/// A quoted string literal. Strings that are not constant are inserted into SQL statements only as
/// values of this type.
pub(super) struct Literal(zeroize::Zeroizing<String>);

impl Ident {
    /// Quotes an identifier for PostgreSQL. Names over 63 bytes are rejected, because PostgreSQL
    /// truncates them.
    pub(super) fn pg(name: &str) -> Result<Self, TargetError> {
        if name.is_empty() || name.len() > 63 || name.contains('\0') {
            return Err(Fault::NoDatabase.into());
        }
        Ok(Self(format!("\"{}\"", name.replace('"', "\"\""))))
    }

    /// Quotes an identifier for MySQL and MariaDB. Accepts names of 1 to 64 characters of the Basic
    /// Multilingual Plane that do not end with a space.
    pub(super) fn my(name: &str) -> Result<Self, TargetError> {
        let is_allowed = |c: char| c != '\0' && u32::from(c) <= 0xffff;
        let length = name.chars().count();
        if !(1..=64).contains(&length) || !name.chars().all(is_allowed) || name.ends_with(' ') {
            return Err(Fault::NoDatabase.into());
        }
        Ok(Self(format!("`{}`", name.replace('`', "``"))))
    }

    /// Quotes a database name for the statement `GRANT` of MySQL, which interprets the name as a
    /// pattern.
    pub(super) fn my_pattern(name: &str) -> Result<Self, TargetError> {
        Self::my(name)?;
        Ok(Self(format!("`{}`", pattern(name).replace('`', "``"))))
    }
}

/// Escapes a database name so that it matches only itself when it is interpreted as a pattern.
pub(super) fn pattern(name: &str) -> String {
    name.replace('\\', "\\\\").replace('_', "\\_").replace('%', "\\%")
}

impl Literal {
    /// Quotes a literal for PostgreSQL. The result is safe for both values of the setting
    /// `standard_conforming_strings`.
    pub(super) fn pg(text: &str) -> Self {
        Self(postgres_protocol::escape::escape_literal(text).into())
    }

    /// Quotes a generated password, password hash or user name for MySQL and MariaDB. Only letters,
    /// digits and `-_*:` are accepted, which are safe in every `sql_mode`.
    pub(super) fn my_plain(text: &str) -> Result<Self, TargetError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_*:".contains(&byte);
        if text.is_empty() || !text.bytes().all(is_plain) {
            return Err(Fault::Protocol.into());
        }
        Ok(Self(format!("'{text}'").into()))
    }

    /// Converts any string to a hexadecimal SQL expression for MySQL and MariaDB, which needs no
    /// escaping.
    pub(super) fn my_text(text: &str) -> Self {
        Self(format!("CONVERT(X'{}' USING utf8mb4)", hex::encode_upper(text)).into())
    }
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
