//! Rules in the schemas that the Rust types do not express: constants, and rules about several
//! fields.
//!
//! Rules about several fields use `if` and `not`, which generators of clients ignore. With `oneOf`
//! beside `properties`, they would generate a union of unnamed types.

use serde_json::{Value, json};

use super::schema::{Components, reference};

/// Adds the rules that the Rust types do not express, such as constants and fields that depend on
/// each other, to the named schemas (components). Also removes the fields listed in `ABSENT`.
pub(super) fn add(schemas: &mut Components) {
    for (name, absent) in ABSENT {
        let fields = schemas.get_mut(name).and_then(|schema| schema["properties"].as_object_mut());
        debug_assert!(fields.is_some(), "no type has the name {name}");
        if let Some(fields) = fields {
            fields.retain(|field, _| !absent.contains(&field.as_str()));
        }
    }
    for (names, rule) in rules() {
        for name in names {
            debug_assert!(schemas.contains_key(*name), "no type has the name {name}");
            if let Some(schema) = schemas.get_mut(*name) {
                merge(schema, rule.clone());
            }
        }
    }
}

/// Fields that the schema of a Rust type omits although the type has them, by schema name. Only
/// extended schemas, such as `SecretWithValue`, contain them.
const ABSENT: [(&str, &[&str]); 3] = [
    ("Secret", &["value", "inherited_from", "restricted"]),
    ("ServiceToken", &["token"]),
    ("RotationWebhook", &["secret"]),
];

fn rules() -> Vec<(&'static [&'static str], Value)> {
    let mut rules = values();
    rules.extend(changes());
    rules.extend(combinations());
    rules
}

/// Returns the constants, permitted values and examples to add, each with the names of the schemas
/// to which it is added.
#[expect(clippy::too_many_lines, reason = "a table")]
fn values() -> Vec<(&'static [&'static str], Value)> {
    let field = |name: &str, rule: Value| json!({ "properties": { name: rule } });
    let discriminator = json!({
        "propertyName": "auth_type",
        "mapping": {
            "user": reference("User")["$ref"], "service_token": reference("TokenSelf")["$ref"],
        },
    });
    let secrets =
        &["Secret", "SecretWithInheritance", "SecretWithValue", "SecretWithValueAndInheritance"];
    vec![
        (&["User"], field("auth_type", json!({ "const": "user" }))),
        (&["TokenSelf"], field("auth_type", json!({ "const": "service_token" }))),
        (&["Me"], json!({ "discriminator": discriminator })),
        (&["Secret"], json!({ "description": "A secret without its value." })),
        (
            &["SecretWithInheritance"],
            json!({ "description": "A secret, possibly inherited, without its value." }),
        ),
        (&["SecretWithValue"], json!({ "description": "A secret with its value." })),
        (
            &["SecretWithValueAndInheritance"],
            json!({ "description": "A secret, possibly inherited, with its value." }),
        ),
        (&["ServiceToken"], json!({ "description": "A service token without its text." })),
        (&["ServiceTokenWithToken"], json!({ "description": "A service token with its text." })),
        (
            &["RotationWebhook"],
            json!({ "description": "A webhook of a rotation, without its signing secret." }),
        ),
        (
            &["RotationWebhookWithSecret"],
            json!({ "description": "A webhook of a rotation, with its signing secret." }),
        ),
        (secrets, field("type", json!({ "const": "string" }))),
        (
            &["ServiceToken", "ServiceTokenWithToken"],
            field("status", json!({ "enum": ["active", "expired"] })),
        ),
        (&["HealthResponse"], field("status", json!({ "enum": ["ok", "degraded"] }))),
        (&["HealthResponse"], field("checks", json!({ "example": { "database": "ok" } }))),
        (
            &["HealthResponse"],
            field("rate_limits", json!({ "enum": ["per_node", "shared", "per_node_fallback"] })),
        ),
        (&["TeamMember"], field("status", json!({ "enum": ["active", "pending"] }))),
        (
            &["AuditEntry"],
            field(
                "actor_type",
                json!({
                    "enum": ["user", "service_token", "system", "anonymous"],
                }),
            ),
        ),
        (&["AuditEntry"], field("outcome", json!({ "enum": ["success", "denied", "failure"] }))),
        (
            &["RotationWebhook", "RotationWebhookWithSecret"],
            field(
                "url",
                json!({ "format": "uri", "example": "https://hooks.example.com/rotations" }),
            ),
        ),
        (&["WorkerResponse"], field("status", json!({ "enum": ["ok", "fail"] }))),
        (&["LivenessResponse"], field("status", json!({ "const": "ok" }))),
        (&["Decided"], field("status", json!({ "enum": ["approved", "denied"] }))),
        (&["CliGrant"], field("token_type", json!({ "const": "Bearer" }))),
        (
            &["HistoryEntry"],
            field(
                "change_type",
                json!({
                    "enum": ["created", "updated", "hidden", "rolled_back", "rotated"],
                }),
            ),
        ),
        (&["SealedBundle"], field("key", json!({ "example": format!("scbk_{:0<49}", 1) }))),
        (&["Plaintext"], json!({ "pattern": "^[^\\x00]*$" })),
        (&["Signer"], json!({ "example": format!("scbs_{:0<49}", 1) })),
    ]
}

/// Returns the rules for requests in which at least one field must be given, each with the names of
/// its schemas. `null` counts as a missing field, except where `null` removes the parent of an
/// environment.
fn changes() -> Vec<(&'static [&'static str], Value)> {
    let unset = json!({ "type": "null" });
    let absent = json!({ "not": {} });
    vec![
        (&["ProjectChange"], some_field(&json!({ "name": unset, "description": unset }))),
        (
            &["EnvironmentChange"],
            some_field(&json!({ "name": unset, "description": unset, "inherits_from": absent })),
        ),
        (
            &["RotationChange"],
            some_field(&json!({ "rotation_interval_days": unset, "status": unset })),
        ),
        (
            &["SecretChange"],
            some_field(&json!({ "value": unset, "description": unset, "hidden": unset })),
        ),
    ]
}

/// Returns the rule that a request contains at least one of several fields. `missing` contains for
/// each field a schema that matches if the field counts as missing.
fn some_field(missing: &Value) -> Value {
    json!({ "minProperties": 1, "not": { "properties": missing } })
}

/// Returns the rules for requests whose fields depend on each other, each with the names of its
/// schemas.
fn combinations() -> Vec<(&'static [&'static str], Value)> {
    let no_value = json!({ "properties": { "value": { "type": "null" } } });
    let a_value = json!({ "required": ["value"], "properties": { "value": { "type": "string" } } });
    let hidden = |hidden: bool| is("hidden", &json!(hidden));
    let shown_with_value = json!({ "if": hidden(false), "then": a_value });
    vec![
        (&["NewSecret"], json!({ "if": hidden(true), "then": no_value, "else": a_value })),
        (
            &["SecretChange"],
            json!({ "if": hidden(true), "then": no_value, "else": shown_with_value }),
        ),
        (
            &["NewRotation", "Candidate"],
            json!({
                "if": is("connection_method", &json!("proxied")),
                "then": { "required": ["proxy"], "properties": { "proxy": { "type": "object" } } },
                "else": { "properties": { "proxy": { "type": "null" } } },
            }),
        ),
        (&["NewToken"], token()),
        (&["NewScan"], scan()),
        (&["NewBundle"], json!({ "properties": { "recipients": recipients() } })),
        (&["NewRecipient"], json!({ "unevaluatedProperties": false })),
    ]
}

/// Returns a schema that matches an object whose field `field` has this value.
fn is(field: &str, value: &Value) -> Value {
    json!({ "required": [field], "properties": { field: { "const": value } } })
}

/// Returns a schema that matches an object in which both fields match their schemas.
fn both(fields: [(&str, Value); 2]) -> Value {
    let [(first, schema), (second, other)] = fields;
    json!({ "required": [first, second], "properties": { first: schema, second: other } })
}

fn token() -> Value {
    let list = || json!({ "type": "array" });
    let all = || ("all_projects", json!({ "const": true }));
    json!({
        "properties": { "environments": { "minItems": 1 } },
        "not": { "anyOf": [
            both([("permissions", list()), ("scopes", list())]),
            both([
                ("expires_in_days", json!({ "type": "integer" })),
                ("expires_at", json!({ "type": "string" })),
            ]),
            both([all(), ("project_ids", json!({ "type": "array", "minItems": 1 }))]),
            both([all(), ("environments", list())]),
            // Neither a list of projects nor all projects.
            { "properties": {
                "all_projects": { "enum": [false, null] }, "project_ids": { "maxItems": 0 },
            } },
        ] },
    })
}

fn scan() -> Value {
    let fields = ["content", "files", "findings"];
    let only = |given: &str| {
        let kind = if given == "content" { "string" } else { "array" };
        let schema = |field| if field == given { kind } else { "null" };
        let properties: Value = fields
            .iter()
            .map(|field| ((*field).to_owned(), json!({ "type": schema(*field) })))
            .collect();
        json!({ "required": [given], "properties": properties })
    };
    let source = |kind: &str| json!({ "properties": { "source": is("type", &json!(kind)) } });
    let items = json!({ "minItems": 1, "maxItems": 1_000 });
    json!({
        "properties": { "files": items, "findings": items },
        "if": source("text"),
        "then": only("content"),
        "else": { "if": source("files"), "then": only("files"), "else": only("findings") },
    })
}

/// Returns the rule for the recipients of a bundle: no duplicates, and at most one passphrase. All
/// recipients of the type `raw` are equal, so at most one of them is allowed.
fn recipients() -> Value {
    json!({
        "uniqueItems": true,
        "contains": is("type", &json!("passphrase")), "minContains": 0, "maxContains": 1,
    })
}

/// Merges a rule into a schema, field by field.
fn merge(schema: &mut Value, rule: Value) {
    match (schema, rule) {
        (Value::Object(fields), Value::Object(rules)) => {
            for (name, rule) in rules {
                merge(fields.entry(name).or_insert(Value::Null), rule);
            }
        }
        (schema, rule) => *schema = rule,
    }
}
