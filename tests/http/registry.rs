//! Tests that the operation registry of `secrets-core` and the HTTP endpoints have the same
//! operations with the same inputs.

use std::collections::{BTreeMap, BTreeSet};

use secrets_core::engine::Caller;
use secrets_core::model::{Identity, Origin};
use secrets_core::registry;
use secrets_core::runtime::Supervisor;
use secrets_http::openapi::document;
use secrets_http::routes;
use secrets_http::serve::reply::Envelope;
use secrets_tests::{App, Kind};
use serde_json::{Map, Value, json};

/// Operations that exist only as HTTP endpoints and not in the registry, such as health checks and
/// event streams.
const OF_HTTP: &[&str] = &[
    "environment.watch",
    "greeting",
    "health",
    "liveness",
    "openapi.document",
    "project.watch",
    "sign_in.config",
];

/// Paths of endpoints that are skipped, because their operation also has another endpoint.
const SECOND_WAYS: &[&str] = &["/api/v1/teams/{teamId}/audit"];

/// Input fields of an endpoint: those in its path, and those in its query.
struct Endpoint {
    path: Vec<&'static str>,
    query: Vec<String>,
}

struct Tried {
    app: App,
    alice: Caller,
    endpoints: BTreeMap<String, Endpoint>,
}

impl Tried {
    async fn new() -> Self {
        let app = App::start(Kind::Memory).await;
        let identity = || Identity::new("https://id.test", "alice", "alice@example.com");
        let alice = app.service.identify(identity(), Origin::default()).await.unwrap();
        registry::call(&app.service, &alice, "user.sync", json!({})).await.unwrap();
        let alice = app.service.identify(identity(), Origin::default()).await.unwrap();
        let table = routes::table(&app.api(), &Supervisor::new(Vec::new()));
        let endpoints = endpoints(&document(&table, Envelope::Named));
        Self { app, alice, endpoints }
    }

    /// Iterates over the operations that exist both in the registry and as an HTTP endpoint. Yields
    /// the name and the endpoint of each.
    fn shared(&self) -> impl Iterator<Item = (&str, &Endpoint)> {
        let endpoints = self.endpoints.iter().map(|(name, endpoint)| (name.as_str(), endpoint));
        endpoints.filter(|(name, _)| !OF_HTTP.contains(name))
    }

    /// Calls an operation through the registry. Returns the names of the fields that the operation
    /// refuses as invalid.
    async fn faults(&self, name: &str, input: Map<String, Value>) -> Vec<String> {
        // Only a service token may call ESO operations.
        let caller = if name.starts_with("eso.") { self.token().await } else { self.alice.clone() };
        let answer = registry::call(&self.app.service, &caller, name, Value::Object(input)).await;
        match answer {
            Err(secrets_core::model::Error::Invalid(fields)) => {
                fields.into_iter().map(|field| field.field).collect()
            }
            _ => Vec::new(),
        }
    }

    async fn token(&self) -> Caller {
        let input = json!({ "name": "operator", "scopes": ["read"], "all_projects": true });
        let made = registry::call(&self.app.service, &self.alice, "token.create", input).await;
        let made = made.unwrap();
        let text = made["token"].as_str().unwrap();
        self.app.service.authenticate(text, Origin::default()).await.unwrap()
    }
}

/// Returns the endpoints of the `OpenAPI` document, by the name of the operation.
fn endpoints(document: &Value) -> BTreeMap<String, Endpoint> {
    let mut endpoints = BTreeMap::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        if SECOND_WAYS.contains(&path.as_str()) {
            continue;
        }
        for operation in methods.as_object().unwrap().values() {
            let name = operation["x-operation"].as_str().unwrap().to_owned();
            let endpoint = Endpoint {
                path: parameters(operation, "path").map(|it| field(&name, it)).collect(),
                query: parameters(operation, "query").map(str::to_owned).collect(),
            };
            let before = endpoints.insert(name, endpoint);
            assert!(before.is_none(), "{path}: a second way");
        }
    }
    endpoints
}

fn parameters<'a>(operation: &'a Value, place: &'a str) -> impl Iterator<Item = &'a str> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters.filter(move |it| it["in"] == place).map(|it| it["name"].as_str().unwrap())
}

/// Returns the input field in the registry that corresponds to a path parameter of an endpoint,
/// such as `project` for `projectId`.
fn field(operation: &str, parameter: &str) -> &'static str {
    match (parameter, operation.split('.').next().unwrap()) {
        ("projectId", _) => "project",
        ("environmentId", _) => "environment",
        ("teamId", _) => "team",
        ("userId", _) => "user",
        ("invitationId", _) => "invitation",
        ("rotationName", _) => "rotation",
        ("webhookId", _) => "webhook",
        ("deliveryId", _) => "delivery",
        ("findingId", _) => "finding",
        ("userCode", _) => "user_code",
        ("key", _) => "key",
        ("token", _) | ("id", "token") => "token",
        ("id", "scan" | "finding") => "scan",
        ("id", "session") => "session",
        other => panic!("{other:?}: unknown parameter"),
    }
}

#[tokio::test]
async fn the_registry_and_the_endpoints_name_the_same_operations() {
    let tried = Tried::new().await;

    let served: BTreeSet<_> = tried.endpoints.keys().map(String::as_str).collect();
    let named: BTreeSet<_> = registry::NAMES.iter().copied().collect();

    assert_eq!(named.len(), registry::NAMES.len(), "a name stands there twice");
    let of_http: BTreeSet<_> = OF_HTTP.iter().copied().collect();
    assert_eq!(named.union(&of_http).copied().collect::<BTreeSet<_>>(), served);
}

#[tokio::test]
async fn path_parameters_are_required_fields() {
    let tried = Tried::new().await;

    for (name, endpoint) in tried.shared() {
        for missing in &endpoint.path {
            let others = endpoint.path.iter().filter(|it| it != &missing);
            let input = others.map(|it| ((*it).to_owned(), json!("x"))).collect();
            assert_eq!(tried.faults(name, input).await, [*missing], "{name}");
        }
    }
}

#[tokio::test]
async fn query_parameters_are_fields_of_the_same_name() {
    let tried = Tried::new().await;

    for (name, endpoint) in tried.shared() {
        for wrong in endpoint.query.iter().filter(|query| !is_of_texts(name, query)) {
            let required = ["project", "env", "key"].iter().filter(|_| name.starts_with("eso."));
            let given = endpoint.path.iter().chain(required);
            let mut input: Map<_, _> = given.map(|it| ((*it).to_owned(), json!("x"))).collect();
            input.insert(wrong.clone(), json!({}));
            assert_eq!(tried.faults(name, input).await, [wrong.as_str()], "{name}");
        }
    }
}

/// Returns true if a query parameter of an operation selects a text format. The registry has no
/// such field, because its inputs and outputs are JSON.
fn is_of_texts(name: &str, query: &str) -> bool {
    [("audit.list", "format"), ("secret.import", "format")].contains(&(name, query))
}

#[tokio::test]
async fn unknown_fields_are_refused() {
    let tried = Tried::new().await;
    let input = Map::from_iter([("projekt".to_owned(), json!("x"))]);

    assert_eq!(tried.faults("project.list", input).await, ["body"]);
}

#[tokio::test]
async fn an_unknown_operation_is_not_found() {
    let tried = Tried::new().await;

    let answer = registry::call(&tried.app.service, &tried.alice, "secret.steal", json!({})).await;

    assert_eq!(answer.unwrap_err().kind(), "not_found");
}
