//! Generation of the OpenAPI document from the table of routes.

use std::collections::BTreeMap;

use secrets_core::engine::Callers;
use secrets_core::model::ErrorBody;
use serde_json::{Map, Value, json};

use super::doc::{Content, Described, Form};
use super::example;
use crate::serve::router::Route;

const ABOUT: &str = "Encrypted secrets for teams, projects and environments. Unless rate limits are \
switched off, responses have the headers `X-RateLimit-Limit`, `X-RateLimit-Remaining` and \
`X-RateLimit-Reset`. The body of an error is an object with `error` (the message), `code` and, for \
invalid fields, `details`.";

/// Generates the `OpenAPI` 3.1 document of these routes. HTML pages are left out.
#[must_use]
pub fn document(routes: &[Route]) -> Value {
    let mut named = Map::new();
    let error = register(&mut named, &Described::of::<ErrorBody>());
    let mut paths = BTreeMap::<&str, Map<String, Value>>::new();
    for route in routes.iter().filter(|route| is_documented(route)) {
        let operation = operation(route, &mut named, &error);
        let method = route.method.as_str().to_ascii_lowercase();
        paths.entry(route.template).or_default().insert(method, operation);
    }
    let bearer = json!({
        "type": "http", "scheme": "bearer",
        "description": "A token of the identity provider (JWT), a service token (`env_…`) or the \
                        token of a command-line session (`cli_…`)",
    });
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "secrets", "version": "1.0.0", "description": ABOUT,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": { "schemas": named, "securitySchemes": { "bearer": bearer } },
    })
}

fn is_documented(route: &Route) -> bool {
    route.template.starts_with("/api/v1") || route.template.starts_with("/health")
}

fn operation(route: &Route, named: &mut Map<String, Value>, error: &Value) -> Value {
    let noun = route.operation.split('.').next().unwrap_or_default();
    let id = format!("{} {}", route.method, route.template);
    let mut operation = json!({
        "operationId": id, "x-operation": route.operation, "tags": [noun], "summary": route.doc.summary,
        "parameters": parameters(route), "responses": responses(route, named, error),
    });
    if route.callers.is_none() {
        operation["security"] = json!([]);
    }
    if let Some(kinds) = describe_callers(route.callers) {
        operation["description"] = json!(kinds);
    }
    if !route.doc.bodies.is_empty() {
        operation["requestBody"] = json!({ "required": !route.doc.is_body_optional, "content": contents(&route.doc.bodies, named) });
    }
    operation
}

fn describe_callers(callers: Option<Callers>) -> Option<&'static str> {
    match callers? {
        Callers::Public | Callers::AnyCredential => None,
        Callers::Authenticated => Some("Requires a user credential or a service token."),
        Callers::People => Some("Requires a user credential."),
        Callers::Tokens => Some("Requires a service token."),
        Callers::Identities => {
            Some("Requires a user credential. The user need not have an account yet.")
        }
    }
}

fn parameters(route: &Route) -> Vec<Value> {
    let in_path = route.template.split(['{', '}']).skip(1).step_by(2).map(|name| {
        json!({
            "name": name, "in": "path", "required": true, "description": describe_path_parameter(name),
            "schema": path_parameter_form(name).schema(),
        })
    });
    let in_query = route.doc.query.iter().map(|query| {
        json!({
            "name": query.name, "in": "query", "required": query.is_required,
            "description": query.about, "schema": query.form.schema(),
        })
    });
    in_path.chain(in_query).collect()
}

fn describe_path_parameter(name: &str) -> &'static str {
    match name {
        "projectId" => "Project ID or slug",
        "environmentId" => "Environment ID or name",
        "key" => "Secret key",
        "rotationName" => "Rotation name",
        "token" => "Invitation token",
        "userCode" => "User code shown by the command-line client",
        _ => "Resource ID",
    }
}

fn path_parameter_form(name: &str) -> Form {
    match name {
        "projectId" => Form::Project,
        "environmentId" => Form::Environment,
        "key" => Form::Key,
        "rotationName" => Form::Rotation,
        "token" => Form::Pattern("^[A-Za-z0-9_-]{1,100}$"),
        "userCode" => Form::Pattern("^[A-Za-z]{4}-?[A-Za-z]{4}$"),
        _ => Form::Id,
    }
}

fn responses(route: &Route, named: &mut Map<String, Value>, error: &Value) -> Value {
    let mut responses = Map::new();
    for answer in &route.doc.answers {
        let mut response = json!({ "description": describe_status(answer.status) });
        if !answer.contents.is_empty() {
            response["content"] = contents(&answer.contents, named);
        }
        responses.insert(answer.status.to_string(), response);
    }
    for status in error_statuses(route) {
        let content = json!({ "application/json": { "schema": error } });
        let response = json!({ "description": describe_status(status), "content": content });
        responses.entry(status.to_string()).or_insert(response);
    }
    Value::Object(responses)
}

/// Returns the error statuses of a route.
fn error_statuses(route: &Route) -> Vec<u16> {
    let mut statuses = vec![400, 429, 500, 503];
    if route.callers.is_some() {
        statuses.extend([401, 403]);
    }
    if route.template.contains('{') || route.doc.looks_up {
        statuses.push(404);
    }
    if !route.doc.bodies.is_empty() || route.has_large_output {
        statuses.push(413);
    }
    if route.doc.conflicts {
        statuses.push(409);
    }
    statuses
}

fn describe_status(status: u16) -> &'static str {
    match status {
        200 => "Success",
        201 => "Created",
        204 => "Success, without a body",
        304 => "Not modified: the client already has the current version",
        400 => "Invalid request; the error says what is wrong",
        401 => "Missing or invalid credential",
        403 => "The caller does not have the required permission",
        404 => "Resource not found",
        409 => "Conflict: the resource already exists, or has another version than expected",
        413 => "Request body or response too large",
        429 => "Rate limit or plan limit exceeded",
        500 => "Internal error, for example a record that cannot be decrypted",
        503 => "Service unavailable; try again later",
        _ => "Response",
    }
}

fn contents(contents: &[Content], named: &mut Map<String, Value>) -> Value {
    let mut all = Map::new();
    for content in contents {
        let schema = register(named, &content.described);
        let mut entry = json!({ "schema": schema });
        if content.media != "text/event-stream" {
            entry["example"] = example::of(&schema, named);
        }
        all.insert(content.media.to_owned(), entry);
    }
    Value::Object(all)
}

/// Adds the types referenced by a schema to the components, and returns the schema.
fn register(named: &mut Map<String, Value>, described: &Described) -> Value {
    for (name, schema) in &described.named {
        debug_assert_eq!(
            named.get(name).unwrap_or(schema),
            schema,
            "two different types have the name {name}"
        );
        named.entry(name.clone()).or_insert_with(|| schema.clone());
    }
    described.schema.clone()
}
