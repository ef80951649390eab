//! People who sign in, and service tokens that end while they are used.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use secrets_core::jwt::DEV_ISSUER;
use secrets_tests::{App, Client, Reply, paths};
use serde_json::json;

use super::{CROWD, Crowd, count, outcome};

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

async fn a_token_proves_nothing_once_it_is_deleted(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    person.secret(&project, "development", "KEY", "kvc_race").await;
    let body = json!({ "name": "race", "team_id": person.team, "all_projects": true });
    let token = person.post("/api/v1/tokens", &body).await.is(201).json();
    let crowd = Crowd::of(&app, token["token"].as_str().unwrap()).await;
    let deletion = format!("/api/v1/tokens/{}", token["id"].as_str().unwrap());
    let (owner, deleted) = (Arc::new(person), Arc::new(AtomicBool::new(false)));

    let late = crowd
        .race(|number, client| {
            let (deletion, owner) = (deletion.clone(), Arc::clone(&owner));
            let path = paths::eso_secret(&project, "development", "KEY");
            let deleted = Arc::clone(&deleted);
            async move {
                if number > 0 {
                    return read_until_gone(&client, &path, &deleted).await;
                }
                owner.delete(&deletion).await.is(204);
                deleted.store(true, Ordering::SeqCst);
                Vec::new()
            }
        })
        .await;

    for reply in late.iter().flatten() {
        reply.is(401).code("unauthorized");
    }
    assert!(late.iter().skip(1).all(|replies| !replies.is_empty()));
}

async fn of_many_deletions_of_a_token_one_happens(app: App) {
    let person = app.person("ann").await;
    let body = json!({ "name": "race", "team_id": person.team, "all_projects": true });
    let token = person.post("/api/v1/tokens", &body).await.is(201).id();
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|_, client| {
            let path = format!("/api/v1/tokens/{token}");
            async move { client.delete(&path).await }
        })
        .await;

    outcome(&replies, (204, 1), (404, 63));
}

secrets_tests::on_every_store!(
    a_new_person_who_signs_in_many_times_gets_one_account_and_one_team,
    teams_of_one_name_get_addresses_of_their_own,
    a_token_proves_nothing_once_it_is_deleted,
    of_many_deletions_of_a_token_one_happens,
);

/// The teams that an answer about a person names, which are the same in each.
fn teams(reply: &Reply) -> serde_json::Value {
    reply.json()["teams"].clone()
}

/// Reads a value until the token is known to be gone, and gives the replies to two reads that
/// began after that.
async fn read_until_gone(client: &Client, path: &str, deleted: &AtomicBool) -> Vec<Reply> {
    let mut late = Vec::new();
    while late.len() < 2 {
        let is_late = deleted.load(Ordering::SeqCst);
        let reply = client.get(path).await;
        // One that was known when it came in may find itself without scope.
        assert!([200, 401, 403].contains(&reply.status), "{}", reply.text());
        if is_late {
            late.push(reply);
        }
    }
    late
}
