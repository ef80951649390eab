//! JSON and YAML: one flat object of texts.

use std::fmt::{self, Write as _};

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap as _, Serializer as _};
use zeroize::Zeroizing;

use super::room;
use crate::crypto::Plaintext;
use crate::model::{Broken, Rule, SecretKey};

/// A document that holds no secrets as they are written. Never shows what stands there, except for
/// a key that is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadDocument {
    /// It is not of the format, or not one flat object.
    NoObject,
    /// It is YAML of a size that takes its readers too long.
    TooMuch,
    /// An entry breaks a rule.
    Entry {
        /// Which one, from 0.
        index: usize,
        /// Its key, if it is one.
        key: Option<SecretKey>,
        /// Whether it is the key that breaks the rule, and not the value.
        is_key: bool,
        /// The rule.
        broken: Broken,
    },
}

/// Numbers, `true` and `null` are refused: what they are as text depends on who reads them.
const NO_TEXT: Rule = Rule::of("must be a string: put it in quotes");

/// A JSON object of the values by key.
#[expect(clippy::expect_used, reason = "texts are written to memory as they are")]
pub(super) fn json(secrets: &[(SecretKey, Plaintext)]) -> String {
    let mut bytes = Vec::with_capacity(room(secrets));
    write_object(&mut bytes, secrets).expect("every text has a form in JSON");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("JSON of texts is UTF-8")
}

fn write_object(
    bytes: &mut Vec<u8>,
    secrets: &[(SecretKey, Plaintext)],
) -> Result<(), serde_json::Error> {
    let mut writer = serde_json::Serializer::pretty(bytes);
    let mut object = writer.serialize_map(Some(secrets.len()))?;
    for (key, value) in secrets {
        object.serialize_entry(key.as_str(), value.reveal())?;
    }
    object.end()
}

/// A line of a YAML mapping. Key and value stand in double quotes always, and what is neither ASCII
/// nor a letter or digit is escaped: which bare words and characters mean something else depends
/// on the version of YAML, and libraries write for theirs.
#[expect(clippy::unnecessary_wraps, reason = "other formats cannot carry everything")]
pub(super) fn yaml(text: &mut String, key: &str, value: &str) -> Result<(), &'static str> {
    for (piece, behind) in [(key, ": "), (value, "\n")] {
        text.push('"');
        piece.chars().for_each(|c| push_escaped(text, c));
        text.push('"');
        text.push_str(behind);
    }
    Ok(())
}

fn push_escaped(text: &mut String, c: char) {
    match c {
        '"' | '\\' => text.extend(['\\', c]),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("\\t"),
        ' '..='~' => text.push(c),
        _ if c.is_alphanumeric() => text.push(c),
        // Writing to a text cannot fail.
        _ => _ = write!(text, "\\U{:08X}", u32::from(c)),
    }
}

/// The secrets of a JSON object `{KEY: value}`, in its order.
pub fn parse_json(text: &str) -> Result<Vec<(SecretKey, Plaintext)>, BadDocument> {
    let entries: Entries = serde_json::from_str(text).map_err(|_| BadDocument::NoObject)?;
    entries.into_secrets()
}

/// The most bytes of a YAML document, and the most brackets it may open: to the library each token
/// costs as many steps as brackets are open, so that a hundred thousand of them take a minute.
const YAML_BYTES: usize = 1024 * 1024;
const YAML_BRACKETS: usize = 256;

/// The secrets of a YAML 1.2 mapping `KEY: value`, in its order: `no` is a text, `1e3` is none.
pub fn parse_yaml(text: &str) -> Result<Vec<(SecretKey, Plaintext)>, BadDocument> {
    let brackets = text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
    if text.len() > YAML_BYTES || brackets > YAML_BRACKETS {
        return Err(BadDocument::TooMuch);
    }
    let entries: Entries = yaml_serde::from_str(text).map_err(|_| BadDocument::NoObject)?;
    entries.into_secrets()
}

/// The entries of an object, as often as they are given.
struct Entries(Vec<(String, Entry)>);

/// A text, or something else.
enum Entry {
    Text(Zeroizing<String>),
    Other,
}

impl Entries {
    fn into_secrets(self) -> Result<Vec<(SecretKey, Plaintext)>, BadDocument> {
        (0..).zip(self.0).map(|(index, (key, entry))| secret(index, &key, entry)).collect()
    }
}

fn secret(index: usize, key: &str, entry: Entry) -> Result<(SecretKey, Plaintext), BadDocument> {
    let bad = |key, is_key, broken| BadDocument::Entry { index, key, is_key, broken };
    let key: SecretKey = key.parse().map_err(|broken| bad(None, true, broken))?;
    let value = match entry {
        Entry::Text(mut text) => Plaintext::new(std::mem::take(&mut *text)),
        Entry::Other => Err(NO_TEXT.broken()),
    };
    match value {
        Ok(value) => Ok((key, value)),
        Err(broken) => Err(bad(Some(key), false, broken)),
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyEntry)
    }
}

struct AnyEntry;

impl<'de> Visitor<'de> for AnyEntry {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Entry, E> {
        Ok(Entry::Text(Zeroizing::new(text.to_owned())))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Entry, E> {
        Ok(Entry::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Entry, E> {
        Ok(Entry::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Entry, E> {
        Ok(Entry::Other)
    }

    fn visit_i128<E>(self, _: i128) -> Result<Entry, E> {
        Ok(Entry::Other)
    }

    fn visit_u128<E>(self, _: u128) -> Result<Entry, E> {
        Ok(Entry::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Entry, E> {
        Ok(Entry::Other)
    }

    fn visit_unit<E>(self) -> Result<Entry, E> {
        Ok(Entry::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Entry, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Entry::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Entry::Other)
    }
}

impl fmt::Display for BadDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoObject => f.write_str("must be one flat object of texts by key"),
            Self::TooMuch => f.write_str(
                "must be at most 1 MiB with at most 256 opening brackets in YAML; use JSON for more",
            ),
            Self::Entry { broken, .. } => broken.fmt(f),
        }
    }
}

impl std::error::Error for BadDocument {}
