//! Projects that are made, and deleted while they are used.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use secrets_tests::{App, Client, Reply, paths};
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

secrets_tests::on_every_store!(
    projects_of_one_name_get_addresses_of_their_own,
    of_many_projects_of_a_given_address_one_is_made,
    nothing_is_written_to_a_project_once_it_is_deleted,
    of_many_deletions_of_a_project_one_happens,
);

/// Writes until the project is known to be gone, and gives the replies to two writes that began
/// after that.
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

/// One of the ways of writing to a project, under a name of its own.
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
