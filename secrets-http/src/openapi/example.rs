//! Example values, generated from schemas. Every field gets a value of its type.

use serde_json::{Map, Value, json};

/// Maximum nesting of an example. Recursive types end here.
const MAX_DEPTH: usize = 32;

/// Adds an example to each body of the operations, except to streams.
pub(super) fn add(paths: &mut Value, schemas: &Map<String, Value>) {
    let items = paths.as_object_mut().into_iter().flat_map(Map::values_mut);
    for operation in items.filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
        if let Some(body) = operation.get_mut("requestBody") {
            add_to_contents(body, schemas);
        }
        let responses = operation["responses"].as_object_mut().into_iter();
        responses.flat_map(Map::values_mut).for_each(|message| add_to_contents(message, schemas));
    }
}

fn add_to_contents(message: &mut Value, schemas: &Map<String, Value>) {
    let Some(contents) = message.get_mut("content").and_then(Value::as_object_mut) else { return };
    for (media, content) in contents.iter_mut() {
        content["example"] = match media.as_str() {
            "text/event-stream" => continue,
            "text/plain" => json!("DATABASE_URL=postgres://app@db.internal/app\n"),
            _ => of(&content["schema"], schemas),
        };
    }
}

/// Generates a value that is valid for the schema.
fn of(schema: &Value, named: &Map<String, Value>) -> Value {
    build(schema, named, "", MAX_DEPTH)
}

fn build(schema: &Value, named: &Map<String, Value>, field: &str, depth: usize) -> Value {
    if depth == 0 {
        return Value::Null;
    }
    if let Some(example) = schema.get("example") {
        return example.clone();
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return named
            .get(name)
            .map_or(Value::Null, |schema| build(schema, named, field, depth - 1));
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let parts = parts.iter().map(|part| build(part, named, field, depth - 1));
        let fields = parts.filter_map(|part| part.as_object().cloned()).flatten();
        return Value::Object(fields.collect());
    }
    if let Some(kinds) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        let kind = kinds.iter().find(|kind| kind["type"] != "null");
        return kind.map_or(Value::Null, |kind| build(kind, named, field, depth - 1));
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(first) = schema["enum"].as_array().and_then(|known| known.first()) {
        return first.clone();
    }
    build_by_type(schema, named, field, depth)
}

fn build_by_type(schema: &Value, named: &Map<String, Value>, field: &str, depth: usize) -> Value {
    // An optional field has two types, the first of which is not null.
    let kind = schema["type"].as_str().or(schema["type"][0].as_str());
    match kind.unwrap_or_default() {
        "object" => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            let fields = properties
                .map(|(name, schema)| (name.clone(), build(schema, named, name, depth - 1)));
            Value::Object(fields.collect())
        }
        "array" => json!([build(&schema["items"], named, field, depth - 1)]),
        "integer" | "number" => {
            schema.get("minimum").filter(|least| **least != json!(0)).cloned().unwrap_or(json!(1))
        }
        "boolean" => json!(false),
        "string" => build_string(schema, field),
        _ => Value::Null,
    }
}

fn build_string(schema: &Value, field: &str) -> Value {
    json!(match (schema["format"].as_str(), field) {
        (Some("uuid"), _) => "0191d0a0-5b1c-7c3e-9d2f-3a4b5c6d7e8f",
        (Some("date-time"), _) => "2026-11-21T12:00:10Z",
        (_, "email") => "alice@example.com",
        (_, "key") => "DATABASE_URL",
        (_, "value") => "postgres://app@db.internal/app",
        (_, "slug") => "web-api",
        (_, "name" | "") => "web",
        (_, "description") => "Used by the web servers",
        (_, "plan") => "free",
        (_, "comment") => "A value for tests",
        (_, "client_name") => "secrets 1.0",
        (_, "hostname") => "laptop",
        (_, "os") => "linux",
        (_, field) => field,
    })
}
