//! Tests that the request examples in the `OpenAPI` document succeed if they are sent, with the IDs
//! of existing objects in place of the placeholder.

use std::collections::{BTreeMap, BTreeSet};

use secrets_core::engine::Options;
use secrets_core::model::Role;
use secrets_core::runtime::Supervisor;
use secrets_http::openapi::document;
use secrets_http::routes;
use secrets_http::serve::reply::Envelope;
use secrets_tests::{Build, Client, Kind, credential};
use serde_json::{Value, json};

/// Placeholder that the examples contain in place of every ID.
const PLACEHOLDER: &str = "0191d0a0-5b1c-7c3e-9d2f-3a4b5c6d7e8f";

/// All operations with a request body: method and path. They are in an order in which each request
/// finds the objects that it needs.
const REQUESTS: [(&str, &str); 33] = [
    ("POST", "/api/v1/auth/cli/device"),
    ("POST", "/api/v1/auth/cli/deny"),
    ("POST", "/api/v1/auth/cli/approve"),
    ("POST", "/api/v1/auth/cli/token"),
    ("POST", "/api/v1/auth/cli/revoke"),
    ("PATCH", "/api/v1/account"),
    ("POST", "/api/v1/teams"),
    ("POST", "/api/v1/projects"),
    ("PATCH", "/api/v1/projects/{projectId}"),
    ("POST", "/api/v1/projects/{projectId}/environments"),
    ("PATCH", "/api/v1/projects/{projectId}/environments/{environmentId}"),
    ("PUT", "/api/v1/projects/{projectId}/environments/{environmentId}/permissions"),
    ("PUT", "/api/v1/projects/{projectId}/environments/{environmentId}/permissions/{userId}"),
    ("PUT", "/api/v1/projects/{projectId}/permissions/defaults"),
    ("POST", "/api/v1/projects/{projectId}/environments/{environmentId}/secrets"),
    ("PUT", "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/{key}"),
    ("POST", "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/{key}/rollback"),
    ("POST", "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/bundle"),
    ("POST", "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/bulk"),
    ("POST", "/api/v1/projects/{projectId}/changes"),
    ("POST", "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/test"),
    ("POST", "/api/v1/projects/{projectId}/environments/{environmentId}/rotations"),
    ("PUT", "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}"),
    (
        "POST",
        "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks",
    ),
    ("POST", "/api/v1/scans"),
    ("PATCH", "/api/v1/scans/{id}/findings/{findingId}"),
    ("PUT", "/api/v1/teams/{teamId}/billing"),
    ("POST", "/api/v1/teams/{teamId}/members"),
    ("PATCH", "/api/v1/teams/{teamId}/members/{userId}"),
    ("POST", "/api/v1/tokens"),
    ("POST", "/api/v1/tokens/{id}/rotate"),
    ("POST", "/api/v1/account/data-export"),
    ("DELETE", "/api/v1/account"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_request_example_works_when_it_is_sent() {
    let options = Options { operators: vec!["alice@example.com".to_owned()], ..Options::default() };
    let app = Build::on(Kind::Memory).options(options).webhooks("").start().await;
    let document =
        document(&routes::table(&app.api(), &Supervisor::new(Vec::new())), Envelope::Named);
    let alice = app.person("alice").await;
    let colleague = app.person("carol").await;
    app.join(&alice.team, &colleague.id, Role::Member).await;
    let scan = alice.scan_text(&credential()).await;
    let finding = scan.json()["findings"][0]["id"].as_str().unwrap().to_owned();
    let mut ids = BTreeMap::from([
        ("teamId", alice.team.clone()),
        ("user_id", colleague.id.clone()),
        ("userId", colleague.id.clone()),
        ("scans", scan.id()),
        ("findingId", finding),
    ]);
    let mut wrong = Vec::new();

    for (method, path) in REQUESTS {
        let operation = &document["paths"][path][method.to_lowercase()];
        let contents = operation["requestBody"]["content"].as_object().into_iter().flatten();
        if (method, path) == ("DELETE", "/api/v1/account") {
            // The only owner of a team cannot leave its other members behind.
            let member = format!("/api/v1/teams/{}/members/{}", alice.team, colleague.id);
            alice.delete(&member).await.is(204);
        }
        for (media, content) in contents {
            log_in(&mut ids, path, &alice).await;
            let mut body = content["example"].clone();
            fill(&mut body, "", &ids);
            let path = filled(path, operation, &ids);
            let reply = send(&alice, method, &path, media, &body).await;
            if reply.status >= 300 {
                wrong.push(format!("{method} {path} {media} {body}: {}", reply.text()));
            } else if method == "POST" {
                remember(&mut ids, &path, &reply, &alice).await;
            }
        }
    }

    let requests = REQUESTS.map(|(method, path)| (method.to_owned(), path.to_owned()));
    assert_eq!(BTreeSet::from(requests), with_body(&document));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Returns the method and the path of each operation that has a request body.
fn with_body(document: &Value) -> BTreeSet<(String, String)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let operations = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (method.to_uppercase(), path.clone(), operation))
    });
    let with_body = operations.filter(|(_, _, operation)| operation.get("requestBody").is_some());
    with_body.map(|(method, path, _)| (method, path)).collect()
}

/// Starts a device login if the operation with this path needs one, and stores its codes in `ids`.
/// Approves the login if the operation requests its token.
async fn log_in(ids: &mut BTreeMap<&'static str, String>, path: &str, client: &Client) {
    if !["/cli/approve", "/cli/deny", "/cli/token"].iter().any(|end| path.ends_with(end)) {
        return;
    }
    let start = client.post("/api/v1/auth/cli/device", &json!({ "client_id": "cli" })).await;
    let login = start.is(200).json();
    if path.ends_with("/cli/token") {
        let body = json!({ "user_code": login["user_code"] });
        client.post("/api/v1/auth/cli/approve", &body).await.is(200);
    }
    for field in ["user_code", "device_code"] {
        ids.insert(field, login[field].as_str().unwrap().to_owned());
    }
}

/// Replaces the placeholder IDs in an example by IDs of existing objects, and the codes of a device
/// login by valid codes. `field` is the name of the field that contains the value.
fn fill(value: &mut Value, field: &str, ids: &BTreeMap<&'static str, String>) {
    match value {
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(name, value)| fill(value, name, ids));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, field, ids)),
        Value::String(text) if text == PLACEHOLDER => text.clone_from(&ids[field]),
        Value::String(text) if ["user_code", "device_code"].contains(&field) => {
            text.clone_from(&ids[field]);
        }
        _ => {}
    }
}

/// Returns the path of an operation with values for its parameters: an existing ID where the
/// example is the placeholder, the example otherwise.
fn filled(path: &str, operation: &Value, ids: &BTreeMap<&'static str, String>) -> String {
    let mut before = "";
    let mut parts = Vec::new();
    for part in path.split('/') {
        let name = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
        parts.push(match name {
            None => part.to_owned(),
            Some("id") => ids[before].clone(),
            Some(name) => {
                let parameters = operation["parameters"].as_array().unwrap();
                let own = parameters.iter().find(|parameter| parameter["name"] == name).unwrap();
                own["schema"]["example"].as_str().map_or_else(|| ids[name].clone(), str::to_owned)
            }
        });
        before = part;
    }
    parts.join("/")
}

async fn send(
    client: &Client,
    method: &str,
    path: &str,
    media: &str,
    body: &Value,
) -> secrets_tests::Reply {
    let text = match media {
        "application/x-www-form-urlencoded" => serde_urlencoded::to_string(body).unwrap(),
        // Every JSON text is also YAML.
        "application/json" | "application/yaml" => body.to_string(),
        _ => body.as_str().unwrap().to_owned(),
    };
    client.raw(method.parse().unwrap(), path, &[("content-type", media)], text).await
}

/// Stores the ID of a new token or session in `ids`, for later requests.
async fn remember(
    ids: &mut BTreeMap<&'static str, String>,
    path: &str,
    reply: &secrets_tests::Reply,
    client: &Client,
) {
    if path.ends_with("/tokens") {
        ids.insert("tokens", reply.id());
    }
    if path.ends_with("/cli/token") {
        let sessions = client.get("/api/v1/auth/cli/sessions").await.is(200).json();
        ids.insert("id", sessions["sessions"][0]["id"].as_str().unwrap().to_owned());
    }
}
