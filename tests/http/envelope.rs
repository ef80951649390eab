//! `SECRETS_ENVELOPE=both`: responses contain their content in the named field and again in the
//! field `data`, for clients that read `data`. The bodies of all endpoints are in
//! `endpoints::readings`.

use secrets_http::serve::reply::Envelope;
use secrets_tests::{Build, Kind, in_memory, paths};
use serde_json::json;

async fn an_object_is_also_in_its_own_data_field(kind: Kind) {
    let app = Build::on(kind).envelope(Envelope::Both).start().await;
    let alice = app.person("alice").await;

    let mut made = alice.post("/api/v1/projects", &json!({ "name": "Web" })).await.is(201).json();

    let data = made.as_object_mut().unwrap().remove("data").unwrap();
    assert_eq!(data, made);
    assert_eq!(data["slug"], "web");
}

async fn a_parent_has_one_name_in_both_envelopes(kind: Kind) {
    for envelope in [Envelope::Named, Envelope::Both] {
        let app = Build::on(kind).envelope(envelope).start().await;
        let alice = app.person("alice").await;
        let web = alice.project("Web").await;

        alice.environment(&web, "child", Some("production")).await;

        let reply = alice.get(&paths::environments(&web)).await;
        let environments = reply.is(200).json();
        assert_eq!(
            environments["environments"][3]["inherits_from"],
            environments["environments"][2]["id"]
        );
        assert!(!reply.text().contains("inherits_from_id"));
    }
}

async fn an_error_has_no_data_field(kind: Kind) {
    let app = Build::on(kind).envelope(Envelope::Both).start().await;
    let alice = app.person("alice").await;

    let error = alice.get("/api/v1/projects/unknown").await.is(404).json();

    assert_eq!(error, json!({ "error": "project not found", "code": "not_found" }));
}

async fn the_document_describes_the_envelope_in_force(kind: Kind) {
    let app = Build::on(kind).envelope(Envelope::Both).start().await;

    let document = app.anonymous().get("/api/v1/openapi.json").await.is(200).json();

    assert!(document["info"]["description"].as_str().unwrap().contains("SECRETS_ENVELOPE=both"));
    let schema = |path: &str| {
        let response = &document["paths"][path]["get"]["responses"]["200"];
        response["content"]["application/json"]["schema"].clone()
    };
    assert_eq!(schema("/api/v1/projects")["required"], json!(["projects", "data"]));
    let kinds = [
        ("User", "Caller that is a user."),
        ("TokenSelf", "Caller that is a service token."),
    ]
    .map(|(name, text)| {
        let reference = format!("#/components/schemas/{name}");
        let kind = json!({ "$ref": reference, "description": text });
        let twin =
            json!({ "type": "object", "required": ["data"], "properties": { "data": kind } });
        json!({ "allOf": [kind, twin] })
    });
    assert_eq!(schema("/api/v1/users/me"), json!({ "oneOf": kinds }));
    let eso = json!({ "$ref": "#/components/schemas/ESOSecretResponse" });
    assert_eq!(schema("/api/v1/eso/secret"), eso);
}

in_memory!(;
    an_object_is_also_in_its_own_data_field,
    a_parent_has_one_name_in_both_envelopes,
    an_error_has_no_data_field,
    the_document_describes_the_envelope_in_force,
);
