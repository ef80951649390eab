//! Tests of audit entries for reads of secret values: one entry for each read, committed before the
//! response is sent.

use chrono::TimeDelta;
use secrets_core::audit;
use secrets_core::engine::Options;
use secrets_tests::{App, Build, Failing, Kind, Outage, Person, in_memory_and_on_postgres, paths};
use serde_json::json;

/// Creates a project of the user Alice with a secret in the environment `production`, and the
/// environment `child`, which inherits from `production`.
async fn world(app: &App) -> (Person, String) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "child", Some("production")).await;
    alice.secret(&web, "production", "KEY", "kvc_value").await;
    (alice, web)
}

async fn reading_a_secret_is_recorded_with_version_and_origin(app: App) {
    let (alice, web) = world(&app).await;

    alice.get(&paths::secret(&web, "child", "KEY")).await.is(200);

    let entry = app.entry(&alice.team, "secret.read").await;
    assert_eq!(entry.resource_name.as_deref(), Some("KEY"));
    assert_eq!(entry.environment_name.as_deref(), Some("child"));
    assert_eq!(entry.metadata, r#"{"inherited_from":"production","version":1}"#);
}

async fn an_export_is_one_entry_with_its_counts(app: App) {
    let (alice, web) = world(&app).await;
    alice.secret(&web, "child", "OWN", "kvc_own").await;

    alice.get(&paths::secret(&web, "child", "export")).await.is(200);

    let entry = app.entry(&alice.team, "secrets.exported").await;
    assert_eq!(entry.metadata, r#"{"count":2,"format":"list","inherited_count":1}"#);
}

async fn an_export_as_text_is_recorded_with_its_format(app: App) {
    let (alice, web) = world(&app).await;

    for format in ["dotenv", "json", "k8s"] {
        alice.get(&paths::secret(&web, "child", &format!("export?format={format}"))).await.is(200);
        app.wait(TimeDelta::seconds(1));
    }

    let mut exported = app.audit(&alice.team).await;
    exported.retain(|entry| entry.action == "secrets.exported");
    let details: Vec<_> = exported.iter().map(|entry| entry.metadata.as_str()).collect();
    assert_eq!(
        details,
        [
            r#"{"count":1,"format":"k8s","inherited_count":1}"#,
            r#"{"count":1,"format":"json","inherited_count":1}"#,
            r#"{"count":1,"format":"dotenv","inherited_count":1}"#,
        ]
    );
}

async fn an_operators_reads_are_recorded_with_its_token(app: App) {
    let (alice, web) = world(&app).await;
    let body = json!({ "name": "operator", "all_projects": true });
    let token = alice.post("/api/v1/tokens", &body).await.is(201).json();
    let operator = app.bearer(token["token"].as_str().unwrap());

    operator.get(&paths::eso_secret("web", "child", "KEY")).await.is(200);
    operator.get(&paths::eso_secrets("web", "child")).await.is(200);

    for (action, details) in [
        ("eso.secret_read", r#"{"inherited_from":"production","version":1}"#),
        ("eso.secrets_read", r#"{"count":1,"inherited_count":1}"#),
    ] {
        let entry = app.entry(&alice.team, action).await;
        assert_eq!(entry.actor_type, "service_token");
        assert_eq!(entry.actor_id.map(|id| id.to_string()).as_deref(), token["id"].as_str());
        assert_eq!(entry.actor_name.as_deref(), Some("operator"));
        assert_eq!(entry.project_name.as_deref(), Some("Web"));
        assert_eq!(entry.metadata, details);
    }
    assert!(
        web.ends_with(
            &app.entry(&alice.team, "eso.secret_read").await.project.unwrap().to_string()
        )
    );
}

async fn reads_without_values_are_not_recorded(app: App) {
    let (alice, web) = world(&app).await;
    let before = app.actions(&alice.team).await;

    alice.get(&paths::secrets(&web, "production")).await.is(200);
    alice.get(&paths::secret(&web, "production", "NONE")).await.is(404);
    alice.get(&web).await.is(200);
    alice.get("/api/v1/teams").await.is(200);
    alice.get("/api/v1/tokens").await.is(200);
    alice.get("/api/v1/users/me").await.is(200);

    assert_eq!(app.actions(&alice.team).await, before);
}

async fn reads_at_the_same_time_have_an_entry_each(app: App) {
    let (alice, web) = world(&app).await;
    let path = paths::secret(&web, "production", "KEY");

    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let (client, path) = (app.bearer(&app.jwt("alice")), path.clone());
        readers.spawn(async move { client.get(&path).await.status });
    }
    let statuses = readers.join_all().await;

    assert_eq!(statuses, [200; 50]);
    let reads = app.actions(&alice.team).await.into_iter().filter(|action| action == "secret.read");
    assert_eq!(reads.count(), 50);
}

async fn a_value_is_not_returned_if_its_read_cannot_be_recorded(app: App) {
    let (alice, web) = world(&app).await;
    let outage = Outage::of(&app.store);
    let server = app.over(outage.clone()).await;
    let token = server.bearer(&alice.token(&json!({ "all_projects": true })).await);
    let paths = [
        paths::secret(&web, "production", "KEY"),
        paths::secret(&web, "production", "export"),
        paths::eso_secret("web", "production", "KEY"),
        paths::eso_secrets("web", "production"),
    ];

    outage.begin(Failing::Writes);

    for path in paths {
        let reply = token.get(&path).await;
        let error = "the service is not available now, try again later";
        assert_eq!(reply.is(503).json(), json!({ "error": error, "code": "unavailable" }));
        assert_eq!(reply.header("retry-after"), Some("5"));
    }
    let health = server.anonymous().get("/health").await.is(503).json();
    assert_eq!(health["checks"]["audit"], "fail");
    audit::probe(server.service.engine()).await;
    server.anonymous().get("/health").await.is(503);

    outage.begin(Failing::Nothing);
    audit::probe(server.service.engine()).await;
    server.anonymous().get("/health").await.is(200);
    token.get(&paths::secret(&web, "production", "KEY")).await.is(200);
}

async fn single_reads_may_be_left_out_and_exports_never(kind: Kind) {
    let app =
        Build::on(kind).options(Options { audit_reads: false, ..Options::default() }).start().await;
    let (alice, web) = world(&app).await;
    let token = app.bearer(&alice.token(&json!({ "all_projects": true })).await);
    let before = app.actions(&alice.team).await.len();

    alice.get(&paths::secret(&web, "production", "KEY")).await.is(200);
    token.get(&paths::eso_secret("web", "production", "KEY")).await.is(200);
    assert_eq!(app.actions(&alice.team).await.len(), before);

    alice.get(&paths::secret(&web, "production", "export")).await.is(200);
    token.get(&paths::eso_secrets("web", "production")).await.is(200);
    app.entry(&alice.team, "secrets.exported").await;
    app.entry(&alice.team, "eso.secrets_read").await;
}

in_memory_and_on_postgres![
    reading_a_secret_is_recorded_with_version_and_origin,
    an_export_is_one_entry_with_its_counts,
    an_export_as_text_is_recorded_with_its_format,
    an_operators_reads_are_recorded_with_its_token,
    reads_without_values_are_not_recorded,
    reads_at_the_same_time_have_an_entry_each,
    a_value_is_not_returned_if_its_read_cannot_be_recorded;
    single_reads_may_be_left_out_and_exports_never,
];
