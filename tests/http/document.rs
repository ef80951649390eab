//! Tests that the `OpenAPI` 3.1 document matches the routes of the server.

use std::collections::BTreeSet;

use secrets_core::runtime::Supervisor;
use secrets_http::openapi::document;
use secrets_http::routes;
use secrets_http::serve::reply::Envelope;
use secrets_tests::{App, Kind, paths};
use serde_json::{Map, Value};

/// Operation in the `OpenAPI` document: its method, its path, and the object that describes it.
type Described<'a> = (String, &'a str, &'a Map<String, Value>);

/// Returns the `OpenAPI` document, and each route of the server: its method, its path template, and
/// true if it needs no credential.
async fn document_and_routes() -> (Value, Vec<(String, &'static str, bool)>) {
    let app = App::start(Kind::Memory).await;
    let table = routes::table(&app.api(), &Supervisor::new(Vec::new()));
    let served = table
        .iter()
        .map(|route| (route.method.to_string(), route.template, route.callers.is_none()))
        .collect();
    // `document` panics if two types have the same name.
    (document(&table, Envelope::Named), served)
}

fn operations(document: &Value) -> Vec<Described<'_>> {
    let paths = document["paths"].as_object().unwrap();
    let methods = paths.iter().flat_map(|(path, methods)| {
        methods
            .as_object()
            .unwrap()
            .iter()
            .map(move |(method, operation)| (method, path, operation))
    });
    methods
        .map(|(method, path, operation)| {
            (method.to_uppercase(), &**path, operation.as_object().unwrap())
        })
        .collect()
}

/// Iterates over the descriptions of the body of a request or response (`message`), by media type.
fn contents(message: &Value) -> impl Iterator<Item = (&String, &Value)> {
    message["content"].as_object().into_iter().flatten()
}

#[tokio::test]
async fn the_document_describes_exactly_the_served_endpoints() {
    let (document, served) = document_and_routes().await;
    let described: BTreeSet<_> =
        operations(&document).into_iter().map(|(method, path, _)| (method, path)).collect();
    let served: BTreeSet<_> = served
        .into_iter()
        .filter(|(_, template, _)| {
            template.starts_with("/api/v1") || template.starts_with("/health")
        })
        .map(|(method, template, _)| (method, template))
        .collect();

    assert!(described.len() > 70, "{described:?}");
    assert_eq!(described, served);
}

#[tokio::test]
async fn each_operation_has_a_summary_and_a_successful_response() {
    let (document, _) = document_and_routes().await;

    for (method, path, operation) in operations(&document) {
        let place = format!("{method} {path}");
        assert!(!operation["summary"].as_str().unwrap().is_empty(), "{place}");
        let answers = operation["responses"].as_object().unwrap();
        assert!(answers.keys().any(|status| status.starts_with('2')), "{place}");
        assert!(answers.values().all(|answer| answer["description"] != ""), "{place}");
    }
}

#[tokio::test]
async fn an_operation_needs_no_credential_in_the_document_where_it_needs_none() {
    let (document, served) = document_and_routes().await;

    assert_eq!(document["security"], serde_json::json!([{ "bearer": [] }]));
    for (method, path, operation) in operations(&document) {
        let route = served.iter().find(|(known, at, _)| *known == method && *at == path).unwrap();
        let is_public = operation.get("security") == Some(&serde_json::json!([]));
        assert_eq!(is_public, route.2, "{method} {path}");
        let refused = operation["responses"].get("401").is_some();
        assert_eq!(refused, !is_public, "{method} {path}");
    }
}

#[tokio::test]
async fn each_body_in_json_has_an_example() {
    let (document, _) = document_and_routes().await;
    let mut examples = 0;

    for (method, path, operation) in operations(&document) {
        let answers = operation["responses"].as_object().unwrap().iter();
        let request = operation.get("requestBody").map(|body| ("request", body));
        let messages = answers.map(|(status, answer)| (&**status, answer)).chain(request);
        for (name, message) in messages.filter(|(name, _)| !name.starts_with(['4', '5'])) {
            for (media, content) in contents(message) {
                if media == "application/json" {
                    assert!(!content["example"].is_null(), "{method} {path}: {name}");
                    examples += 1;
                }
            }
        }
    }
    assert!(examples > 70);
}

#[tokio::test]
async fn each_operation_may_be_refused_for_its_method_and_has_the_headers_of_its_rate() {
    let (document, _) = document_and_routes().await;

    for (method, path, operation) in operations(&document) {
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.contains_key("405"), "{method} {path}");
        let (_, good) = responses.iter().next().unwrap();
        for header in ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"] {
            assert!(good["headers"][header].is_object(), "{method} {path}: {header}");
        }
    }
}

#[tokio::test]
async fn no_example_repeats_the_name_of_its_field() {
    let (document, _) = document_and_routes().await;
    let mut parts: Vec<&Value> = Vec::new();
    for (_, _, operation) in operations(&document) {
        let responses = operation["responses"].as_object().unwrap().values();
        for message in responses.chain(operation.get("requestBody")) {
            parts.extend(contents(message).map(|(_, content)| &content["example"]));
        }
    }
    assert!(parts.len() > 90, "{}", parts.len());

    while let Some(part) = parts.pop() {
        match part {
            Value::Object(fields) => {
                for (name, value) in fields {
                    assert_ne!(value.as_str(), Some(name.as_str()), "{part}");
                    parts.push(value);
                }
            }
            Value::Array(items) => parts.extend(items),
            _ => {}
        }
    }
}

#[tokio::test]
async fn each_operation_has_a_short_id_of_its_own_in_camel_case() {
    let (document, _) = document_and_routes().await;
    let operations = operations(&document);

    let ids: BTreeSet<_> = operations
        .iter()
        .map(|(.., operation)| operation["operationId"].as_str().unwrap())
        .collect();

    assert_eq!(ids.len(), operations.len());
    for id in ids {
        assert!((4..=40).contains(&id.len()), "{id}");
        assert!(id.starts_with(|first: char| first.is_ascii_lowercase()), "{id}");
        assert!(id.chars().all(|letter| letter.is_ascii_alphabetic()), "{id}");
    }
}

#[tokio::test]
async fn each_operation_has_one_described_tag() {
    let (document, _) = document_and_routes().await;
    let tags = document["tags"].as_array().unwrap();
    assert!(tags.iter().all(|tag| tag["description"].as_str().unwrap().ends_with('.')));
    let names: BTreeSet<_> = tags.iter().map(|tag| tag["name"].as_str().unwrap()).collect();

    let operations = operations(&document);
    let used: BTreeSet<_> = operations
        .iter()
        .flat_map(|(.., operation)| operation["tags"].as_array().unwrap())
        .map(|tag| tag.as_str().unwrap())
        .collect();

    assert_eq!(used, names);
}

/// Names of the schemas with fields in the API specification that the service implements.
const SPECIFIED_SCHEMAS: [&str; 28] = [
    "Error",
    "LimitError",
    "HealthResponse",
    "User",
    "Team",
    "TeamWithMembers",
    "TeamMember",
    "TeamInvitation",
    "InvitationPublicInfo",
    "CreateTeamRequest",
    "InviteMemberRequest",
    "UpdateMemberRoleRequest",
    "Project",
    "ProjectWithEnvironments",
    "CreateProjectRequest",
    "UpdateProjectRequest",
    "Environment",
    "Secret",
    "SecretWithInheritance",
    "SecretWithValue",
    "SecretWithValueAndInheritance",
    "CreateSecretRequest",
    "UpdateSecretRequest",
    "BulkImportRequest",
    "BulkImportResult",
    "RotationConfigResponse",
    "ESOSecretResponse",
    "ESOSecretsResponse",
];

#[tokio::test]
async fn schemas_have_the_names_of_the_specification() {
    let (document, _) = document_and_routes().await;
    let schemas = document["components"]["schemas"].as_object().unwrap();

    for name in SPECIFIED_SCHEMAS.into_iter().chain(["RotationHistory", "RotationWebhook"]) {
        assert!(schemas.contains_key(name), "{name}");
    }
}

#[tokio::test]
async fn each_reference_has_a_target_and_no_list_has_items_without_a_name() {
    let (document, _) = document_and_routes().await;
    let mut parts = vec![("document".to_owned(), &document)];

    while let Some((place, part)) = parts.pop() {
        if let Some(target) = part["$ref"].as_str() {
            let target = target.strip_prefix('#').unwrap();
            assert!(document.pointer(target).is_some(), "{place}: {target}");
        }
        assert!(part["items"]["properties"].is_null(), "{place}");
        match part {
            Value::Object(fields) => {
                parts.extend(fields.iter().map(|(name, part)| (format!("{place}.{name}"), part)));
            }
            Value::Array(items) => parts.extend(items.iter().map(|item| (place.clone(), item))),
            _ => {}
        }
    }
}

#[tokio::test]
async fn an_optional_field_of_a_response_is_never_null() {
    let (document, _) = document_and_routes().await;
    let (mut requested, mut returned) = (BTreeSet::new(), BTreeSet::new());
    for (_, _, operation) in operations(&document) {
        let parts = [operation.get("requestBody"), operation.get("responses")];
        for (part, names) in parts.into_iter().zip([&mut requested, &mut returned]) {
            if let Some(part) = part {
                collect(part, &document, names);
            }
        }
    }
    let mut optional = 0;

    for name in returned.difference(&requested) {
        let schema = &document["components"]["schemas"][name.as_str()];
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (field, rule) in schema["properties"].as_object().into_iter().flatten() {
            if !required.contains(&field.as_str().into()) {
                assert!(!rule.to_string().contains("\"null\""), "{name}.{field}: {rule}");
                optional += 1;
            }
        }
    }

    assert!(optional > 80, "{optional}");
}

/// Adds the names of the schemas that a part of the `OpenAPI` document refers to, directly or
/// through other schemas, to `names`.
fn collect(part: &Value, document: &Value, names: &mut BTreeSet<String>) {
    let reference = part["$ref"].as_str();
    if let Some(place) = reference.and_then(|place| place.strip_prefix('#')) {
        let is_new = names.insert(paths::last(place).to_owned());
        if is_new {
            collect(document.pointer(place).unwrap(), document, names);
        }
    }
    match part {
        Value::Object(fields) => fields.values().for_each(|part| collect(part, document, names)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, document, names)),
        _ => {}
    }
}

#[tokio::test]
async fn only_secrets_that_are_read_have_a_value() {
    let (document, _) = document_and_routes().await;
    let schema = |name: &str| document["components"]["schemas"][name].clone();

    for name in ["Secret", "SecretWithInheritance"] {
        assert!(schema(name)["properties"]["value"].is_null(), "{name}");
    }
    for name in ["SecretWithValue", "SecretWithValueAndInheritance"] {
        let required = schema(name)["required"].clone();
        assert!(required.as_array().unwrap().contains(&"value".into()), "{name}: {required}");
    }
}
