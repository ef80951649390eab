//! Tests of the manifests of the environments that a change set changes.

use secrets_tests::{App, on_every_store};

use super::{change, copy, plan, set, simple, with};

/// Returns the number of environments whose secrets match their manifest.
async fn matching_environments(app: &App) -> u64 {
    app.service.verify_records().await.unwrap().environments
}

async fn a_change_set_updates_the_manifests(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for key in ["CHANGED", "OLD", "NOTE"] {
        alice.secret(&web, "staging", key, "kvc_one").await;
    }
    assert_eq!(matching_environments(&app).await, 3);

    let changes = [
        set("staging", "CHANGED", "kvc_two"),
        copy("staging", "production", "CHANGED"),
        simple("hide", "staging", "SMTP"),
        simple("delete", "staging", "OLD"),
        with(simple("describe", "staging", "NOTE"), "description", "Read this"),
    ];
    plan(&alice, &web, &changes).await.is(200);
    assert_eq!(matching_environments(&app).await, 3);
    change(&alice, &web, &changes).await.is(200);

    assert_eq!(matching_environments(&app).await, 3);
}

on_every_store!(a_change_set_updates_the_manifests,);
