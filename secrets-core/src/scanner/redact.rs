//! Redaction: shortening of credentials so that they can be shown.

/// Shortens a credential to its first and last characters, joined by `…`: at most the first four
/// and the last three, but never more than a third of the credential in total. Replaces control
/// characters with U+FFFD.
#[must_use]
pub fn redacted(secret: &str) -> String {
    // Some stores reject NUL, and control characters are not readable.
    let visible = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let characters: Vec<char> = secret.chars().map(visible).collect();
    let shown = characters.len() / 3;
    let tail = (shown / 2).min(3);
    let head = (shown - tail).min(4);
    let first: String = characters.iter().take(head).collect();
    let last: String = characters.iter().skip(characters.len() - tail).collect();
    format!("{first}…{last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_shows_its_ends_and_never_more_than_a_third() {
        let cases = [
            ("", "…"),
            ("ab", "…"),
            ("abc", "a…"),
            ("abcdefgh", "a…h"),
            ("abcdefghijkl", "ab…kl"),
            ("abcdefghijklmnopqrstu", "abcd…stu"),
            ("abcdefghijklmnopqrstuvwxyz0123456789", "abcd…789"),
            ("äöüäöüäöü", "äö…ü"),
        ];

        for (secret, shown) in cases {
            assert_eq!(redacted(secret), shown);
        }
    }
}
