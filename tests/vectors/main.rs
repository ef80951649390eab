//! Tests of the Rust crates with the golden vectors (example data with known results) in this
//! folder: valid vectors must open and be reproduced exactly, invalid vectors must be refused.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod bundle;
mod proxy;
mod record;
mod text;
mod token;
mod webhook;
mod wrapped;
mod xaes;

use std::fs;

use secrets_core::crypto::Key;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

/// Bytes that the vector files contain in hexadecimal.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn array<const N: usize>(&self) -> &[u8; N] {
        self.0.as_slice().try_into().unwrap()
    }

    fn key(&self) -> Key {
        Key::from_bytes(Zeroizing::new(*self.array()))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        hex::decode(text).map(Self).map_err(D::Error::custom)
    }
}

/// Reads the vectors of a section of a vector file. Returns those for which `wanted` returns true;
/// panics if there are none.
fn section<T: DeserializeOwned>(file: &str, section: &str, wanted: fn(&T) -> bool) -> Vec<T> {
    let path = format!("{}/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let mut sections: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let vectors: Vec<T> = serde_json::from_value(sections[section].take()).unwrap();
    let vectors: Vec<T> = vectors.into_iter().filter(wanted).collect();
    assert!(!vectors.is_empty(), "{file} has no such vectors in {section}");
    vectors
}

/// Checks that every section of the vector files has a test that reads it. The Python and
/// JavaScript tests have the same check for their sections.
#[test]
fn every_section_of_vectors_is_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.extension().is_some_and(|kind| kind == "json"));
    let mut sections: Vec<String> = files
        .flat_map(|path| {
            let file: Map<String, Value> =
                serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            file.into_iter().map(move |(section, _)| format!("{stem}.{section}"))
        })
        .collect();
    sections.sort();

    let read = [
        "bundle.keys",
        "bundle.vectors",
        "formats.read",
        "formats.write",
        "proxy.answers",
        "proxy.requests",
        "record.padding",
        "record.vectors",
        "scan.vectors",
        "token.vectors",
        "webhook.vectors",
        "wrapped.instance_keys",
        "wrapped.project_keys",
        "wrapped.purpose_keys",
        "wrapped.root_ids",
        "xaes.accumulated",
        "xaes.vectors",
    ];
    assert_eq!(sections, read);
}
