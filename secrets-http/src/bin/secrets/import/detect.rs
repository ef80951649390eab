//! Detection of the format of a file.

use std::path::Path;

use serde_json::{Map, Value};

use super::Source;

/// Returns the format that the content or the file name indicates; dotenv if there is no
/// indication.
pub(super) fn source(path: &Path, text: &str) -> Source {
    let text = text.trim_start();
    if text.starts_with(['{', '[']) {
        return serde_json::from_str(text).map_or(Source::Json, |document| by_shape(&document));
    }
    by_name(path).unwrap_or_else(|| by_first_line(text))
}

fn by_shape(document: &Value) -> Source {
    match document {
        Value::Array(items) => match items.first().and_then(Value::as_object) {
            Some(item) if item.contains_key("organizationId") => Source::Bws,
            Some(item) if item.contains_key("key") => Source::Infisical,
            _ => Source::Json,
        },
        Value::Object(object) => by_fields(object),
        _ => Source::Json,
    }
}

fn by_fields(object: &Map<String, Value>) -> Source {
    let is_list = |name: &str| object.get(name).is_some_and(Value::is_array);
    let is_object = |name: &str| object.get(name).is_some_and(Value::is_object);
    if is_list("fields") && object.contains_key("category") {
        return Source::OnePassword;
    }
    if is_list("secrets") || is_list("data") {
        return Source::Keyenv;
    }
    if object.get("kind").is_some_and(|kind| kind == "Secret") {
        return Source::Kubernetes;
    }
    if is_object("data") {
        return Source::Vault;
    }
    if object.contains_key("DOPPLER_PROJECT") {
        return Source::Doppler;
    }
    Source::Json
}

fn by_name(path: &Path) -> Option<Source> {
    match path.extension()?.to_str()? {
        "csv" => Some(Source::Csv),
        "env" => Some(Source::Dotenv),
        _ => None,
    }
}

/// Returns the file format indicated by the first line that is neither empty nor a comment.
fn by_first_line(text: &str) -> Source {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or_default();
    if first.starts_with("apiVersion:") || (first == "---" && text.contains("\nkind: Secret")) {
        return Source::Kubernetes;
    }
    let header = first.to_ascii_lowercase().replace('"', "");
    if header == "key,value" || header.starts_with("key,value,") {
        return Source::Csv;
    }
    // A key of YAML ends at the first colon; one of dotenv, at the first equals sign.
    match (first.find(": ").or_else(|| first.ends_with(':').then_some(0)), first.find('=')) {
        (Some(colon), Some(equals)) if colon < equals => Source::Yaml,
        (Some(_), None) => Source::Yaml,
        _ if first == "---" => Source::Yaml,
        _ => Source::Dotenv,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_detected_by_the_content() {
        for (text, expected) in [
            ("A=1\n", Source::Dotenv),
            ("# note\nexport A='x: y'\n", Source::Dotenv),
            ("", Source::Dotenv),
            ("A: 1=2\n", Source::Yaml),
            ("---\nA: x\n", Source::Yaml),
            ("\"A\": \"x\"\n", Source::Yaml),
            ("key,value\r\nA,1\r\n", Source::Csv),
            ("apiVersion: v1\nkind: Secret\n", Source::Kubernetes),
            ("{\"A\": \"1\"}", Source::Json),
            ("{\"A\": ", Source::Json),
            ("{\"DOPPLER_PROJECT\": \"x\"}", Source::Doppler),
            ("{\"data\": {\"data\": {}, \"metadata\": {}}}", Source::Vault),
            ("{\"secrets\": []}", Source::Keyenv),
            ("[{\"key\": \"A\", \"value\": \"1\"}]", Source::Infisical),
            ("[{\"organizationId\": \"x\", \"key\": \"A\"}]", Source::Bws),
            ("{\"fields\": [], \"category\": \"LOGIN\"}", Source::OnePassword),
        ] {
            assert_eq!(source(Path::new("-"), text), expected, "{text}");
        }
    }
}
