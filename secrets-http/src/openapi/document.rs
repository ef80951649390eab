//! The document itself.

use std::collections::BTreeMap;

use secrets_core::engine::Callers;
use secrets_core::model::ErrorBody;
use serde_json::{Map, Value, json};

use super::doc::{Content, Described, Form};
use super::example;
use crate::router::Route;

const ABOUT: &str = "Encrypted secrets for teams, projects and environments. Every answer carries \
`X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`; an error is an object with \
`error`, `code` and, where fields are wrong, `details`.";

/// The `OpenAPI` 3.1 document of these routes. Pages for people are not part of it.
#[must_use]
pub fn document(routes: &[Route]) -> Value {
    let mut named = Map::new();
    let error = keep(&mut named, &Described::of::<ErrorBody>());
    let mut paths = BTreeMap::<&str, Map<String, Value>>::new();
    for route in routes.iter().filter(|route| is_of_interface(route)) {
        let operation = operation(route, &mut named, &error);
        let method = route.method.as_str().to_ascii_lowercase();
        paths.entry(route.template).or_default().insert(method, operation);
    }
    let bearer = json!({
        "type": "http", "scheme": "bearer",
        "description": "A token of the identity provider (JWT), a service token (`env_…`) or the \
                        credential of a command line (`cli_…`)",
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

fn is_of_interface(route: &Route) -> bool {
    route.template.starts_with("/api/v1") || route.template == "/health"
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
    if let Some(kinds) = who(route.callers) {
        operation["description"] = json!(kinds);
    }
    if !route.doc.bodies.is_empty() {
        operation["requestBody"] = json!({ "required": !route.doc.is_body_optional, "content": contents(&route.doc.bodies, named) });
    }
    operation
}

fn who(callers: Option<Callers>) -> Option<&'static str> {
    match callers? {
        Callers::Anyone | Callers::Known => None,
        Callers::Any => Some("For people and service tokens."),
        Callers::People => Some("For people."),
        Callers::Tokens => Some("For service tokens."),
        Callers::Identities => Some("For people, with an account or without."),
    }
}

fn parameters(route: &Route) -> Vec<Value> {
    let in_path = route.template.split(['{', '}']).skip(1).step_by(2).map(|name| {
        json!({
            "name": name, "in": "path", "required": true, "description": of_path(name),
            "schema": form_in_path(name).schema(),
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

fn of_path(name: &str) -> &'static str {
    match name {
        "projectId" => "A project's id or slug",
        "environmentId" => "An environment's id or name",
        "key" => "A secret's key",
        "rotationName" => "A rotation's name",
        "token" => "An invitation's token",
        "userCode" => "The code that a command line shows",
        _ => "An id",
    }
}

fn form_in_path(name: &str) -> Form {
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
        let mut response = json!({ "description": meaning(answer.status) });
        if !answer.contents.is_empty() {
            response["content"] = contents(&answer.contents, named);
        }
        responses.insert(answer.status.to_string(), response);
    }
    for status in refusals(route) {
        let content = json!({ "application/json": { "schema": error } });
        let response = json!({ "description": meaning(status), "content": content });
        responses.entry(status.to_string()).or_insert(response);
    }
    Value::Object(responses)
}

/// The errors that a route can answer with.
fn refusals(route: &Route) -> Vec<u16> {
    let mut statuses = vec![400, 429, 500, 503];
    if route.callers.is_some() {
        statuses.extend([401, 403]);
    }
    if route.template.contains('{') || route.doc.looks_up {
        statuses.push(404);
    }
    if !route.doc.bodies.is_empty() {
        statuses.push(413);
    }
    if route.doc.conflicts {
        statuses.push(409);
    }
    statuses
}

fn meaning(status: u16) -> &'static str {
    match status {
        200 => "Done",
        201 => "Made",
        204 => "Done; there is nothing to tell",
        304 => "What the client holds is still good",
        400 => "The request breaks a rule, which is named",
        401 => "No credential, or one that proves nothing",
        403 => "The caller may not",
        404 => "There is no such thing",
        409 => "Something of that name is there already, or is at another version",
        413 => "The body is too large",
        429 => "Too many requests, or the plan has no room",
        500 => "A fault of the service, such as a record that cannot be decrypted",
        503 => "Not now; try again later",
        _ => "An answer",
    }
}

fn contents(contents: &[Content], named: &mut Map<String, Value>) -> Value {
    let mut all = Map::new();
    for content in contents {
        let schema = keep(named, &content.described);
        let mut entry = json!({ "schema": schema });
        if content.media != "text/event-stream" {
            entry["example"] = example::of(&schema, named);
        }
        all.insert(content.media.to_owned(), entry);
    }
    Value::Object(all)
}

/// Keeps the types that a schema names, and gives the schema.
fn keep(named: &mut Map<String, Value>, described: &Described) -> Value {
    for (name, schema) in &described.named {
        debug_assert_eq!(named.get(name).unwrap_or(schema), schema, "two types are called {name}");
        named.entry(name.clone()).or_insert_with(|| schema.clone());
    }
    described.schema.clone()
}
