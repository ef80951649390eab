//! Tests of granting and revoking permissions.

use chrono::TimeDelta;
use secrets_core::model::Role;
use secrets_tests::{App, in_memory_and_on_postgres, paths};
use serde_json::{Value, json};

use super::{NO_ACCESS, Team};

const UNKNOWN_ID: &str = "0191d0a0-0000-7000-8000-000000000000";

async fn a_set_permission_is_returned_and_listed(app: App) {
    let team = Team::of(&app).await;

    let said = team.grant("staging", "read").await;

    assert_eq!(said["environment_name"], "staging");
    assert_eq!([&said["user_id"], &said["granted_by"]], [&team.bob.id, &team.alice.id]);
    assert_eq!([&said["user_email"], &said["role"]], ["bob@example.com", "read"]);
    assert_eq!([&said["can_read"], &said["can_write"], &said["can_admin"]], [true, false, false]);
    let all = team.alice.get(&paths::permissions(&team.web, "staging")).await.is(200).json();
    assert_eq!(all, json!({ "permissions": [said] }));
    let none = team.alice.get(&paths::permissions(&team.web, "production")).await.is(200).json();
    assert_eq!(none, json!({ "permissions": [] }));
}

async fn a_changed_permission_keeps_its_creation_time(app: App) {
    let team = Team::of(&app).await;
    let first = team.grant("staging", "read").await;
    app.wait(TimeDelta::hours(1));

    let again = team.grant("staging", "write").await;

    assert_eq!(again["created_at"], first["created_at"]);
    assert_ne!(again["updated_at"], first["updated_at"]);
    assert_eq!(team.mine("staging").await["role"], "write");
}

async fn a_role_is_none_read_write_or_admin(app: App) {
    let team = Team::of(&app).await;
    let path = paths::permission(&team.web, "staging", &team.bob.id);

    for role in [json!("owner"), json!("Read"), json!(""), json!(7), Value::Null] {
        let reply = team.alice.put(&path, &json!({ "role": role })).await;
        reply.is(400).code("invalid_request").names("role");
        assert!(!reply.text().contains("owner"), "{}", reply.text());
    }
    team.alice.put(&path, &json!({})).await.is(400).names("role");
    team.alice.put(&path, &json!({ "role": "read", "until": "tomorrow" })).await.is(400);
}

async fn a_permission_of_ones_own_cannot_be_changed(app: App) {
    let team = Team::of(&app).await;
    team.grant("staging", "admin").await;

    for person in [&team.alice, &team.bob] {
        let path = paths::permission(&team.web, "staging", &person.id);
        person.put(&path, &json!({ "role": "admin" })).await.is(403).code("forbidden");
        person.delete(&path).await.is(403).code("forbidden");
        let bulk = json!({ "permissions": [{ "user_id": person.id, "role": "none" }] });
        person.put(&paths::permissions(&team.web, "staging"), &bulk).await.is(403);
    }
    assert_eq!(team.mine("staging").await["role"], "admin");
}

async fn only_members_of_the_team_get_permissions(app: App) {
    let team = Team::of(&app).await;
    let eve = app.person("eve").await;

    for person in [eve.id.as_str(), UNKNOWN_ID, "bob", "bob@example.com"] {
        let path = paths::permission(&team.web, "staging", person);
        let reply = team.alice.put(&path, &json!({ "role": "read" })).await;
        reply.is(404).says("user not found");
        team.alice.delete(&path).await.is(404).says("permission not found");
    }
}

async fn owners_and_admins_cannot_be_restricted(app: App) {
    let team = Team::of(&app).await;
    let ada = app.person("ada").await;
    app.join(&team.alice.team, &ada.id, Role::Admin).await;

    let path = paths::permission(&team.web, "staging", &ada.id);
    let reply = team.alice.put(&path, &json!({ "role": "none" })).await;

    reply.is(400).says("team owners and admins always have full access");
    ada.get(&paths::secret(&team.web, "staging", "KEY")).await.is(200);
}

async fn an_admin_of_an_environment_grants_permissions_only_there(app: App) {
    let team = Team::of(&app).await;
    let carol = team.member(&app, "carol").await;
    team.grant("staging", "admin").await;
    let read = json!({ "role": "read" });

    team.bob.put(&paths::permission(&team.web, "staging", &carol.id), &read).await.is(200);
    team.bob.get(&paths::permissions(&team.web, "staging")).await.is(200);
    team.bob.delete(&paths::permission(&team.web, "staging", &carol.id)).await.is(204);

    let only = "only an admin of this environment or of the team may do this";
    let there = paths::permission(&team.web, "production", &carol.id);
    team.bob.put(&there, &read).await.is(403).says(only);
    team.bob.delete(&there).await.is(403).says(only);
    team.bob.get(&paths::permissions(&team.web, "production")).await.is(403).says(only);
    let defaults = json!({ "defaults": [] });
    team.bob.put(&format!("{}/permissions/defaults", team.web), &defaults).await.is(403);
    team.bob.delete(&paths::environment(&team.web, "staging")).await.is(403);
    carol.put(&paths::permission(&team.web, "staging", &team.bob.id), &read).await.is(403);
}

async fn the_default_applies_after_a_permission_was_removed(app: App) {
    let team = Team::of(&app).await;
    team.grant("staging", "none").await;
    let key = paths::secret(&team.web, "staging", "KEY");
    team.bob.get(&key).await.is(403).says(NO_ACCESS);
    let path = paths::permission(&team.web, "staging", &team.bob.id);

    team.alice.delete(&path).await.is(204);

    team.bob.get(&key).await.is(200);
    team.alice.delete(&path).await.is(404).says("permission not found");
}

async fn several_permissions_are_set_together_or_not_at_all(app: App) {
    let team = Team::of(&app).await;
    let carol = team.member(&app, "carol").await;
    let eve = app.person("eve").await;
    let path = paths::permissions(&team.web, "staging");
    let said = |people: &[(&str, &str)]| {
        let one = |(id, role): &(&str, &str)| json!({ "user_id": id, "role": role });
        json!({ "permissions": people.iter().map(one).collect::<Vec<_>>() })
    };
    let (bob, carol) = (team.bob.id.as_str(), carol.id.as_str());

    for (people, status) in [
        (vec![(bob, "none"), (eve.id.as_str(), "read")], 404),
        (vec![(bob, "none"), (bob, "read")], 400),
        (vec![(bob, "none"), (carol, "boss")], 400),
        (vec![(bob, "none"), ("carol", "read")], 400),
        (vec![(bob, "none"), (team.alice.id.as_str(), "read")], 403),
        (vec![], 400),
        (vec![(UNKNOWN_ID, "read"); 101], 400),
    ] {
        team.alice.put(&path, &said(&people)).await.is(status);
    }
    let listed = team.alice.get(&path).await.is(200).json();
    assert_eq!(listed, json!({ "permissions": [] }));

    let both =
        team.alice.put(&path, &said(&[(bob, "none"), (carol, "admin")])).await.is(200).json();

    let roles = |listed: &Value| -> Vec<Value> {
        listed["permissions"].as_array().unwrap().iter().map(|one| one["role"].clone()).collect()
    };
    assert_eq!(roles(&both), ["none", "admin"]);
    assert_eq!(team.alice.get(&path).await.json()["permissions"].as_array().unwrap().len(), 2);
}

async fn each_change_is_in_the_log(app: App) {
    let team = Team::of(&app).await;
    team.grant("staging", "read").await;
    team.alice.delete(&paths::permission(&team.web, "staging", &team.bob.id)).await.is(204);
    let defaults = format!("{}/permissions/defaults", team.web);
    team.alice
        .put(
            &defaults,
            &json!({ "defaults": [{ "environment_name": "*", "default_role": "none" }] }),
        )
        .await
        .is(200);
    team.alice.delete(&defaults).await.is(204);

    let entries = app.audit(&team.alice.team).await;

    let set = entries.iter().find(|entry| entry.action == "permission.set").unwrap();
    assert_eq!(set.resource_type, "permission");
    assert_eq!(set.environment_name.as_deref(), Some("staging"));
    let metadata: Value = serde_json::from_str(&set.metadata).unwrap();
    assert_eq!(metadata["permissions"], json!([{ "user_id": team.bob.id, "role": "read" }]));
    for action in ["permission.deleted", "permission_defaults.set", "permission_defaults.deleted"] {
        assert!(entries.iter().any(|entry| entry.action == action), "{action}");
    }
}

in_memory_and_on_postgres![
    a_set_permission_is_returned_and_listed,
    a_changed_permission_keeps_its_creation_time,
    a_role_is_none_read_write_or_admin,
    a_permission_of_ones_own_cannot_be_changed,
    only_members_of_the_team_get_permissions,
    owners_and_admins_cannot_be_restricted,
    an_admin_of_an_environment_grants_permissions_only_there,
    the_default_applies_after_a_permission_was_removed,
    several_permissions_are_set_together_or_not_at_all,
    each_change_is_in_the_log,
];
