//! Tests of the API documentation page.

use secrets_tests::{App, in_memory};

async fn the_page_loads_nothing_from_other_origins(app: App) {
    let reader = app.anonymous();

    let page = reader.get("/api/docs").await;

    page.is(200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
    let text = page.text();
    let loaded: Vec<_> =
        text.split('"').filter(|part| part.starts_with("docs/") || part.contains("//")).collect();
    assert_eq!(loaded.len(), 3, "{loaded:?}");
    for file in loaded {
        let reply = reader.get(&format!("/api/{file}")).await;
        assert!(!reply.is(200).body.is_empty());
        let kind = reply.header("content-type").unwrap();
        assert!(["text/css", "text/javascript"].contains(&kind), "{file}: {kind}");
    }
}

async fn no_other_file_is_given(app: App) {
    for file in ["index.html", "nonsense", "swagger-ui.css.map", "..%2Fopenapi.json"] {
        let status = app.anonymous().get(&format!("/api/docs/{file}")).await.status;
        assert!([400, 404].contains(&status), "{file}: {status}");
    }
}

async fn the_document_is_the_same_for_everyone(app: App) {
    let alice = app.person("alice").await;

    let document = app.anonymous().get("/api/v1/openapi.json").await.is(200).json();

    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], "1.0.0");
    assert_eq!(alice.get("/api/v1/openapi.json").await.is(200).json(), document);
}

in_memory!(
    the_page_loads_nothing_from_other_origins,
    no_other_file_is_given,
    the_document_is_the_same_for_everyone,
);
