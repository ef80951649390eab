//! Tests of creating projects concurrently, and of deleting a project while other requests use it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use secrets_tests::{App, Build, Client, Kind, Reply, paths};
use serde_json::json;

use super::{CROWD, Crowd, count};

async fn projects_of_one_name_get_addresses_of_their_own(app: App) {
    let person = app.person("ann").await;
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;
    let team = person.team.clone();

    let replies = crowd
        .race(|_, client| {
            let body = json!({ "name": "Web Shop", "team_id": team });
            async move { client.post("/api/v1/projects", &body).await }
        })
        .await;

    assert_eq!(count(&replies, 201), CROWD, "{replies:#?}");
    let slug = |reply: &Reply| reply.json()["slug"].as_str().unwrap().to_owned();
    let slugs: BTreeSet<_> = replies.iter().map(slug).collect();
    assert_eq!(slugs.len(), CROWD);
    assert!(slugs.contains("web-shop"));
}

async fn of_many_projects_of_a_given_address_one_is_made(app: App) {
    let person = app.person("ann").await;
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;
    let team = person.team.clone();

    let replies = crowd
        .race(|_, client| {
            let body = json!({ "name": "Web Shop", "team_id": team, "slug": "shop" });
            async move { client.post("/api/v1/projects", &body).await }
        })
        .await;

    super::outcome(&replies, (201, 1), (400, 63));
}

async fn nothing_is_written_to_a_project_once_it_is_deleted(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;
    let deleted = Arc::new(AtomicBool::new(false));

    let late = crowd
        .race(|number, client| {
            let (project, deleted) = (project.clone(), Arc::clone(&deleted));
            async move {
                if number > 0 {
                    return write_until_gone(&client, &project, number, &deleted).await;
                }
                client.delete(&project).await.is(204);
                deleted.store(true, Ordering::SeqCst);
                Vec::new()
            }
        })
        .await;

    for reply in late.iter().flatten() {
        reply.is(404).says("project not found");
    }
    assert!(late.iter().skip(1).all(|replies| !replies.is_empty()));
}

async fn of_many_deletions_of_a_project_one_happens(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|_, client| {
            let project = project.clone();
            async move { client.delete(&project).await }
        })
        .await;

    super::outcome(&replies, (204, 1), (404, 63));
}

async fn of_many_restorations_of_a_project_one_happens(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    person.delete(&project).await.is(204);
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|_, client| {
            let path = format!("{project}/restore");
            async move { client.post(&path, &json!({})).await }
        })
        .await;

    super::outcome(&replies, (200, 1), (404, 63));
    person.get(&project).await.is(200);
}

async fn a_plan_is_not_exceeded_by_restoring(kind: Kind) {
    let app = Build::on(kind).plan("free").start().await;
    let person = app.person("ann").await;
    let mut projects = Vec::new();
    for number in 0..8 {
        let project = person.project(&format!("web {number}")).await;
        person.delete(&project).await.is(204);
        projects.push(project);
    }
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let path = format!("{}/restore", projects[number % 8]);
            async move { client.post(&path, &json!({})).await }
        })
        .await;

    assert_eq!(count(&replies, 200), 3, "{replies:#?}");
    let refused = count(&replies, 429) + count(&replies, 404);
    assert_eq!(refused, CROWD - 3, "{replies:#?}");
    let listed = person.get("/api/v1/projects").await.json();
    assert_eq!(listed["projects"].as_array().unwrap().len(), 3);
}

secrets_tests::on_every_store!(
    projects_of_one_name_get_addresses_of_their_own,
    of_many_projects_of_a_given_address_one_is_made,
    nothing_is_written_to_a_project_once_it_is_deleted,
    of_many_deletions_of_a_project_one_happens,
    of_many_restorations_of_a_project_one_happens;
    a_plan_is_not_exceeded_by_restoring,
);

/// Writes to a project until another task has deleted the project and set `deleted`. Returns the
/// replies to two writes that began after the deletion.
async fn write_until_gone(
    client: &Client,
    project: &str,
    number: usize,
    deleted: &AtomicBool,
) -> Vec<Reply> {
    let mut late = Vec::new();
    for round in 0.. {
        let is_late = deleted.load(Ordering::SeqCst);
        let reply = write(client, project, &format!("{number}_{round}"), number).await;
        assert!([200, 201, 404].contains(&reply.status), "{}", reply.text());
        if is_late {
            late.push(reply);
        }
        if late.len() == 2 {
            break;
        }
    }
    late
}

/// Sends a request that writes to a project. `way` selects one of four kinds of writes; `name`
/// makes the names of new objects unique.
async fn write(client: &Client, project: &str, name: &str, way: usize) -> Reply {
    let secrets = paths::secrets(project, "development");
    let secret = json!({ "key": format!("RACE_{name}"), "value": "kvc_race" });
    match way % 4 {
        0 => client.post(&secrets, &secret).await,
        1 => client.post(&format!("{secrets}/bulk"), &json!({ "secrets": [secret] })).await,
        2 => client.patch(project, &json!({ "name": name })).await,
        _ => client.post(&paths::environments(project), &json!({ "name": name })).await,
    }
}
