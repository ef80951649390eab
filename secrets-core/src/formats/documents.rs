//! Reading and writing of secrets as JSON or YAML: a single object with string values.

use std::fmt::{self, Write as _};

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde::ser::{SerializeMap as _, Serializer as _};
use zeroize::Zeroizing;

use super::{room, without_byte_order_mark};
use crate::crypto::Plaintext;
use crate::model::{SecretKey, ValidationRule, Violation};

/// Error in a document from which secrets are imported. Never contains the document's text, except
/// for a valid secret key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadDocument {
    /// The document cannot be parsed, or is not a single object without nested objects.
    NoObject,
    /// The YAML document is so large or so nested that parsing would take too long.
    TooMuch,
    /// A secret in the document has an invalid key or value.
    Entry {
        /// Index of the secret in the document, starting at 0.
        index: usize,
        /// Secret key, if the key is valid.
        key: Option<SecretKey>,
        /// True if the secret key violates the rule, false if the value does.
        is_key: bool,
        /// Validation rule that was violated.
        broken: Violation,
    },
}

/// Validation rule for values that are not strings. Numbers, `true` and `null` are rejected,
/// because programs convert them to different strings.
const NOT_A_STRING: ValidationRule = ValidationRule::of("must be a string: put it in quotes");

/// Writes the secrets as one JSON object.
#[expect(clippy::expect_used, reason = "strings written to memory cannot fail to serialize")]
pub(super) fn json(secrets: &[(SecretKey, Plaintext)]) -> String {
    let mut bytes = Vec::with_capacity(room(secrets));
    write_object(&mut bytes, secrets).expect("every string can be written as JSON");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("JSON is UTF-8")
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

/// Writes one line of a YAML mapping. Key and value are always in double quotes, because the
/// meaning of plain words depends on the YAML version. All characters except printable ASCII and
/// the letters and digits of other scripts are escaped.
#[expect(clippy::unnecessary_wraps, reason = "other formats cannot represent every secret")]
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
        // Writing to a `String` cannot fail.
        _ => _ = write!(text, "\\U{:08X}", u32::from(c)),
    }
}

/// Parses the secrets of a JSON object `{KEY: value}`, in the order of the object.
pub fn parse_json(text: &str) -> Result<Vec<(SecretKey, Plaintext)>, BadDocument> {
    json_at_most(text, usize::MAX)
}

/// Parses the first secrets of a JSON object, at most `max`. The rest must be valid JSON.
pub(super) fn json_at_most(
    text: &str,
    max: usize,
) -> Result<Vec<(SecretKey, Plaintext)>, BadDocument> {
    let mut document = serde_json::Deserializer::from_str(without_byte_order_mark(text));
    let entries = Object { max, max_bytes: usize::MAX }.deserialize(&mut document);
    let entries = entries.and_then(|entries| document.end().map(|()| entries));
    entries.map_err(|_| BadDocument::NoObject)?.into_secrets()
}

/// Maximum size of a YAML document in bytes.
const MAX_YAML_BYTES: usize = 1024 * 1024;
/// Maximum number of opening brackets in a YAML document. For each token, the YAML library needs
/// time proportional to the number of open brackets: a hundred thousand open brackets take a
/// minute.
const MAX_YAML_BRACKETS: usize = 256;

/// Parses the secrets of a YAML 1.2 mapping `KEY: value`, in the order of the mapping. As YAML 1.2
/// requires, the plain word `no` is a string and `1e3` is a number.
pub fn parse_yaml(text: &str) -> Result<Vec<(SecretKey, Plaintext)>, BadDocument> {
    yaml_at_most(text, usize::MAX)
}

/// Parses the first secrets of a YAML mapping, at most `max`. The rest must be valid YAML.
pub(super) fn yaml_at_most(
    text: &str,
    max: usize,
) -> Result<Vec<(SecretKey, Plaintext)>, BadDocument> {
    let brackets = text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
    if text.len() > MAX_YAML_BYTES || brackets > MAX_YAML_BRACKETS {
        return Err(BadDocument::TooMuch);
    }
    let object = Object { max, max_bytes: MAX_YAML_BYTES };
    // With a mark, the YAML library takes the first key of a mapping for an indented one.
    let document = yaml_serde::Deserializer::from_str(without_byte_order_mark(text));
    let entries = object.deserialize(document);
    entries.map_err(|_| BadDocument::NoObject)?.into_secrets()
}

/// Key and value pairs of an object, including pairs with the same key.
struct Entries {
    entries: Vec<(String, Entry)>,
    /// True if the keys and values are longer than permitted.
    is_too_much: bool,
}

/// Deserializer of the first entries of an object.
struct Object {
    /// Maximum number of entries.
    max: usize,
    /// Maximum size of all keys and values in bytes. Aliases can repeat a long text of a YAML
    /// document many times.
    max_bytes: usize,
}

/// Value of a key in an object: a string, or any other JSON or YAML value.
enum Entry {
    Text(Zeroizing<String>),
    Other,
}

impl Entries {
    fn into_secrets(self) -> Result<Vec<(SecretKey, Plaintext)>, BadDocument> {
        if self.is_too_much {
            return Err(BadDocument::TooMuch);
        }
        (0..).zip(self.entries).map(|(index, (key, entry))| secret(index, &key, entry)).collect()
    }
}

fn secret(index: usize, key: &str, entry: Entry) -> Result<(SecretKey, Plaintext), BadDocument> {
    let bad = |key, is_key, broken| BadDocument::Entry { index, key, is_key, broken };
    let key: SecretKey = key.parse().map_err(|broken| bad(None, true, broken))?;
    let value = match entry {
        Entry::Text(mut text) => Plaintext::new(std::mem::take(&mut *text)),
        Entry::Other => Err(NOT_A_STRING.violation()),
    };
    match value {
        Ok(value) => Ok((key, value)),
        Err(broken) => Err(bad(Some(key), false, broken)),
    }
}

impl Entry {
    fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Other => 0,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Object {
    type Value = Entries;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Entries, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Entries, A::Error> {
        let (mut entries, mut is_too_much) = (Vec::new(), false);
        while entries.len() < self.max {
            let Some((key, entry)) = map.next_entry::<String, Entry>()? else { break };
            let size = key.len() + entry.len();
            is_too_much = self.max_bytes < size;
            self.max_bytes = self.max_bytes.saturating_sub(size);
            let is_error = matches!(entry, Entry::Other) || is_too_much;
            entries.push((key, entry));
            // Only the first error is reported. Reading more lists could take much time, because
            // aliases can repeat them.
            if is_error {
                break;
            }
        }
        // `IgnoredAny` does not follow aliases.
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Entries { entries, is_too_much })
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
