//! What a credential looks like, and what only looks like one.

use std::collections::BTreeMap;

use crate::crypto::TokenText;

/// Shannon entropy of a text, in bits for each character.
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

/// Words that stand where a credential will be put.
const STAND_INS: [&str; 34] = [
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

/// Of these, eight of one kind in a row are filling.
const FILLING: &str = "xX*.-_0#";

/// Whether a text stands for a credential instead of being one. Only its beginning counts: by
/// chance a long one holds short words.
pub(super) fn is_stand_in(secret: &str) -> bool {
    let beginning: String = secret.chars().take(100).collect::<String>().to_ascii_lowercase();
    STAND_INS.iter().any(|word| beginning.contains(word)) || has_filling(&beginning)
}

fn has_filling(text: &str) -> bool {
    let (mut last, mut run) = ('\0', 0);
    text.chars().any(|character| {
        run = if character == last { run + 1 } else { 1 };
        last = character;
        run >= 8 && FILLING.contains(character)
    })
}

/// A service token of ours, with the checksum that belongs to it.
pub(super) fn service_token(secret: &str, _: &str) -> bool {
    TokenText::is_plausible(secret)
}

/// Values that people write where a password will be.
const COMMON: [&str; 22] = [
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

/// The password of an address: any that is no variable and no common stand-in.
pub(super) fn password(secret: &str, _: &str) -> bool {
    let lower = secret.to_ascii_lowercase();
    let is_variable = ["$", "{", "}", "*", "%s", "%v"].iter().any(|sign| lower.contains(sign));
    let repeats = lower.chars().all(|character| lower.starts_with(character));
    !is_variable && !repeats && !COMMON.contains(&lower.as_str())
}

/// What a name ends in that says something about a credential and is none.
const ABOUT: [&str; 29] = [
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

/// A value that is assigned to something called a key, token or secret: letters and digits mixed,
/// which is no identifier, UUID, path or address.
pub(super) fn assigned(secret: &str, whole: &str) -> bool {
    let digits = secret.bytes().filter(u8::is_ascii_digit).count();
    let letters = secret.bytes().filter(u8::is_ascii_alphabetic).count();
    digits >= 1
        && letters >= 2
        && !is_about(whole)
        && !is_uuid(secret)
        && !secret.starts_with(['/', '.', '~'])
        && secret.matches('/').count() < 4
        && !is_words(secret)
        && password(secret, whole)
}

/// A password in quotes: characters of three kinds.
pub(super) fn quoted_password(secret: &str, whole: &str) -> bool {
    let kinds: [fn(u8) -> bool; 4] = [
        |byte| byte.is_ascii_digit(),
        |byte| byte.is_ascii_lowercase(),
        |byte| byte.is_ascii_uppercase(),
        |byte| byte.is_ascii_punctuation(),
    ];
    let found = kinds.iter().filter(|kind| secret.bytes().any(kind)).count();
    found >= 3 && !is_about(whole) && !is_words(secret) && password(secret, whole)
}

/// Whether the name, which stands before the sign of assignment, says something about a credential.
fn is_about(whole: &str) -> bool {
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
    ABOUT.contains(&last.as_str()) || name.to_ascii_lowercase().contains("public")
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36 && crate::model::ids::parse(text).is_some()
}

/// Whether a text is made of words, as identifiers and file names are: each of its parts is letters
/// with at most a short number behind them.
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
    fn what_stands_for_a_credential_is_told_from_one() {
        for text in ["<token>", "${TOKEN}", "YOUR_TOKEN", "changeme", "xxxxxxxx", "--------"] {
            assert!(is_stand_in(text), "{text}");
        }
        for text in ["q7Rk2mZp", "AAAAAAAAAAAA", "9f8e7d6c5b4a"] {
            assert!(!is_stand_in(text), "{text}");
        }
    }

    #[test]
    fn a_name_that_only_speaks_of_a_credential_is_known() {
        for name in [
            "token_hash",
            "tokenHash",
            "secret-id",
            "api_key_url",
            "publicKey",
            "TOKEN_TYPE",
            "tokenSHA256",
        ] {
            assert!(is_about(&format!("{name} = \"x\"")), "{name}");
        }
        for name in ["token", "api_key", "clientSecret", "DB_PASSWORD"] {
            assert!(!is_about(&format!("{name}: 'x'")), "{name}");
        }
    }
}
