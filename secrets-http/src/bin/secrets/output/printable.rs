//! Conversion of text for terminals: characters that control a terminal are replaced or escaped.
//!
//! Names, values and messages of a service, and names of files, can contain characters that move
//! the cursor, change the title of a terminal, or write to the clipboard.

use std::borrow::Cow;
use std::fmt::Write as _;

use zeroize::Zeroizing;

/// Returns the text on one line, with a replacement character for each control character.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Returns the text like [`printable`], but keeps line ends and tabs.
pub(crate) fn printable_lines(text: &str) -> Cow<'_, str> {
    let is_kept = |c: char| matches!(c, '\n' | '\t') || !c.is_control();
    if text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n");
    let replaced = text.chars().map(|c| if is_kept(c) { c } else { char::REPLACEMENT_CHARACTER });
    Cow::Owned(replaced.collect())
}

/// Replaces the control characters in a JSON document by JSON escapes, except for line ends. JSON
/// requires escapes only below U+0020, but terminals also obey other control characters.
pub(crate) fn escaped_json(json: Zeroizing<String>) -> Zeroizing<String> {
    let is_plain = |c: char| c == '\n' || !c.is_control();
    if json.chars().all(is_plain) {
        return json;
    }
    // Each character of up to 2 bytes becomes 6 bytes.
    let mut escaped = Zeroizing::new(String::with_capacity(6 * json.len()));
    for c in json.chars() {
        if is_plain(c) {
            escaped.push(c);
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_tabs_remain() {
        assert_eq!(printable_lines("a\tb\r\nc\n"), "a\tb\nc\n");
        assert_eq!(printable_lines("é\tb\n"), "é\tb\n");
        assert_eq!(
            printable_lines("\u{1b}[2J\r\u{9b}31m\u{7f}"),
            "\u{fffd}[2J\u{fffd}\u{fffd}31m\u{fffd}"
        );
        assert_eq!(printable("a\tb\n\u{1b}c"), "a\u{fffd}b\u{fffd}\u{fffd}c");
    }

    #[test]
    fn escaped_json_is_the_same_document() {
        let document = serde_json::json!({ "a\u{9b}": "\u{1b}\u{7f}\u{85} é\n" });
        let text = Zeroizing::new(serde_json::to_string_pretty(&document).unwrap());

        let escaped = escaped_json(text);

        assert!(escaped.chars().all(|c| c == '\n' || !c.is_control()));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), document);
    }
}
