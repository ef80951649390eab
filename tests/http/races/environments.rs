//! Tests of concurrent changes of environments and their parents.

use std::collections::BTreeMap;

use secrets_tests::{App, Client, Person, Reply, paths};
use serde_json::json;

use super::{CROWD, Crowd, count, outcome};

async fn of_many_environments_of_a_name_one_is_made(app: App) {
    let person = app.person("ann").await;
    let path = paths::environments(&person.project("web").await);
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            // Names that differ only in case are the same.
            let name = if number % 2 == 0 { "preview" } else { "PREVIEW" };
            let (path, body) = (path.clone(), json!({ "name": name }));
            async move { client.post(&path, &body).await }
        })
        .await;

    outcome(&replies, (201, 1), (400, 63));
    for reply in replies.iter().filter(|reply| reply.status == 400) {
        reply.code("already_exists");
    }
    assert_eq!(parents(&person, &path).await.len(), 4);
}

async fn an_environment_is_deleted_or_inherited_from_and_never_both(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    let path = paths::environments(&project);
    for pair in 0..CROWD / 2 {
        person.environment(&project, &format!("parent-{pair}"), None).await;
    }
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let (path, pair) = (path.clone(), number / 2);
            let parent = format!("parent-{pair}");
            async move {
                if number % 2 == 0 {
                    return client.delete(&format!("{path}/{parent}")).await;
                }
                let body = json!({ "name": format!("child-{pair}"), "inherits_from": parent });
                client.post(&path, &body).await
            }
        })
        .await;

    let parents = parents(&person, &path).await;
    for (pair, replies) in replies.chunks(2).enumerate() {
        let statuses = [replies[0].status, replies[1].status];
        let (parent, child) = (format!("parent-{pair}"), format!("child-{pair}"));
        if statuses == [204, 400] {
            replies[1].names("inherits_from");
            assert!(!parents.contains_key(&parent) && !parents.contains_key(&child));
        } else {
            assert_eq!(statuses, [400, 201], "{replies:#?}");
            replies[0].code("environment_in_use");
            assert_eq!(parents[&child].as_deref(), Some(parent.as_str()));
        }
    }
}

async fn nothing_is_written_to_an_environment_once_it_is_deleted(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    person.environment(&project, "preview", None).await;
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let (project, is_deletion) = (project.clone(), number == CROWD / 2);
            let body = json!({ "key": format!("RACE_{number}"), "value": "kvc_race" });
            async move {
                if is_deletion {
                    return client.delete(&paths::environment(&project, "preview")).await;
                }
                client.post(&paths::secrets(&project, "preview"), &body).await
            }
        })
        .await;

    assert_eq!(count(&replies, 204), 1);
    assert_eq!(count(&replies, 201) + count(&replies, 404), 63, "{replies:#?}");
    person.get(&paths::secrets(&project, "preview")).await.is(404);
    person.environment(&project, "preview", None).await;
    let listed = person.get(&paths::secrets(&project, "preview")).await.json();
    assert_eq!(listed, json!({ "secrets": [] }));
}

async fn of_many_deletions_of_an_environment_one_happens(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    person.environment(&project, "preview", None).await;
    let path = paths::environment(&project, "preview");
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|_, client| {
            let path = path.clone();
            async move { client.delete(&path).await }
        })
        .await;

    outcome(&replies, (204, 1), (404, 63));
}

async fn environments_never_inherit_from_each_other(app: App) {
    let person = app.person("ann").await;
    let path = paths::environments(&person.project("web").await);
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            // The two requests of each pair let two environments inherit from each other.
            let body = json!({
                "name": format!("env-{number}"),
                "inherits_from": format!("env-{}", number ^ 1),
            });
            let path = path.clone();
            async move { client.post(&path, &body).await }
        })
        .await;

    assert_eq!(count(&replies, 400), CROWD, "{replies:#?}");
    for reply in &replies {
        reply.names("inherits_from");
    }
    assert_eq!(parents(&person, &path).await.len(), 3);
}

async fn parents_that_would_close_a_circle_together_never_do(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    let path = paths::environments(&project);
    for number in 0..8 {
        person.environment(&project, &format!("env-{number}"), None).await;
    }
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            // Each of eight environments takes each of the seven others as its parent.
            let (child, step) = (number % 8, 1 + number / 8 % 7);
            let parent = format!("env-{}", (child + step) % 8);
            let path = format!("{path}/env-{child}");
            async move { client.patch(&path, &json!({ "inherits_from": parent })).await }
        })
        .await;

    assert_eq!(count(&replies, 200) + count(&replies, 400), CROWD, "{replies:#?}");
    for reply in replies.iter().filter(|reply| reply.status == 400) {
        reply.code("circular_inheritance");
    }
    assert!(count(&replies, 200) >= 7 && count(&replies, 400) >= 1);
    let parents = parents(&person, &path).await;
    for environment in parents.keys() {
        assert!(length(&parents, environment) <= 8, "{environment}");
        person.get(&paths::secrets(&project, environment)).await.is(200);
    }
}

async fn of_many_renames_to_a_name_one_happens(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    let path = paths::environments(&project);
    for number in 0..CROWD {
        person.environment(&project, &format!("env-{number}"), None).await;
    }
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let name = if number % 2 == 0 { "wanted" } else { "WANTED" };
            let path = format!("{path}/env-{number}");
            async move { client.patch(&path, &json!({ "name": name })).await }
        })
        .await;

    outcome(&replies, (200, 1), (400, 63));
    for reply in replies.iter().filter(|reply| reply.status == 400) {
        reply.code("already_exists");
    }
}

async fn a_chain_that_grows_at_many_places_stays_a_chain_of_sixteen(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    let path = paths::environments(&project);
    person.environment(&project, "env-0", None).await;
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let path = path.clone();
            async move { grow(&client, &path, number).await }
        })
        .await;

    outcome(&replies, (201, 15), (400, 49));
    let parents = parents(&person, &path).await;
    for environment in parents.keys() {
        assert!(length(&parents, environment) <= 16, "{environment}");
        person.get(&paths::secrets(&project, environment)).await.is(200);
    }
    assert!(parents.keys().any(|environment| length(&parents, environment) == 16));
}

secrets_tests::on_every_store!(
    of_many_environments_of_a_name_one_is_made,
    an_environment_is_deleted_or_inherited_from_and_never_both,
    nothing_is_written_to_an_environment_once_it_is_deleted,
    of_many_deletions_of_an_environment_one_happens,
    environments_never_inherit_from_each_other,
    parents_that_would_close_a_circle_together_never_do,
    of_many_renames_to_a_name_one_happens,
    a_chain_that_grows_at_many_places_stays_a_chain_of_sixteen,
);

/// Creates the environment `env-{number + 1}`, whose parent is `env-{number}`. Repeats the request
/// until it succeeds, at most 10,000 times. If the inheritance chain of the parent has the maximum
/// length, at most 20 times.
async fn grow(client: &Client, path: &str, number: usize) -> Reply {
    let (name, parent) = (format!("env-{}", number + 1), format!("env-{number}"));
    let body = json!({ "name": name, "inherits_from": parent });
    let attempts = if number < 15 { 10_000 } else { 20 };
    let mut reply = client.post(path, &body).await;
    for _ in 0..attempts {
        if reply.status == 201 {
            break;
        }
        reply = client.post(path, &body).await;
    }
    reply
}

/// Returns the name of the parent of each environment of a project, by the name of the environment.
/// Panics if a parent does not exist.
async fn parents(person: &Person, path: &str) -> BTreeMap<String, Option<String>> {
    let listed = person.get(path).await.is(200).json();
    let listed = listed["environments"].as_array().unwrap();
    let name = |id: &str| {
        let parent = listed.iter().find(|environment| environment["id"] == id).unwrap();
        parent["name"].as_str().unwrap().to_owned()
    };
    listed
        .iter()
        .map(|environment| {
            let parent = environment["inherits_from"].as_str().map(name);
            (environment["name"].as_str().unwrap().to_owned(), parent)
        })
        .collect()
}

/// Returns the number of environments in the inheritance chain that begins with this environment;
/// at most 64, in case of a cycle.
fn length(parents: &BTreeMap<String, Option<String>>, environment: &str) -> usize {
    let first = Some(environment);
    std::iter::successors(first, |name| parents[*name].as_deref()).take(CROWD).count()
}
