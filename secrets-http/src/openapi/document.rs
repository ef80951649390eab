//! Generation of the OpenAPI document from the table of routes.

use std::collections::BTreeMap;

use secrets_core::engine::Callers;
use serde_json::{Map, Value, json};

use super::doc::{Answer, Content, Form};
use super::schema::Components;
use super::{errors, example, headers, names, optional, rules, tags};
use crate::serve::reply::Envelope;
use crate::serve::router::Route;

/// Introductory text of the OpenAPI document: first steps, and rules that apply to all operations.
const ABOUT: &str = "\
Encrypted secrets for teams, projects and environments.

## Where to begin

1. Get a credential: a token of the identity provider (JWT), a service token (`env_…`) or the token \
of a command-line session. Send it as `Authorization: Bearer CREDENTIAL`.
2. Once after each sign-in with a JWT, call `POST /api/v1/auth/sync`. It creates your account and \
your personal team. The token needs the claims `iss`, `aud`, `exp` and `sub`; `email` is in the token \
or comes from the provider's userinfo endpoint.
3. Create a project with `POST /api/v1/projects`. It has the environments `development`, `staging` \
and `production`.
4. Create a secret with `POST /api/v1/projects/{projectId}/environments/{environmentId}/secrets`, \
and read it with `GET …/secrets/{key}`.
5. For programs, create a service token with `POST /api/v1/tokens`.

In paths, a project is its ID or slug, and an environment its ID or name.

## Errors

The body of an error is an object with `error` (the message), `code` (for programs) and, for invalid \
fields, `details`. A path without the requested method answers 405 and lists its methods in `Allow`. \
A request is checked in this order: credential, kind of credential, form of the body, existence of \
the resource, permission, rules, plan limit.

## Rate limits

Unless they are switched off, responses have the headers `X-RateLimit-Limit`, \
`X-RateLimit-Remaining` and `X-RateLimit-Reset`. After a 429, wait for the seconds in `Retry-After`. \
A 429 with the fields of `LimitError` is a limit of the team's plan.

## Envelope

";

const ABOUT_NAMED: &str = "Lists, and some single objects, are in a field with their name, such as \
`secrets`. This server has `SECRETS_ENVELOPE=named`.";

const ABOUT_BOTH: &str = "Lists, and some single objects, are in a field with their name, such as \
`secrets`. This server has `SECRETS_ENVELOPE=both`: they are also in the field `data`, and every other \
object is repeated in its own field `data`. Bare lists, the responses of `/api/v1/eso` and \
`my-permissions` have no field `data`.";

/// Generates the `OpenAPI` 3.1 document of these routes. `envelope` determines whether the
/// responses have an additional field `data`. Routes that return HTML pages are omitted.
#[must_use]
pub fn document(routes: &[Route], envelope: Envelope) -> Value {
    let mut schemas = Components::new();
    errors::register(&mut schemas);
    let mut paths = BTreeMap::<&str, Map<String, Value>>::new();
    for route in routes.iter().filter(|route| is_documented(route)) {
        let operation = operation(route, &mut schemas, envelope);
        let method = route.method.as_str().to_ascii_lowercase();
        paths.entry(route.template).or_default().insert(method, operation);
    }
    rules::add(&mut schemas);
    let mut paths = json!(paths);
    optional::remove_null(&mut schemas, &paths);
    example::add(&mut paths, &schemas);
    names::rename(&mut schemas, &mut paths);
    let envelope_description = match envelope {
        Envelope::Named => ABOUT_NAMED,
        Envelope::Both => ABOUT_BOTH,
    };
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "secrets", "version": "1.0.0", "description": format!("{ABOUT}{envelope_description}"),
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }],
        "tags": tags::tags(),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": errors::components(),
            "headers": headers::components(),
            "securitySchemes": { "bearer": bearer() },
        },
    })
}

fn bearer() -> Value {
    json!({
        "type": "http", "scheme": "bearer",
        "description": "A token of the identity provider (JWT), a service token (`env_…`) or the \
                        token of a command-line session (`cli_…`)",
    })
}

fn is_documented(route: &Route) -> bool {
    route.template.starts_with("/api/v1") || route.template.starts_with("/health")
}

fn operation(route: &Route, schemas: &mut Components, envelope: Envelope) -> Value {
    let mut operation = json!({
        "operationId": route.doc.id, "x-operation": route.operation,
        "tags": [tags::tag(route.operation)], "summary": route.doc.summary,
        "parameters": parameters(route), "responses": responses(route, schemas, envelope),
    });
    if route.callers.is_none() {
        operation["security"] = json!([]);
    }
    if let Some(kinds) = describe_callers(route.callers) {
        operation["description"] = json!(kinds);
    }
    if !route.doc.bodies.is_empty() {
        let content = contents(&route.doc.bodies, schemas, Envelope::Named);
        operation["requestBody"] =
            json!({ "required": !route.doc.is_body_optional, "content": content });
    }
    operation
}

fn describe_callers(callers: Option<Callers>) -> Option<&'static str> {
    match callers? {
        Callers::Public | Callers::AnyCredential => None,
        Callers::Authenticated => Some("Requires a user credential or a service token."),
        Callers::People => Some("Requires a user credential."),
        Callers::Tokens => Some("Requires a service token."),
        Callers::Identities => Some(
            "Requires a token of the identity provider with the claims `iss`, `aud`, `exp` and \
                 `sub`, and an e-mail address: in the claim `email`, or from the provider's userinfo \
                 endpoint. The user need not have an account yet.",
        ),
    }
}

fn parameters(route: &Route) -> Vec<Value> {
    let in_path = route.template.split(['{', '}']).skip(1).step_by(2).map(|name| {
        json!({
            "name": name, "in": "path", "required": true,
            "description": describe_path_parameter(route.template, name),
            "schema": path_parameter_form(name).schema(),
        })
    });
    let in_query = route.doc.query.iter().map(|query| {
        json!({
            "name": query.name, "in": "query", "required": query.is_required,
            "description": query.description, "schema": query.form.schema(),
        })
    });
    in_path.chain(in_query).collect()
}

fn describe_path_parameter(template: &str, name: &str) -> &'static str {
    match name {
        "projectId" => "Project ID or slug",
        "environmentId" => "Environment ID or name",
        "key" => "Secret key",
        "rotationName" => "Rotation name",
        "token" => "Invitation token",
        "userCode" => "User code shown by the command-line client",
        "teamId" => "Team ID",
        "userId" => "User ID",
        "invitationId" => "Invitation ID",
        "webhookId" => "Webhook ID",
        "deliveryId" => "Delivery ID",
        "findingId" => "Finding ID",
        "id" if template.contains("/tokens/") => "Service token ID",
        "id" if template.contains("/sessions/") => "Session ID",
        "id" if template.contains("/scans/") => "Scan ID",
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

fn responses(route: &Route, schemas: &mut Components, envelope: Envelope) -> Value {
    let mut responses = Map::new();
    for answer in &route.doc.answers {
        let mut response = json!({
            "description": describe_status(answer.status),
            "headers": headers::headers(answer_headers(route, answer)),
        });
        if !answer.contents.is_empty() {
            response["content"] = contents(&answer.contents, schemas, envelope);
        }
        responses.insert(answer.status.to_string(), response);
    }
    for (status, response) in errors::of_route(route) {
        responses.entry(status.to_string()).or_insert(response);
    }
    Value::Object(responses)
}

/// Returns the names of the headers that this response has in addition to the headers of every
/// response.
fn answer_headers(route: &Route, answer: &Answer) -> Vec<&'static str> {
    let has_tag = route.doc.answers.iter().any(|answer| answer.status == 304);
    let is_page = answer.contents.iter().any(|content| content.media == "application/x-ndjson");
    let is_file = route.template.ends_with("/data-export");
    let names = [(has_tag, "ETag"), (is_page, "X-Next-Cursor"), (is_file, "Content-Disposition")];
    names.into_iter().filter_map(|(is_sent, name)| is_sent.then_some(name)).collect()
}

fn describe_status(status: u16) -> &'static str {
    match status {
        200 => "Success",
        201 => "Created",
        204 => "Success, without a body",
        304 => "Not modified: the client already has the current version",
        400 => "Invalid request; the error says what is wrong",
        503 => "Service degraded",
        _ => "Response",
    }
}

fn contents(contents: &[Content], schemas: &mut Components, envelope: Envelope) -> Value {
    let mut all = Map::new();
    for content in contents {
        let described = content.described.compute();
        let schema = described.in_envelope(envelope);
        register(schemas, described.named);
        all.insert(content.media.to_owned(), json!({ "schema": schema }));
    }
    Value::Object(all)
}

/// Adds the types that a schema references to the components of the document.
fn register(schemas: &mut Components, named: Vec<(String, Value)>) {
    for (name, schema) in named {
        debug_assert_eq!(
            schemas.get(&name).unwrap_or(&schema),
            &schema,
            "two different types have the name {name}"
        );
        schemas.entry(name).or_insert(schema);
    }
}
