//! Example values for the OpenAPI document, generated from schemas. Every field gets a value of its
//! type.

use serde_json::{Map, Value, json};

/// Maximum nesting depth of an example. It ends the examples of recursive types.
const MAX_DEPTH: usize = 32;

/// Adds an example to each request and response body of the operations, except streams.
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

/// Generates an example value that is valid for the schema.
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
    let of_format = match schema["format"].as_str() {
        Some("uuid") => Some("0191d0a0-5b1c-7c3e-9d2f-3a4b5c6d7e8f"),
        Some("date-time") => Some("2026-11-21T12:00:10Z"),
        _ if field == "email" || field.ends_with("_email") => Some("alice@example.com"),
        _ => None,
    };
    let of_field = || FIELDS.iter().find(|(name, _)| *name == field).map(|(_, example)| *example);
    json!(of_format.or_else(of_field).unwrap_or(field))
}

/// Example strings, by field name. The empty name stands for a string that is not in a field.
const FIELDS: [(&str, &str); 60] = [
    ("", "web"),
    ("accept_url", "https://secrets.example.com/invitations/Xk2vJ8sQ1mZ0"),
    ("access_token", "cli_Xk2vJ8sQ1mZ0"),
    ("action", "secret.read"),
    ("actor_name", "Alice"),
    ("avatar_url", "https://example.com/alice.png"),
    ("build_time", "2026-11-21T12:00:10Z"),
    ("bundle", "U0NCMQ=="),
    ("client_name", "secrets 1.0"),
    ("comment", "A value for tests"),
    ("commit", "9fceb02d0ae598e95dc970b74767f19372d61af8"),
    ("description", "Used by the web servers"),
    ("device_code", "Xk2vJ8sQ1mZ0"),
    ("environment", "production"),
    ("environment_name", "production"),
    ("error", "the request is invalid"),
    ("error_description", "the user has not decided yet"),
    ("error_message", "cannot reach the database"),
    ("event", "rotation.completed"),
    ("external_id", "248289761001"),
    ("fingerprint", "deploy.sh:github-personal-access-token:12"),
    ("first_name", "Alice"),
    ("from", "staging"),
    ("hash", "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"),
    ("hostname", "laptop"),
    ("inherited_from", "staging"),
    ("invited_by_name", "Alice"),
    ("ip_address", "192.0.2.7"),
    ("key", "DATABASE_URL"),
    ("last_name", "Liddell"),
    ("last_used_ip", "192.0.2.7"),
    ("message", "the connection works"),
    ("name", "web"),
    ("next_cursor", "Xk2vJ8sQ1mZ0"),
    ("os", "linux"),
    ("path", "deploy.sh"),
    ("plan", "free"),
    ("prev_hash", "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9"),
    ("project_name", "Web API"),
    ("provider", "none"),
    ("redacted", "ghp_…3f"),
    ("resource_name", "DATABASE_URL"),
    ("resource_type", "secret"),
    ("revision", "Xk2vJ8sQ1mZ0abcdefghij"),
    ("rotation", "main-db"),
    ("rule_id", "github-personal-access-token"),
    ("secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
    ("service", "secrets"),
    ("slug", "web-api"),
    ("status", "active"),
    ("team_name", "Platform"),
    ("token", "env_Xk2vJ8sQ1mZ0"),
    ("token_prefix", "env_Xk2vJ8sQ"),
    ("user_agent", "curl/8.5.0"),
    ("user_name", "Alice"),
    ("value", "postgres://app@db.internal/app"),
    ("verification_uri", "https://secrets.example.com/device"),
    ("verification_uri_complete", "https://secrets.example.com/device?user_code=BCDF-GHJK"),
    ("version", "0.1.0"),
    ("work", "rotation"),
];
