//! Conformance rules for purged projects, of which only the slug is left.

use std::slice::from_ref;

use super::{assert_duplicate, assert_stale, begin, committed, purge_before, read};
use crate::model::{Principal, Subject, Time};
use crate::store::{PurgeProgress, Store};
use crate::testing::fixtures::{World, at, environment, project, project_key, secret};

/// A purged project is not listed for purging again and cannot be restored. Its slug stays taken.
pub async fn a_purged_project_stays_purged(store: &dyn Store) {
    let world = World::build(store).await;
    let (id, owner) = (world.project.id, Principal::User(world.owner.id));
    let mut tx = begin(store).await;
    tx.delete_project(id, at(60)).await.unwrap();
    tx.commit().await.unwrap();

    purge_before(store, id, at(61)).await;

    let mut tx = begin(store).await;
    assert_eq!(tx.purgeable_projects(at(99), at(99), 9).await.unwrap(), []);
    assert_eq!(tx.purge_project(id, at(99), 9).await.unwrap(), PurgeProgress::Nothing);
    assert_eq!(tx.destroy_project_keys(id, at(99)).await.unwrap(), 0);
    for since in [Time::UNIX_EPOCH, at(0), at(59)] {
        assert!(tx.deleted_project(id, since, owner).await.unwrap().is_none(), "{since}");
        assert_stale(tx.restore_project(id, at(90), since).await, Subject::Project);
    }
    let again = project(&world.team, world.project.slug.as_str());
    assert_duplicate(tx.insert_project(&again, &project_key(&again)).await, Subject::Project);
}

/// A purged project is not listed for purging again after its team was deleted.
pub async fn deleting_a_team_keeps_its_projects_purged(store: &dyn Store) {
    let world = World::build(store).await;
    let other = project(&world.team, "other");
    let mut tx = begin(store).await;
    tx.insert_project(&other, &project_key(&other)).await.unwrap();
    tx.delete_project(world.project.id, at(60)).await.unwrap();
    tx.commit().await.unwrap();
    purge_before(store, world.project.id, at(61)).await;
    let mut tx = begin(store).await;

    tx.delete_team(world.team.id, at(90)).await.unwrap();

    let found = committed(store, tx).await.purgeable_projects(at(99), at(99), 9).await.unwrap();
    assert_eq!(found.iter().map(|project| project.id).collect::<Vec<_>>(), [other.id]);
}

/// `stored_bytes` and `team_usage` include the secrets of a deleted project until the project is
/// purged.
pub async fn a_team_stores_the_secrets_of_deleted_projects_until_the_purge(store: &dyn Store) {
    let world = World::build(store).await;
    let other = project(&world.team, "other");
    let far = environment(&other, "far");
    let secrets = [secret(&world.staging, "KEPT"), secret(&far, "DELETED")];
    let [kept, deleted] = secrets.each_ref().map(|secret| secret.size() as u64);
    let mut tx = begin(store).await;
    tx.insert_project(&other, &project_key(&other)).await.unwrap();
    tx.insert_environment(&far).await.unwrap();
    tx.insert_secrets(&secrets).await.unwrap();
    tx.delete_project(other.id, at(60)).await.unwrap();
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.stored_bytes(world.team.id).await.unwrap(), kept + deleted);
    let usage = seen.team_usage(world.team.id).await.unwrap();
    assert_eq!((usage.projects, usage.stored_bytes), (1, kept + deleted));

    purge_before(store, other.id, at(61)).await;

    assert_eq!(seen.stored_bytes(world.team.id).await.unwrap(), kept);
    let usage = seen.team_usage(world.team.id).await.unwrap();
    assert_eq!((usage.projects, usage.stored_bytes), (1, kept));
}

/// `count_deleted_projects` counts the deleted projects of a team until they are restored or
/// purged. It does not count other projects, deleted environments, or the projects of other teams.
pub async fn deleted_projects_are_counted_until_the_purge(store: &dyn Store) {
    let world = World::build(store).await;
    let (team, other_team) = (world.team.id, world.other_team.id);
    let [first, second, restored] = ["a", "b", "c"].map(|slug| project(&world.team, slug));
    let elsewhere = project(&world.other_team, "d");
    let mut tx = begin(store).await;
    for project in [&first, &second, &restored, &elsewhere] {
        tx.insert_project(project, &project_key(project)).await.unwrap();
    }
    tx.delete_environment(world.staging.id).await.unwrap();
    assert_eq!(tx.count_deleted_projects(team).await.unwrap(), 0);

    for project in [&first, &second, &restored] {
        tx.delete_project(project.id, at(60)).await.unwrap();
    }
    assert_eq!(tx.count_deleted_projects(team).await.unwrap(), 3);
    tx.restore_project(restored.id, at(61), at(59)).await.unwrap();
    tx.commit().await.unwrap();
    purge_before(store, first.id, at(61)).await;

    let mut seen = read(store).await;
    assert_eq!(seen.count_deleted_projects(team).await.unwrap(), 1);
    assert_eq!(seen.count_deleted_projects(other_team).await.unwrap(), 0);
    assert_eq!(seen.count_projects(team).await.unwrap(), 2);
    let deleted = seen.purgeable_projects(at(61), at(99), 9).await.unwrap();
    assert_eq!(deleted[1..], *from_ref(&second));
}
