//! Tests of the audit entries for values that a change set reads: values that it copies, and stored
//! values that it compares with new ones.

use secrets_core::engine::Options;
use secrets_tests::{Build, Kind};

use super::*;

/// Returns the number of audit entries with this action in a team's audit log.
async fn recorded(app: &App, team: &str, action: &str) -> usize {
    app.actions(team).await.iter().filter(|recorded| *recorded == action).count()
}

async fn a_copy_is_recorded_in_the_environment_that_the_value_leaves(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", Some("production")).await;
    for (environment, key) in
        [("production", "FAR"), ("preview", "OWN"), ("staging", "SAME"), ("development", "SAME")]
    {
        alice.secret(&web, environment, key, "kvc_one").await;
    }

    let copies = [
        copy("preview", "staging", "FAR"),
        copy("preview", "development", "OWN"),
        // This value stays where it is, because the other environment already has it.
        copy("staging", "development", "SAME"),
    ];
    plan(&alice, &web, &copies).await.is(200);
    assert_eq!(recorded(&app, &alice.team, "secrets.exported").await, 0);
    change(&alice, &web, &copies).await.is(200);

    let entry = app.entry(&alice.team, "secrets.exported").await;
    assert_eq!(entry.project_name.as_deref(), Some("Web"));
    assert_eq!(entry.environment_name.as_deref(), Some("preview"));
    let details: Value = serde_json::from_str(&entry.metadata).unwrap();
    assert_eq!(
        details,
        json!({
            "count": 2, "inherited_count": 1, "format": "copy",
            "copied_to": ["development", "staging"],
        })
    );
}

async fn a_comparison_without_a_change_is_recorded(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for (environment, key) in [("staging", "KEY"), ("production", "KEY"), ("development", "OTHER")]
    {
        alice.secret(&web, environment, key, "kvc_one").await;
    }

    let changes = [
        set("staging", "KEY", "kvc_one"),
        copy("staging", "production", "KEY"),
        // A changed secret has an entry of its own.
        set("development", "OTHER", "kvc_two"),
    ];
    change(&alice, &web, &changes).await.is(200);

    let entry = app.entry(&alice.team, "secrets.compared").await;
    assert_eq!(entry.project_name.as_deref(), Some("Web"));
    assert_eq!(entry.environment, None);
    assert_eq!(entry.metadata, r#"{"count":2,"environments":["production","staging"]}"#);
    assert_eq!(recorded(&app, &alice.team, "secrets.exported").await, 0);
    change(&alice, &web, &changes[..1]).await.is(200);
    assert_eq!(recorded(&app, &alice.team, "secrets.compared").await, 2);
}

async fn a_change_without_a_comparison_of_values_is_not_recorded_as_one(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_one").await;
    let scope = json!({ "all_projects": true, "permissions": ["write"] });
    let writer = app.bearer(&alice.token(&scope).await);

    change(&writer, &web, &[set("staging", "KEY", "kvc_one")]).await.is(200);
    for _ in 0..2 {
        change(&alice, &web, &[simple("hide", "staging", "KEY")]).await.is(200);
    }

    assert_eq!(recorded(&app, &alice.team, "secrets.compared").await, 0);
}

async fn a_dry_run_that_compares_values_is_recorded(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for (environment, key) in [("staging", "KEY"), ("production", "KEY"), ("staging", "OTHER")] {
        alice.secret(&web, environment, key, "kvc_one").await;
    }
    let before = app.actions(&alice.team).await.len();

    // Right and wrong guesses, a copy, and changes that compare no value.
    let changes = [
        set("staging", "KEY", "kvc_one"),
        set("staging", "OTHER", "kvc_two"),
        copy("staging", "production", "KEY"),
        set("development", "NEW", "kvc_one"),
        simple("hide", "development", "KEY"),
    ];
    plan(&alice, &web, &changes[3..]).await.is(200);
    assert_eq!(app.actions(&alice.team).await.len(), before);
    plan(&alice, &web, &changes).await.is(200);

    let entry = app.entry(&alice.team, "secrets.compared").await;
    assert_eq!((entry.project_name.as_deref(), entry.environment), (Some("Web"), None));
    assert_eq!(entry.metadata, r#"{"count":3,"environments":["production","staging"]}"#);
    assert_eq!(app.actions(&alice.team).await.len(), before + 1);
}

async fn comparisons_may_be_left_out_and_copies_never(kind: Kind) {
    let app =
        Build::on(kind).options(Options { audit_reads: false, ..Options::default() }).start().await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_one").await;

    let changes = [set("staging", "KEY", "kvc_one"), copy("staging", "production", "KEY")];
    change(&alice, &web, &changes).await.is(200);

    assert_eq!(recorded(&app, &alice.team, "secrets.compared").await, 0);
    assert_eq!(recorded(&app, &alice.team, "secrets.exported").await, 1);
}

on_every_store![
    a_copy_is_recorded_in_the_environment_that_the_value_leaves,
    a_comparison_without_a_change_is_recorded,
    a_change_without_a_comparison_of_values_is_not_recorded_as_one,
    a_dry_run_that_compares_values_is_recorded,
    ;
    comparisons_may_be_left_out_and_copies_never,
];
