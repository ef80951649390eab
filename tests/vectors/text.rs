//! Tests of the golden vectors of text formats for secrets, and of scans for credentials.

use std::fs;

use secrets_core::crypto::Plaintext;
use secrets_core::formats::{Form, Format, ObjectName};
use secrets_core::model::{Error, SecretKey};
use secrets_core::scanner::{Rules, scan};
use serde_json::{Map, Value, json};

type Vector = Map<String, Value>;
type Secrets = Vec<(SecretKey, Plaintext)>;

fn text<'v>(vector: &'v Vector, field: &str) -> &'v str {
    vector[field].as_str().unwrap()
}

fn read(vector: &Vector) -> (&'static str, Value) {
    let form: Form = text(vector, "format").parse().unwrap();
    let to_json = |(key, value): (SecretKey, Plaintext)| json!({ "key": key.as_str(), "value": value.reveal() });
    match form.read(text(vector, "text"), "text") {
        Ok(secrets) => ("secrets", secrets.into_iter().map(to_json).collect()),
        Err(error) => ("error", refusal(error)),
    }
}

fn write(vector: &Vector) -> (&'static str, Value) {
    let format: Format = text(vector, "format").parse().unwrap();
    let secrets: Secrets = vector["secrets"].as_array().unwrap().iter().map(secret).collect();
    let name: ObjectName = text(vector, "name_of_object").parse().unwrap();
    match format.render(&secrets, &name) {
        Ok(written) => ("text", (*written).clone().into()),
        Err(error) => ("error", refusal(error)),
    }
}

fn secret(written: &Value) -> (SecretKey, Plaintext) {
    let text = |field: &str| written[field].as_str().unwrap().to_owned();
    (text("key").parse().unwrap(), Plaintext::new(text("value")).unwrap())
}

fn refusal(error: Error) -> Value {
    let Error::Invalid(fields) = error else { unreachable!("only rules are broken here") };
    let rows = fields.iter().map(|field| {
        let mut row = json!({ "field": field.field, "message": field.message });
        if let Some(key) = &field.key {
            row["key"] = key.clone().into();
        }
        row
    });
    json!({ "kind": "invalid", "fields": rows.collect::<Value>() })
}

fn found(vector: &Vector) -> (&'static str, Value) {
    let scanned = text(vector, "text").replace('¦', "");
    let found = scan(&scanned, text(vector, "path"), Rules::built_in());
    let sightings: Vec<_> = found.iter().map(|found| found.sighting(&scanned)).collect();
    ("found", serde_json::to_value(sightings).unwrap())
}

/// Compares the expected result of each vector in a section with the result of `outcome`. If the
/// environment variable `SECRETS_VECTORS` is `fill`, writes missing results into the file.
#[track_caller]
fn check(file: &str, section: &str, outcome: fn(&Vector) -> (&'static str, Value)) {
    let path = format!("{}/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let mut sections: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let fills = std::env::var_os("SECRETS_VECTORS").is_some_and(|wish| wish == "fill");
    let vectors = sections[section].as_array_mut().unwrap();
    assert!(!vectors.is_empty(), "{file}: {section} is empty");
    for vector in vectors {
        let vector = vector.as_object_mut().unwrap();
        let (field, came) = outcome(vector);
        if fills && !vector.contains_key(field) {
            vector.insert(field.to_owned(), came.clone());
        }
        let is_valid = field != "error";
        assert_eq!(vector.get(field), Some(&came), "{file}: {}", vector["name"]);
        assert_eq!(vector.contains_key("error"), !is_valid, "{file}: {}", vector["name"]);
    }
    if fills {
        let text = serde_json::to_string_pretty(&sections).unwrap();
        fs::write(path, text + "\n").unwrap();
    }
}

#[test]
fn a_text_is_parsed_or_refused_by_rule() {
    check("formats.json", "read", read);
}

#[test]
fn a_text_is_written_or_refused_by_rule() {
    check("formats.json", "write", write);
}

#[test]
fn a_scan_finds_credentials_at_their_positions() {
    check("scan.json", "vectors", found);
}
