//! Fuzz target of quoting, and the fuzz targets of logins.

use super::quoting::{Ident, Literal, pattern};

pub use super::mysql::login::fuzz::mysql_login;
pub use super::postgres::frames::fuzz::postgres_login;

/// Fuzz target: quotes the input as SQL identifiers and literals, and checks that a database reads
/// the result as the original string.
pub fn quoting(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(quoted) = Ident::pg(text) {
        assert_eq!(unquoted(&quoted.to_string(), '"', false).as_deref(), Some(text));
        assert!(text.len() <= 63 && !text.contains('\0'), "PostgreSQL keeps the whole name");
    }
    if let Ok(quoted) = Ident::my(text) {
        assert_eq!(unquoted(&quoted.to_string(), '`', false).as_deref(), Some(text));
        assert!(text.chars().count() <= 64 && !text.contains('\0') && !text.ends_with(' '));
    }
    if let Ok(quoted) = Ident::my_pattern(text) {
        let name = unquoted(&quoted.to_string(), '`', false);
        assert_eq!(name.as_deref().and_then(only_match).as_deref(), Some(text));
    }
    assert_eq!(only_match(&pattern(text)).as_deref(), Some(text));
    literals(text);
}

fn literals(text: &str) {
    let quoted = Literal::pg(text).to_string();
    match quoted.strip_prefix(" E").or_else(|| quoted.strip_prefix('E')) {
        Some(escaped) => assert_eq!(unquoted(escaped, '\'', true).as_deref(), Some(text)),
        // Both values of the setting `standard_conforming_strings`.
        None => {
            for has_escapes in [false, true] {
                assert_eq!(unquoted(&quoted, '\'', has_escapes).as_deref(), Some(text));
            }
        }
    }
    if let Ok(quoted) = Literal::my_plain(text) {
        for has_escapes in [false, true] {
            assert_eq!(unquoted(&quoted.to_string(), '\'', has_escapes).as_deref(), Some(text));
        }
        assert!(!text.is_empty() && text.is_ascii());
    }
    let quoted = Literal::my_text(text).to_string();
    let digits =
        quoted.strip_prefix("CONVERT(X'").and_then(|rest| rest.strip_suffix("' USING utf8mb4)"));
    let decoded = digits.and_then(|digits| hex::decode(digits).ok());
    assert_eq!(decoded.as_deref(), Some(text.as_bytes()));
}

/// Returns the content of a quoted string, in which two quote characters stand for one. `None` if
/// the closing quote is missing or is not the last character.
fn unquoted(text: &str, quote: char, has_escapes: bool) -> Option<String> {
    let mut chars = text.strip_prefix(quote)?.chars();
    let mut content = String::new();
    loop {
        match chars.next()? {
            '\\' if has_escapes => match chars.next()? {
                escaped @ ('\\' | '\'') => content.push(escaped),
                _ => return None,
            },
            found if found == quote => match chars.next() {
                None => return Some(content),
                Some(next) if next == quote => content.push(quote),
                Some(_) => return None,
            },
            other => content.push(other),
        }
    }
}

/// Returns the only string that an SQL `LIKE` pattern matches; `None` if the pattern matches
/// several strings.
fn only_match(pattern: &str) -> Option<String> {
    let mut chars = pattern.chars();
    let mut text = String::new();
    while let Some(c) = chars.next() {
        match c {
            '_' | '%' => return None,
            '\\' => text.push(chars.next()?),
            _ => text.push(c),
        }
    }
    Some(text)
}
