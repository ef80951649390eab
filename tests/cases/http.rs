//! Host (way to run the calls of a case) that calls operations over HTTP. The `OpenAPI` document
//! contains the endpoint of each operation.

use std::collections::BTreeMap;

use async_trait::async_trait;
use hyper::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use secrets_core::runtime::Supervisor;
use secrets_http::openapi::document;
use secrets_http::routes;
use secrets_http::serve::reply::Envelope;
use secrets_tests::{App, Kind, Reply};
use serde_json::{Map, Value, json};

use crate::host::{Failure, Host, Who};

/// Host that calls operations over HTTP: a running server, and the endpoint of each operation.
pub(crate) struct Http {
    app: App,
    endpoints: BTreeMap<String, Endpoint>,
}

struct Endpoint {
    method: Method,
    path: String,
    query: Vec<String>,
    has_body: bool,
    /// Name of the field of the response that contains the output of the operation; `None` if the
    /// whole body is the output.
    envelope: Option<String>,
}

impl Http {
    pub(crate) async fn start() -> Self {
        let app = App::start(Kind::Memory).await;
        let table = routes::table(&app.api(), &Supervisor::new(Vec::new()));
        let endpoints = endpoints(&document(&table, Envelope::Named));
        Self { app, endpoints }
    }
}

fn endpoints(document: &Value) -> BTreeMap<String, Endpoint> {
    let mut endpoints = BTreeMap::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        // Second endpoint of `audit.list`: the log of one team, which a field of the input selects
        // as well.
        if path == "/api/v1/teams/{teamId}/audit" {
            continue;
        }
        for (method, operation) in methods.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().unwrap().iter();
            let has_body = operation.get("requestBody").is_some();
            // The query of an endpoint with a body only selects a text format.
            let query = parameters.filter(|it| it["in"] == "query" && !has_body);
            let endpoint = Endpoint {
                method: method.to_uppercase().parse().unwrap(),
                path: path.clone(),
                query: query.map(|it| it["name"].as_str().unwrap().to_owned()).collect(),
                has_body,
                envelope: envelope(operation),
            };
            endpoints.insert(operation["x-operation"].as_str().unwrap().to_owned(), endpoint);
        }
    }
    endpoints
}

/// Returns the name of the response field that contains the output of an operation, given as its
/// object in the `OpenAPI` document; `None` if the whole response is the output.
fn envelope(operation: &Value) -> Option<String> {
    let responses = operation["responses"].as_object()?;
    let (_, good) = responses.iter().find(|(status, _)| status.starts_with('2'))?;
    let schema = &good["content"]["application/json"]["schema"];
    let schema = schema["anyOf"].get(0).unwrap_or(schema);
    let names: Vec<_> = schema["properties"].as_object()?.keys().collect();
    match names.as_slice() {
        [name] if schema.get("description").is_none() => Some((*name).clone()),
        _ => None,
    }
}

#[async_trait]
impl Host for Http {
    async fn call(
        &self,
        who: Who<'_>,
        name: &str,
        mut input: Map<String, Value>,
    ) -> Result<Value, Failure> {
        let client = match who {
            Who::Person(email) => {
                self.app.bearer(&self.app.jwt(email.trim_end_matches("@example.com")))
            }
            Who::Token(text) => self.app.bearer(text),
        };
        let endpoint = &self.endpoints[name];
        let is_text = name == "secret.export" && !input.get("format").is_none_or(Value::is_null);
        let path = endpoint.target(name, &mut input);
        let reply = if endpoint.has_body {
            client.json(endpoint.method.clone(), &path, &input.into()).await
        } else {
            assert!(input.is_empty(), "{name}: {:?} has no place", input.keys());
            client.raw(endpoint.method.clone(), &path, &[], Vec::new()).await
        };
        endpoint.outcome(&reply, is_text)
    }
}

impl Endpoint {
    /// Builds the path and the query of a request from the fields of an input. Removes these fields
    /// from the input; the rest is the request body.
    fn target(&self, name: &str, input: &mut Map<String, Value>) -> String {
        let mut path = String::new();
        for (at, part) in self.path.split(['{', '}']).enumerate() {
            if at % 2 == 0 {
                path.push_str(part);
            } else {
                let field = field(name, part);
                let given = input.remove(&field).unwrap_or_else(|| panic!("{name}: no {field}"));
                path.extend(utf8_percent_encode(given.as_str().unwrap(), NON_ALPHANUMERIC));
            }
        }
        let mut query = Vec::new();
        for known in &self.query {
            match input.remove(known) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) => query.push((known.clone(), text)),
                Some(Value::Array(items)) => {
                    query.extend(
                        items.iter().map(|item| (known.clone(), item.as_str().unwrap().to_owned())),
                    );
                }
                Some(other) => query.push((known.clone(), other.to_string())),
            }
        }
        if !query.is_empty() {
            path.push('?');
            path.push_str(&serde_urlencoded::to_string(query).unwrap());
        }
        path
    }

    fn outcome(&self, reply: &Reply, is_text: bool) -> Result<Value, Failure> {
        if reply.status >= 400 {
            let body = reply.json();
            return Err(Failure {
                kind: kind(reply.status, &body).to_owned(),
                ..Failure::from_body(&body)
            });
        }
        if is_text {
            return Ok(json!({ "text": reply.text() }));
        }
        if reply.body.is_empty() {
            return Ok(Value::Null);
        }
        let body = reply.json();
        Ok(match &self.envelope {
            Some(name) => body[name].clone(),
            None => body,
        })
    }
}

/// Returns the name of the input field of an operation that corresponds to a path parameter of its
/// endpoint, such as `rotation` for `rotationName`.
fn field(operation: &str, parameter: &str) -> String {
    match (parameter, operation.split_once('.').unwrap().0) {
        ("rotationName", _) => "rotation".to_owned(),
        ("userCode", _) => "user_code".to_owned(),
        ("id", "finding") => "scan".to_owned(),
        ("id", noun) => noun.to_owned(),
        (other, _) => other.trim_end_matches("Id").to_owned(),
    }
}

fn kind(status: u16, body: &Value) -> &'static str {
    match (status, body["code"].as_str().unwrap_or_default()) {
        (400 | 413, _) if body.get("details").is_some() => "invalid",
        (400, _) => "refused",
        (401, _) => "unauthenticated",
        (403, "ip_not_allowed") => "elsewhere",
        (403, _) => "forbidden",
        (404, _) => "not_found",
        (409, "version_conflict") => "stale",
        (409, _) => "conflict",
        (429, "plan_limit_exceeded") => "plan_limit",
        (429, _) => "rate_limited",
        (503, _) => "unavailable",
        _ => "internal",
    }
}
