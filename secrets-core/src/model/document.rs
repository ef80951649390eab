//! Parsing of JSON documents that callers send.

use serde::de::DeserializeOwned;

use crate::model::object::Object;
use crate::model::{Code, Error, FieldError, Result, ValidationRule};

/// Parses a JSON object. Errors name the invalid field and the violated rule, and never repeat the
/// input.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let mut document = serde_json::Deserializer::from_slice(bytes);
    let Object(value) =
        serde_path_to_error::deserialize(&mut document).map_err(|error| malformed(&error))?;
    document.end().map_err(|_| not_json())?;
    Ok(value)
}

fn not_json() -> Error {
    Error::invalid("body", "must be a JSON document")
}

/// Converts an error of the JSON decoder to a field error. The decoder's message is not used,
/// because it repeats the input.
fn malformed(error: &serde_path_to_error::Error<serde_json::Error>) -> Error {
    let path = error.path().to_string();
    let inner = error.inner();
    if inner.is_syntax() || inner.is_eof() || inner.is_io() {
        return not_json();
    }
    let text = inner.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    if let Some(field) =
        text.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'))
    {
        return field_error(join(&path, field), Code::InvalidRequest, "is required".to_owned());
    }
    let decoder_messages =
        ["invalid type", "invalid value", "invalid length", "unknown variant", "unknown field"];
    if decoder_messages.iter().any(|start| text.starts_with(start)) {
        let expected =
            text.rsplit_once("expected ").map_or("something else", |(_, expected)| expected);
        // Replace the decoder's type names by common words.
        let expected = match expected {
            "u32" | "i64" => "a whole number",
            "a sequence" => "a list",
            known => known,
        };
        if text.starts_with("unknown field") {
            let message = format!("has an unknown field; known fields are {expected}");
            return field_error("body".to_owned(), Code::InvalidRequest, message);
        }
        return field_error(
            field_or_body(&path),
            Code::InvalidRequest,
            format!("must be {expected}"),
        );
    }
    let code = ValidationRule::code_of(text);
    if text.starts_with("must ") {
        return field_error(field_or_body(&path), code, text.to_owned());
    }
    field_error(field_or_body(&path), code, "has the wrong format for this field".to_owned())
}

fn field_error(field: String, code: Code, message: String) -> Error {
    Error::Invalid(vec![FieldError::new(field, code, message)])
}

fn field_or_body(path: &str) -> String {
    if path == "." { "body".to_owned() } else { path.to_owned() }
}

fn join(path: &str, field: &str) -> String {
    if path == "." { field.to_owned() } else { format!("{path}.{field}") }
}
