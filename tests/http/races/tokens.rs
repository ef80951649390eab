//! Tests of service tokens that are deleted, or whose scope loses a project, while they are used or
//! created.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use secrets_tests::{App, Client, Person, Reply, paths};
use serde_json::{Value, json};

use super::{CROWD, Crowd, outcome};

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

async fn of_many_rotations_at_once_one_text_is_left(app: App) {
    let person = app.person("ann").await;
    let body = json!({ "name": "race", "team_id": person.team, "all_projects": true });
    let token = person.post("/api/v1/tokens", &body).await.is(201).json();
    let id = token["id"].as_str().unwrap();
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|_, client| {
            let path = format!("/api/v1/tokens/{id}/rotate");
            async move { client.post(&path, &json!({})).await }
        })
        .await;

    let mut texts = vec![token["token"].as_str().unwrap().to_owned()];
    for reply in &replies {
        texts.push(reply.is(200).json()["token"].as_str().unwrap().to_owned());
    }
    let mut good = 0;
    for text in &texts {
        let status = app.bearer(text).get("/api/v1/users/me").await.status;
        assert!([200, 401].contains(&status));
        good += usize::from(status == 200);
    }
    assert_eq!(good, 1);
}

async fn of_many_rotations_with_grace_two_texts_are_left(app: App) {
    let person = app.person("ann").await;
    let body = json!({ "name": "race", "team_id": person.team, "all_projects": true });
    let id = person.post("/api/v1/tokens", &body).await.is(201).id();
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|_, client| {
            let path = format!("/api/v1/tokens/{id}/rotate");
            async move { client.post(&path, &json!({ "grace_period_seconds": 60 })).await }
        })
        .await;

    let mut good = 0;
    for reply in &replies {
        let text = reply.is(200).json()["token"].as_str().unwrap().to_owned();
        let status = app.bearer(&text).get("/api/v1/users/me").await.status;
        good += usize::from(status == 200);
    }
    assert_eq!(good, 2);
}

async fn a_token_that_is_rotated_and_deleted_is_gone(app: App) {
    let person = app.person("ann").await;
    let mut ids = Vec::new();
    for _ in 0..CROWD / 2 {
        let body = json!({ "name": "race", "team_id": person.team, "all_projects": true });
        ids.push(person.post("/api/v1/tokens", &body).await.is(201).id());
    }
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let path = format!("/api/v1/tokens/{}", ids[number / 2]);
            async move {
                if number % 2 == 0 {
                    return client.delete(&path).await;
                }
                client.post(&format!("{path}/rotate"), &json!({})).await
            }
        })
        .await;

    for pair in replies.chunks(2) {
        pair[0].is(204);
        if pair[1].status == 200 {
            let text = pair[1].json()["token"].as_str().unwrap().to_owned();
            app.bearer(&text).get("/api/v1/users/me").await.is(401);
        } else {
            pair[1].is(404);
        }
    }
    assert!(tokens(&person).await.is_empty());
}

async fn a_token_is_made_for_an_environment_only_while_that_is_there(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    for pair in 0..CROWD / 2 {
        person.environment(&project, &format!("env-{pair}"), None).await;
    }
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let (project, team) = (project.clone(), person.team.clone());
            let environment = format!("env-{}", number / 2);
            async move {
                if number % 2 == 0 {
                    return client.delete(&paths::environment(&project, &environment)).await;
                }
                let id = paths::last(&project);
                let body = json!({
                    "name": "race",
                    "team_id": team,
                    "project_ids": [id],
                    "environments": [environment],
                });
                client.post("/api/v1/tokens", &body).await
            }
        })
        .await;

    for pair in replies.chunks(2) {
        pair[0].is(204);
        if pair[1].status != 201 {
            pair[1].is(400).names("environments[0]");
        }
    }
    for token in tokens(&person).await {
        assert_eq!(token["environment_ids"], json!([]), "what is gone is in no scope");
        assert_eq!(token["all_environments"], false);
    }
}

async fn a_token_is_made_for_a_project_only_while_that_is_there(app: App) {
    let person = app.person("ann").await;
    let mut projects = Vec::new();
    for _ in 0..CROWD / 2 {
        projects.push(person.project("web").await);
    }
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let (project, team) = (projects[number / 2].clone(), person.team.clone());
            async move {
                if number % 2 == 0 {
                    return client.delete(&project).await;
                }
                let id = paths::last(&project);
                let body = json!({ "name": "race", "team_id": team, "project_ids": [id] });
                client.post("/api/v1/tokens", &body).await
            }
        })
        .await;

    for pair in replies.chunks(2) {
        pair[0].is(204);
        if pair[1].status != 201 {
            pair[1].is(400).names("project_ids[0]");
        }
    }
    for token in tokens(&person).await {
        assert_eq!(token["project_ids"], json!([]), "what is gone is in no scope");
        assert_eq!(token["all_projects"], false);
    }
}

secrets_tests::on_every_store!(
    a_token_proves_nothing_once_it_is_deleted,
    of_many_deletions_of_a_token_one_happens,
    of_many_rotations_at_once_one_text_is_left,
    of_many_rotations_with_grace_two_texts_are_left,
    a_token_that_is_rotated_and_deleted_is_gone,
    a_token_is_made_for_an_environment_only_while_that_is_there,
    a_token_is_made_for_a_project_only_while_that_is_there,
);

async fn tokens(person: &Person) -> Vec<Value> {
    let listed = person.get("/api/v1/tokens").await.is(200).json();
    listed["tokens"].as_array().unwrap().clone()
}

/// Reads a secret until another task has deleted the token and set `deleted`. Returns the replies
/// to two reads that began after the deletion.
async fn read_until_gone(client: &Client, path: &str, deleted: &AtomicBool) -> Vec<Reply> {
    let mut late = Vec::new();
    while late.len() < 2 {
        let is_late = deleted.load(Ordering::SeqCst);
        let reply = client.get(path).await;
        // A token that was valid at authentication may have lost its scope since.
        assert!([200, 401, 403].contains(&reply.status), "{}", reply.text());
        if is_late {
            late.push(reply);
        }
    }
    late
}
