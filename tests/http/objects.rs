//! Test of objects inside request bodies: the server does not accept a JSON list in their place.

use hyper::Method;
use secrets_tests::{App, Kind};
use serde_json::{Value, json};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// Request body with a list in place of an object, and the path of the list in error messages.
type Misplaced = (Value, String);

/// Returns a schema with its references resolved, and without the alternative `null`.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.strip_prefix("#/components/schemas/").unwrap();
        return resolved(document, &document["components"]["schemas"][name]);
    }
    for kind in ["oneOf", "anyOf", "allOf"] {
        let mut parts = schema[kind].as_array().into_iter().flatten();
        if let Some(part) = parts.find(|part| part["type"] != "null") {
            return resolved(document, part);
        }
    }
    schema
}

/// Returns a body with a misplaced list for each object inside an object of this schema.
fn in_object(document: &Value, schema: &Value) -> Vec<Misplaced> {
    let fields = schema["properties"].as_object().into_iter().flatten();
    let inside = fields.flat_map(|(field, schema)| {
        let of_field = in_value(document, schema).into_iter();
        of_field.map(move |(value, place)| (json!({ field: value }), format!("{field}{place}")))
    });
    let dot = |(value, place): Misplaced| (value, format!(".{place}"));
    inside.map(dot).collect()
}

/// Returns a value with a misplaced list for each object in a value of this schema.
fn in_value(document: &Value, schema: &Value) -> Vec<Misplaced> {
    let schema = resolved(document, schema);
    if schema["properties"].is_object() {
        let itself = (json!([]), String::new());
        return std::iter::once(itself).chain(in_object(document, schema)).collect();
    }
    if schema["items"].is_object() {
        let inside = in_value(document, &schema["items"]).into_iter();
        return inside.map(|(value, place)| (json!([value]), format!("[0]{place}"))).collect();
    }
    Vec::new()
}

#[tokio::test]
async fn a_list_is_not_accepted_as_an_object() {
    let app = App::start(Kind::Memory).await;
    let alice = app.person("alice").await;
    let document = alice.get("/api/v1/openapi.json").await.is(200).json();
    let (mut checked, mut wrong) = (Vec::new(), Vec::new());

    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            for (body, place) in in_object(&document, resolved(&document, schema)) {
                let method: Method = method.to_uppercase().parse().unwrap();
                let place = place.trim_start_matches('.');
                let name = format!("{method} {path} {place}");
                let path = path.replace(['{', '}'], "");
                let reply = alice.raw(method, &path, &JSON, body.to_string()).await;
                if reply.status != 400
                    || !reply.text().contains(&format!("{place} must be an object"))
                {
                    wrong.push(format!("{name}: {} {}", reply.status, reply.text()));
                }
                checked.push(name);
            }
        }
    }

    assert_eq!(wrong, Vec::<String>::new());
    assert!(checked.len() >= 12, "{checked:#?}");
    assert!(checked.iter().any(|name| name.ends_with("/rotations connection")), "{checked:#?}");
}
