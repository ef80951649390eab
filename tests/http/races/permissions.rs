//! Tests of permissions that are granted and revoked while requests run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use secrets_core::model::Role;
use secrets_tests::{App, Person, paths};
use serde_json::json;

use super::{CROWD, Crowd, count};

/// Creates Ann's project with a secret, and Bob, a member of her team.
async fn world(app: &App) -> (Person, Person, String) {
    let (ann, bob) = (app.person("ann").await, app.person("bob").await);
    app.join(&ann.team, &bob.id, Role::Member).await;
    let project = ann.project("web").await;
    ann.secret(&project, "staging", "KEY", "kvc_race").await;
    (ann, bob, project)
}

async fn nothing_is_read_after_it_was_forbidden(app: App) {
    let (ann, bob, project) = world(&app).await;
    let crowd = Crowd::of(&app, &app.jwt("bob")).await;
    let (ann, forbidden) = (Arc::new(ann), Arc::new(AtomicBool::new(false)));

    let late = crowd
        .race(|number, client| {
            let (ann, forbidden) = (Arc::clone(&ann), Arc::clone(&forbidden));
            let key = paths::secret(&project, "staging", "KEY");
            let permission = paths::permission(&project, "staging", &bob.id);
            async move {
                if number == 0 {
                    ann.put(&permission, &json!({ "role": "none" })).await.is(200);
                    forbidden.store(true, Ordering::SeqCst);
                    return Vec::new();
                }
                let mut late = Vec::new();
                while late.len() < 2 {
                    let is_late = forbidden.load(Ordering::SeqCst);
                    let reply = client.get(&key).await;
                    assert!([200, 403].contains(&reply.status), "{}", reply.text());
                    if is_late {
                        late.push(reply);
                    }
                }
                late
            }
        })
        .await;

    assert_eq!(late.iter().flatten().count(), 2 * (CROWD - 1));
    for reply in late.iter().flatten() {
        reply.is(403);
    }
}

async fn concurrent_permissions_of_a_person_leave_one(app: App) {
    let (ann, bob, project) = world(&app).await;
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;
    let roles = ["none", "read", "write", "admin"];

    let replies = crowd
        .race(|number, client| {
            let path = paths::permission(&project, "staging", &bob.id);
            async move { client.put(&path, &json!({ "role": roles[number % 4] })).await }
        })
        .await;

    assert_eq!(count(&replies, 200), CROWD);
    let listed = ann.get(&paths::permissions(&project, "staging")).await.is(200).json();
    let listed = listed["permissions"].as_array().unwrap();
    assert_eq!(listed.len(), 1);
    assert!(roles.contains(&listed[0]["role"].as_str().unwrap()));
}

async fn a_deleted_environment_gets_no_permission(app: App) {
    let (ann, bob, project) = world(&app).await;
    for pair in 0..CROWD / 2 {
        ann.environment(&project, &format!("env-{pair}"), None).await;
    }
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let environment = format!("env-{}", number / 2);
            let (project, bob) = (project.clone(), bob.id.clone());
            async move {
                if number % 2 == 0 {
                    return client.delete(&paths::environment(&project, &environment)).await;
                }
                let path = paths::permission(&project, &environment, &bob);
                client.put(&path, &json!({ "role": "read" })).await
            }
        })
        .await;

    for pair in replies.chunks(2) {
        pair[0].is(204);
        if pair[1].status != 200 {
            pair[1].is(404).says("environment not found");
        }
    }
}

secrets_tests::on_every_store!(
    nothing_is_read_after_it_was_forbidden,
    concurrent_permissions_of_a_person_leave_one,
    a_deleted_environment_gets_no_permission,
);
