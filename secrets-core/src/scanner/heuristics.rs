//! Heuristics that separate real credentials from placeholders and other text.

use std::collections::BTreeMap;

use crate::crypto::TokenText;

/// Computes the Shannon entropy of a string, in bits per character.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "texts are shorter than 2^52 characters")]
pub fn entropy(text: &str) -> f64 {
    let mut counts = BTreeMap::new();
    for character in text.chars() {
        *counts.entry(character).or_insert(0_usize) += 1;
    }
    let all = counts.values().sum::<usize>() as f64;
    counts
        .values()
        .map(|count| {
            let share = *count as f64 / all;
            -share * share.log2()
        })
        .sum()
}

/// Words and character sequences that occur in placeholders, such as `${`.
const PLACEHOLDER_WORDS: [&str; 34] = [
    "${",
    "$(",
    "{{",
    "<",
    "%(",
    "...",
    "…",
    "abcdefgh",
    "change-me",
    "change_me",
    "changeit",
    "changeme",
    "deadbeef",
    "dummy",
    "example",
    "fake",
    "foobar",
    "goes_here",
    "goes-here",
    "insert",
    "my-secret",
    "my_secret",
    "mysecret",
    "not-real",
    "not_real",
    "notreal",
    "placeholder",
    "redacted",
    "replace",
    "sample",
    "todo",
    "your",
    "123456789",
    "xxxx",
];

/// Characters that mark a string as a placeholder if one of them occurs eight times in a row.
const FILLER: &str = "xX*.-_0#";

/// True if a string is a placeholder and not a credential. Only the first 100 characters are
/// checked, because a long random string contains short words by chance.
pub(super) fn is_stand_in(secret: &str) -> bool {
    let beginning: String = secret.chars().take(100).collect::<String>().to_ascii_lowercase();
    PLACEHOLDER_WORDS.iter().any(|word| beginning.contains(word)) || has_filler(&beginning)
}

fn has_filler(text: &str) -> bool {
    let (mut last, mut run) = ('\0', 0);
    text.chars().any(|character| {
        run = if character == last { run + 1 } else { 1 };
        last = character;
        run >= 8 && FILLER.contains(character)
    })
}

/// Returns true if the checksum of a service token of this service is valid.
pub(super) fn service_token(secret: &str, _: &str) -> bool {
    TokenText::is_plausible(secret)
}

/// Passwords that are common placeholders, such as in examples.
const PLACEHOLDER_PASSWORDS: [&str; 22] = [
    "1234",
    "12345",
    "123456",
    "admin",
    "dev",
    "guest",
    "hunter2",
    "letmein",
    "mypassword",
    "mysql",
    "pass",
    "passwd",
    "password",
    "postgres",
    "pwd",
    "qwerty",
    "root",
    "secret",
    "test",
    "token",
    "user",
    "username",
];

/// Returns true if a password in a URL looks real: it is not a variable, one repeated character or
/// a common placeholder.
pub(super) fn password(secret: &str, _: &str) -> bool {
    let lower = secret.to_ascii_lowercase();
    let is_variable = ["$", "{", "}", "*", "%s", "%v"].iter().any(|sign| lower.contains(sign));
    let repeats = lower.chars().all(|character| lower.starts_with(character));
    !is_variable && !repeats && !PLACEHOLDER_PASSWORDS.contains(&lower.as_str())
}

/// Words that, at the end of a name, mean that its value is not a credential, such as `hash` in
/// `token_hash`.
const METADATA_WORDS: [&str; 29] = [
    "hash",
    "digest",
    "sha",
    "sha1",
    "sha256",
    "checksum",
    "integrity",
    "id",
    "ids",
    "url",
    "uri",
    "endpoint",
    "file",
    "filename",
    "path",
    "name",
    "arn",
    "type",
    "version",
    "count",
    "length",
    "format",
    "prefix",
    "algorithm",
    "expiry",
    "class",
    "provider",
    "fingerprint",
    "ref",
];

/// Returns true if a value that is assigned to a name such as `api_key` or `token` looks like a
/// credential: it mixes letters and digits, and is not an identifier, UUID or path.
pub(super) fn assigned(secret: &str, whole: &str) -> bool {
    let digits = secret.bytes().filter(u8::is_ascii_digit).count();
    let letters = secret.bytes().filter(u8::is_ascii_alphabetic).count();
    digits >= 1
        && letters >= 2
        && !is_metadata_name(whole)
        && !is_uuid(secret)
        && !secret.starts_with(['/', '.', '~'])
        && secret.matches('/').count() < 4
        && !is_words(secret)
        && password(secret, whole)
}

/// Returns true if a quoted password (`secret`) in a rule match (`whole`) looks real: it has at
/// least three kinds of characters, and is not a placeholder, an identifier or metadata.
pub(super) fn quoted_password(secret: &str, whole: &str) -> bool {
    let kinds: [fn(u8) -> bool; 4] = [
        |byte| byte.is_ascii_digit(),
        |byte| byte.is_ascii_lowercase(),
        |byte| byte.is_ascii_uppercase(),
        |byte| byte.is_ascii_punctuation(),
    ];
    let found = kinds.iter().filter(|kind| secret.bytes().any(kind)).count();
    found >= 3 && !is_metadata_name(whole) && !is_words(secret) && password(secret, whole)
}

/// True if the last word of the name before the assignment sign is in [`METADATA_WORDS`], such as
/// `hash` in `token_hash`, or if the name contains `public`.
fn is_metadata_name(whole: &str) -> bool {
    let name = whole.split(['=', ':']).next().unwrap_or_default();
    let name = name.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    let mut last = String::new();
    let mut follows_capital = None;
    // The last word of `token_hash`, `tokenHash`, `tokenURL` or `TOKEN-HASH`.
    for character in name.chars().rev().take_while(char::is_ascii_alphanumeric) {
        let is_capital = character.is_ascii_uppercase();
        if follows_capital == Some(true) && !is_capital {
            break;
        }
        last.insert(0, character.to_ascii_lowercase());
        if follows_capital == Some(false) && is_capital {
            break;
        }
        if character.is_ascii_alphabetic() {
            follows_capital = Some(is_capital);
        }
    }
    METADATA_WORDS.contains(&last.as_str()) || name.to_ascii_lowercase().contains("public")
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36 && crate::model::ids::parse(text).is_some()
}

/// True if a string consists of words, like identifiers and file names: each part is letters,
/// followed by at most four digits.
fn is_words(text: &str) -> bool {
    let parts = text.split(['_', '-', '.', '/', ':', ' ']).filter(|part| !part.is_empty());
    let mut count = 0;
    let all = parts.into_iter().all(|part| {
        count += 1;
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        part.len() - letters.len() <= 4 && letters.bytes().all(|byte| byte.is_ascii_alphabetic())
    });
    all && count > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_counted_in_bits_for_each_character() {
        for (text, bits) in [("", 0.0), ("aaaa", 0.0), ("abab", 1.0), ("abcd", 2.0), ("äöüß", 2.0)]
        {
            assert!((entropy(text) - bits).abs() < 1e-9, "{text}");
        }
    }

    #[test]
    fn placeholders_differ_from_credentials() {
        for text in ["<token>", "${TOKEN}", "YOUR_TOKEN", "changeme", "xxxxxxxx", "--------"] {
            assert!(is_stand_in(text), "{text}");
        }
        for text in ["q7Rk2mZp", "AAAAAAAAAAAA", "9f8e7d6c5b4a"] {
            assert!(!is_stand_in(text), "{text}");
        }
    }

    #[test]
    fn names_of_metadata_are_recognized() {
        for name in [
            "token_hash",
            "tokenHash",
            "secret-id",
            "api_key_url",
            "publicKey",
            "TOKEN_TYPE",
            "tokenSHA256",
        ] {
            assert!(is_metadata_name(&format!("{name} = \"x\"")), "{name}");
        }
        for name in ["token", "api_key", "clientSecret", "DB_PASSWORD"] {
            assert!(!is_metadata_name(&format!("{name}: 'x'")), "{name}");
        }
    }
}
