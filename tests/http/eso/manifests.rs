//! Tests of the Kubernetes manifests in `examples/eso`: the fields match the resource definitions
//! of the External Secrets Operator, and the operator can read and write values with them.
//!
//! The definitions are those of version 0.20.4 of the External Secrets Operator. Since version
//! 0.17, `SecretStore` and `ExternalSecret` are served as `v1` only; `PushSecret` is `v1alpha1`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use secrets_tests::{App, Kind, Person, canary, paths};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::operator::{NoValue, Store};

/// Reads the Kubernetes resources in `examples/eso`, sorted by file name.
fn manifests() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/eso");
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let texts = files.iter().map(|file| fs::read_to_string(file).unwrap());
    texts
        .flat_map(|text| {
            let documents = yaml_serde::Deserializer::from_str(&text);
            documents.map(|document| Value::deserialize(document).unwrap()).collect::<Vec<_>>()
        })
        .collect()
}

fn named(kind: &str, name: &str) -> Value {
    let found = manifests()
        .into_iter()
        .find(|resource| resource["kind"] == kind && resource["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("no {kind} {name}"))
}

/// Returns the definition of a kind of Kubernetes resource (`external-secrets.io`), copied from the
/// operator but only with the fields that the examples may use. An object may have only the listed
/// properties; the property `*` stands for any name.
fn definition(version: &str, kind: &str) -> Option<Value> {
    match (version, kind) {
        ("v1", "Secret") => {
            Some(json!({ "properties": { "token": text() }, "required": ["token"] }))
        }
        ("external-secrets.io/v1", "SecretStore") => Some(secret_store()),
        ("external-secrets.io/v1", "ExternalSecret") => Some(external_secret()),
        ("external-secrets.io/v1alpha1", "PushSecret") => Some(push_secret()),
        _ => None,
    }
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn store_reference() -> Value {
    let kinds = json!({ "type": "string", "enum": ["SecretStore", "ClusterSecretStore"] });
    json!({ "properties": { "name": text(), "kind": kinds } })
}

fn secret_store() -> Value {
    let secrets = json!({ "items": {
        "required": ["name", "secretRef"],
        "properties": {
            "name": text(), "secretRef": { "properties": { "name": text(), "key": text() } },
        },
    } });
    let webhook = json!({
        "required": ["url"],
        "properties": {
            "method": text(), "url": text(), "body": text(), "timeout": text(),
            "headers": { "properties": { "*": text() } },
            "result": { "properties": { "jsonPath": text() } },
            "secrets": secrets,
        },
    });
    json!({
        "properties": {
            "provider": { "required": ["webhook"], "properties": { "webhook": webhook } },
        },
        "required": ["provider"],
    })
}

fn external_secret() -> Value {
    let reference = json!({
        "properties": { "key": text(), "version": text(), "property": text() }, "required": ["key"],
    });
    let policy = json!({ "type": "string", "enum": ["Delete", "Merge", "Retain"] });
    json!({ "properties": {
        "refreshInterval": text(),
        "secretStoreRef": store_reference(),
        "target": { "properties": { "name": text(), "deletionPolicy": policy } },
        "data": { "items": {
            "required": ["secretKey", "remoteRef"],
            "properties": { "secretKey": text(), "remoteRef": reference },
        } },
        "dataFrom": { "items": { "properties": { "extract": reference } } },
    } })
}

fn push_secret() -> Value {
    let matched = json!({
        "required": ["remoteRef"],
        "properties": {
            "secretKey": text(),
            "remoteRef": {
                "required": ["remoteKey"],
                "properties": { "remoteKey": text(), "property": text() },
            },
        },
    });
    json!({
        "required": ["secretStoreRefs", "selector"],
        "properties": {
            "refreshInterval": text(),
            "deletionPolicy": { "type": "string", "enum": ["Delete", "None"] },
            "secretStoreRefs": { "items": store_reference() },
            "selector": { "properties": { "secret": { "properties": { "name": text() } } } },
            "data": { "items": { "required": ["match"], "properties": { "match": matched } } },
        },
    })
}

/// Returns a message for each field of a value that violates a resource definition. `at` is the
/// path of the value, for the messages.
fn violations(at: &str, definition: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(items) = definition.get("items") {
        let Some(list) = value.as_array() else { return vec![format!("{at}: not a list")] };
        for (index, item) in list.iter().enumerate() {
            found.extend(violations(&format!("{at}[{index}]"), items, item));
        }
    } else if let Some(properties) = definition.get("properties") {
        let Some(object) = value.as_object() else { return vec![format!("{at}: not an object")] };
        for (name, inner) in object {
            match properties.get(name).or_else(|| properties.get("*")) {
                Some(property) => {
                    found.extend(violations(&format!("{at}.{name}"), property, inner));
                }
                None => found.push(format!("{at}.{name}: unknown field")),
            }
        }
        let required = definition.get("required").and_then(Value::as_array).into_iter().flatten();
        let missing = required.filter_map(Value::as_str).filter(|name| !object.contains_key(*name));
        found.extend(missing.map(|name| format!("{at}.{name}: missing")));
    } else {
        let allowed = definition.get("enum").and_then(Value::as_array);
        if !value.is_string() || allowed.is_some_and(|allowed| !allowed.contains(value)) {
            found.push(format!("{at}: {value} is not allowed"));
        }
    }
    found
}

#[test]
fn the_manifests_have_the_fields_that_the_operator_requires() {
    let resources = manifests();
    assert_eq!(resources.len(), 8);

    for resource in &resources {
        let (version, kind) =
            (resource["apiVersion"].as_str().unwrap(), resource["kind"].as_str().unwrap());
        let definition = definition(version, kind).unwrap_or_else(|| panic!("{version} {kind}"));
        let part = if kind == "Secret" { "stringData" } else { "spec" };
        let at = format!("{kind} {}", resource["metadata"]["name"]);
        assert_eq!(violations(&at, &definition, &resource[part]), [""; 0], "{at}");
    }
}

#[test]
fn a_secret_of_a_store_has_the_label_and_a_token_that_can_be_a_header() {
    for secret in manifests().iter().filter(|resource| resource["kind"] == "Secret") {
        assert_eq!(secret["metadata"]["labels"]["external-secrets.io/type"], "webhook");
        assert_eq!(secret["stringData"]["token"], "env_REPLACE_ME");
    }
}

#[test]
fn every_store_and_secret_that_is_named_exists() {
    for resource in manifests() {
        let spec = &resource["spec"];
        let secrets = spec["provider"]["webhook"]["secrets"].as_array().into_iter().flatten();
        let secrets = secrets.map(|secret| ("Secret", &secret["secretRef"]["name"]));
        let stores = spec["secretStoreRefs"].as_array().into_iter().flatten();
        let stores = stores.chain(spec.get("secretStoreRef"));
        let stores = stores.map(|store| ("SecretStore", &store["name"]));
        let references: Vec<_> = secrets.chain(stores).collect();

        // Each store names a secret, and each other resource names a store.
        let is_secret = resource["kind"] == "Secret";
        assert_eq!(references.is_empty(), is_secret, "{}", resource["metadata"]);
        for (kind, name) in references {
            named(kind, name.as_str().unwrap());
        }
    }
}

/// Starts a server, and creates the project `web-api` of the manifests, with one secret. Returns
/// the server, the owner of the project, and the path of the project.
async fn world() -> (App, Person, String) {
    let app = App::start(Kind::Memory).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web API").await;
    alice.secret(&web, "production", "DATABASE_URL", &canary("eso")).await;
    (app, alice, web)
}

/// Returns the `SecretStore` with this name in the manifests, changed so that its requests go to
/// the test server with this service token.
fn store(app: &App, name: &str, token: &str) -> Store {
    let auth = BTreeMap::from([("token".to_owned(), token.to_owned())]);
    Store {
        webhook: named("SecretStore", name)["spec"]["provider"]["webhook"].clone(),
        secrets: BTreeMap::from([("auth".to_owned(), auth)]),
        client: app.anonymous(),
    }
}

async fn reader(alice: &Person) -> String {
    alice.token(&json!({ "project_ids": ["web-api"], "environments": ["production"] })).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_external_secret_gets_all_keys_or_one() {
    let (app, alice, web) = world().await;
    alice.secret(&web, "production", "EMPTY", "").await;
    let token = reader(&alice).await;
    let all = named("ExternalSecret", "web-api")["spec"].clone();
    let one = named("ExternalSecret", "db-url")["spec"].clone();
    let environment = all["dataFrom"][0]["extract"]["key"].as_str().unwrap();
    let key = one["data"][0]["remoteRef"]["key"].as_str().unwrap();

    let values = store(&app, "secrets", &token).values(environment).await;
    let value = store(&app, "secrets-single", &token).value(key).await;

    let expected = json!({ "DATABASE_URL": canary("eso"), "EMPTY": "" });
    assert_eq!(Value::Object(values.unwrap()), expected);
    assert_eq!(value.unwrap(), canary("eso"));
    assert_eq!(all["secretStoreRef"]["name"], "secrets");
    assert_eq!(one["secretStoreRef"]["name"], "secrets-single");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_404_means_missing_for_the_operator() {
    let (app, alice, _web) = world().await;
    let token = reader(&alice).await;

    let typo = store(&app, "secrets", &token).values("prodution").await;
    let key = store(&app, "secrets-single", &token).value("A&B C").await;
    let outside = store(&app, "secrets", &token).values("staging").await;
    let refused = store(&app, "secrets", "env_wrong").values("production").await;

    assert_eq!(typo.unwrap_err(), NoValue::Missing);
    assert_eq!(key.unwrap_err(), NoValue::Missing);
    assert_eq!(outside.unwrap_err(), NoValue::Failed(403));
    assert_eq!(refused.unwrap_err(), NoValue::Failed(401));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_secret_creates_and_updates_a_key() {
    let (app, alice, web) = world().await;
    let scope = json!({
        "project_ids": ["web-api"], "environments": ["production"], "permissions": ["write"],
    });
    let token = alice.token(&scope).await;
    let push = named("PushSecret", "web-api-database")["spec"].clone();
    let key = push["data"][0]["match"]["remoteRef"]["remoteKey"].as_str().unwrap();
    let name = push["secretStoreRefs"][0]["name"].as_str().unwrap();

    for value in ["kvc_first", "kvc_\"quoted\" \\ and\nof two lines"] {
        store(&app, name, &token).push(key, value).await.unwrap();

        let secret = alice.get(&paths::secret(&web, "production", key)).await.is(200).json();
        assert_eq!(secret["secret"]["value"], value);
    }
    let reader = reader(&alice).await;
    assert_eq!(store(&app, name, &reader).push(key, "x").await, Err(NoValue::Failed(403)));
}
