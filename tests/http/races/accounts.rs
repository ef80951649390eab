//! Tests of concurrent sign-ins, and of concurrent creation of teams.

use std::collections::BTreeSet;

use secrets_core::jwt::DEV_ISSUER;
use secrets_tests::{App, Reply};
use serde_json::json;

use super::{CROWD, Crowd, count};

async fn a_new_person_who_signs_in_many_times_gets_one_account_and_one_team(app: App) {
    let crowd = Crowd::of(&app, &app.jwt("newcomer")).await;

    let replies = crowd
        .race(|_, client| async move { client.post("/api/v1/auth/sync", &json!({})).await })
        .await;

    assert_eq!(count(&replies, 200), CROWD, "{replies:#?}");
    let people: BTreeSet<_> = replies.iter().map(Reply::id).collect();
    let teams: BTreeSet<_> = replies.iter().map(|reply| teams(reply).to_string()).collect();
    assert_eq!((people.len(), teams.len()), (1, 1));
    let mut reads = app.store.read().await.unwrap();
    let user = reads.user_by_subject(DEV_ISSUER, "newcomer@example.com").await.unwrap().unwrap();
    let memberships = reads.memberships(user.id).await.unwrap();
    assert_eq!(memberships.len(), 1);
    assert!(memberships[0].team.is_personal);
}

async fn a_concurrent_sign_in_does_not_overwrite_a_chosen_name(app: App) {
    let alice = app.person("alice").await;
    let nothing = json!({});

    for round in 0..10 {
        let name = json!({ "name": format!("Alice {round}") });
        let (chosen, synced) = tokio::join!(
            alice.patch("/api/v1/account", &name),
            alice.post("/api/v1/auth/sync", &nothing),
        );
        chosen.is(200);
        synced.is(200);
        assert_eq!(alice.get("/api/v1/users/me").await.json()["name"], name["name"]);
    }
}

async fn teams_of_one_name_get_addresses_of_their_own(app: App) {
    app.person("ann").await;
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies =
        crowd
            .race(|_, client| async move {
                client.post("/api/v1/teams", &json!({ "name": "Shop" })).await
            })
            .await;

    assert_eq!(count(&replies, 201), CROWD, "{replies:#?}");
    let slugs: BTreeSet<_> = replies.iter().map(|reply| reply.json()["slug"].to_string()).collect();
    assert_eq!(slugs.len(), CROWD);
}

secrets_tests::on_every_store!(
    a_concurrent_sign_in_does_not_overwrite_a_chosen_name,
    a_new_person_who_signs_in_many_times_gets_one_account_and_one_team,
    teams_of_one_name_get_addresses_of_their_own,
);

/// Returns the teams in the response to a sign-in of a user. Concurrent sign-ins of a user must all
/// return the same teams.
fn teams(reply: &Reply) -> serde_json::Value {
    reply.json()["teams"].clone()
}
