//! Fuzz target of the text formats for import and export.

use super::assert_no_echo;
use crate::crypto::Plaintext;
use crate::formats::{Form, Format, ObjectName};
use crate::model::{Error, SecretKey};

/// Constant parts of error texts. [`assert_no_echo`] ignores them, because the input may contain
/// the same words.
const RULES: &str = "must be KEY=value, only a comment may stand behind the closing quote, \
    a quote is never closed, the key or value must be one flat object of texts by key, \
    must be at most 1 MiB with at most 256 opening brackets in YAML; use JSON for more";

/// Secret keys and values of a text.
type Secrets = Vec<(SecretKey, Plaintext)>;

/// Imports the input as `.env` file, JSON and YAML, and exports the secrets in all formats. Secrets
/// that were exported are imported again without a change.
pub fn import(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for form in [Form::Dotenv, Form::Json, Form::Yaml] {
        match form.read(text, "text") {
            Ok(secrets) => export(&secrets),
            Err(error) => check(bytes, &error),
        }
    }
    // The whole input as one value, which every format must keep.
    if let Ok(value) = Plaintext::new(text.to_owned()) {
        export(&vec![("KEY".parse().unwrap(), value)]);
    }
}

/// Checks that the paths and messages of an import error contain nothing of the input. The field
/// `key` may contain a secret key of the input.
fn check(bytes: &[u8], error: &Error) {
    let Error::Invalid(fields) = error else { panic!("an import fails with another error") };
    for field in fields {
        assert_no_echo(bytes, &field.field, "");
        assert_no_echo(bytes, &field.message, RULES);
    }
}

fn export(secrets: &Secrets) {
    let name: ObjectName = "name".parse().unwrap();
    for format in Format::ALL {
        // JSON, YAML and CSV can represent every value.
        let is_complete = matches!(format, Format::Json | Format::Yaml | Format::Csv);
        let Ok(text) = format.write(secrets, &name) else {
            assert!(!is_complete, "{format} can represent every value");
            continue;
        };
        match format {
            Format::Dotenv => assert_same(Form::Dotenv, &text, secrets),
            Format::Json => assert_same(Form::Json, &text, secrets),
            Format::Yaml if has_duplicate(secrets) || has_many_brackets(&text) => {}
            Format::Yaml => assert_same(Form::Yaml, &text, secrets),
            Format::Shell => shell(&text, secrets),
            Format::Docker => docker(&text, secrets),
            Format::Csv => csv(&text, secrets),
            Format::Kubernetes => {}
        }
    }
}

fn assert_same(form: Form, text: &str, secrets: &Secrets) {
    let again = form.read(text, "text");
    assert!(again.is_ok_and(|again| again == *secrets), "{form:?} is read back");
}

/// True if two secrets have the same key, which YAML does not allow.
fn has_duplicate(secrets: &Secrets) -> bool {
    let keys: std::collections::BTreeSet<_> = secrets.iter().map(|(key, _)| key).collect();
    keys.len() < secrets.len()
}

/// True if a text has more brackets than a YAML document may have.
fn has_many_brackets(text: &str) -> bool {
    text.matches(['[', '{']).count() > 256
}

/// Checks that a shell that runs the exported text sets exactly these secrets.
fn shell(text: &str, secrets: &Secrets) {
    let words = shlex::split(text).unwrap();
    let expected = secrets
        .iter()
        .flat_map(|(key, value)| ["export".to_owned(), format!("{key}={}", value.reveal())]);
    assert!(words.into_iter().eq(expected), "a shell reads other values");
}

/// Checks that the text exported for Docker has one line with each secret.
fn docker(text: &str, secrets: &Secrets) {
    let expected = secrets.iter().map(|(key, value)| format!("{key}={}", value.reveal()));
    assert!(text.split_terminator('\n').eq(expected), "Docker reads other values");
}

/// Checks that a CSV reader reads exactly these secrets from the exported text.
fn csv(text: &str, secrets: &Secrets) {
    let mut rows = csv::ReaderBuilder::new().from_reader(text.as_bytes());
    let rows: Vec<(String, String)> = rows.deserialize().map(Result::unwrap).collect();
    let expected = secrets.iter().map(|(key, value)| (key.as_str(), value.reveal()));
    let is_same = rows.iter().map(|(key, value)| (key.as_str(), value.as_str())).eq(expected);
    assert!(is_same, "a reader of CSV reads other values");
}
