//! Optional fields of responses in the OpenAPI document: they are absent if they have no value, and
//! never `null`. In types that requests use too, they may be `null`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::schema::{Components, referenced};

/// Removes `null` from the types of optional fields, in the schemas that only responses use.
/// Schemas of requests keep `null`.
pub(super) fn remove_null(schemas: &mut Components, paths: &Value) {
    let mut requested = BTreeSet::new();
    let operations = paths.as_object().into_iter().flat_map(Map::values);
    for operation in operations.filter_map(Value::as_object).flat_map(Map::values) {
        collect(&operation["requestBody"], schemas, &mut requested);
    }
    for (name, schema) in schemas.iter_mut() {
        if !requested.contains(name) {
            remove_from(schema);
        }
    }
}

/// Collects the names of the components (named schemas) that a schema refers to, directly or
/// through other components.
fn collect(value: &Value, schemas: &Components, names: &mut BTreeSet<String>) {
    if let Some(name) = referenced(value)
        && names.insert(name.to_owned())
    {
        collect(&schemas[name], schemas, names);
    }
    match value {
        Value::Object(fields) => {
            fields.values().for_each(|field| collect(field, schemas, names));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, schemas, names)),
        _ => {}
    }
}

fn remove_from(schema: &mut Value) {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    if let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, field) in fields {
            if !required.iter().any(|required| required == name) {
                forbid_null(field);
            }
            remove_from(field);
        }
    }
    for part in ["allOf", "anyOf", "oneOf"] {
        let parts = schema.get_mut(part).and_then(Value::as_array_mut);
        parts.into_iter().flatten().for_each(remove_from);
    }
}

/// Removes `null` from the allowed types of a schema.
pub(super) fn forbid_null(schema: &mut Value) {
    if let Some(types) = schema.get_mut("type").and_then(Value::as_array_mut) {
        types.retain(|kind| kind != "null");
        if let [only] = &types[..] {
            schema["type"] = only.clone();
        }
    }
    let Some(fields) = schema.as_object_mut() else { return };
    for part in ["anyOf", "oneOf"] {
        let Some(kinds) = fields.get_mut(part).and_then(Value::as_array_mut) else { continue };
        kinds.retain(|kind| kind["type"] != "null");
        if let [Value::Object(only)] = &mut kinds[..] {
            let only = std::mem::take(only);
            fields.remove(part);
            fields.extend(only);
        }
    }
}
