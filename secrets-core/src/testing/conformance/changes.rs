//! Conformance rules for changing environments, and for their inheritance chains.

use super::{assert_duplicate, assert_stale, begin, committed, read};
use crate::model::{Principal, Subject};
use crate::store::{EnvironmentRecord, Store};
use crate::testing::fixtures::{World, at, environment, project, project_key};

/// An update replaces the name, parent, description and update time of an environment, and nothing
/// else.
pub async fn an_update_replaces_all_fields_of_an_environment(store: &dyn Store) {
    let world = World::build(store).await;
    let changed = EnvironmentRecord {
        name: "Renamed".parse().unwrap(),
        inherits_from: Some(world.production.id),
        description: Some("new".to_owned()),
        updated_at: at(60),
        ..world.staging.clone()
    };
    let given = EnvironmentRecord {
        is_default: false,
        position: 9,
        revision: 7,
        created_by: Some(world.outsider.id.uuid()),
        created_at: at(30),
        ..changed.clone()
    };
    let mut tx = begin(store).await;

    tx.update_environment(&given).await.unwrap();

    let owner = Principal::User(world.owner.id);
    let found = committed(store, tx).await.environments(world.project.id, owner).await.unwrap();
    assert_eq!(found, [world.development, changed, world.production]);
}

/// An update can remove the parent and the description of an environment.
pub async fn an_update_can_clear_parent_and_description(store: &dyn Store) {
    let world = World::build(store).await;
    let child = EnvironmentRecord {
        inherits_from: Some(world.production.id),
        description: Some("old".to_owned()),
        ..environment(&world.project, "child")
    };
    let bare = EnvironmentRecord { inherits_from: None, description: None, ..child.clone() };
    let mut tx = begin(store).await;
    tx.insert_environment(&child).await.unwrap();

    tx.update_environment(&bare).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.chain(bare.id).await.unwrap(), [bare]);
    assert!(seen.child_environments(world.production.id).await.unwrap().is_empty());
}

/// Renaming an environment to the name of another environment in the project, ignoring case, fails
/// with `Duplicate`. The transaction can still be used.
pub async fn a_name_in_use_is_a_duplicate(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;

    for name in ["production", "PRODUCTION"] {
        let name = name.parse().unwrap();
        let taken = EnvironmentRecord { name, ..world.staging.clone() };
        assert_duplicate(tx.update_environment(&taken).await, Subject::Environment);
    }
    let name = "STAGING".parse().unwrap();
    let louder = EnvironmentRecord { name, ..world.staging.clone() };
    tx.update_environment(&louder).await.unwrap();

    let owner = Principal::User(world.owner.id);
    let found = committed(store, tx).await.environments(world.project.id, owner).await.unwrap();
    assert_eq!(found, [world.development, louder, world.production]);
}

/// An environment may get the previous name of another environment, or a name that is used in
/// another project.
pub async fn a_previous_name_is_free(store: &dyn Store) {
    let world = World::build(store).await;
    let other = project(&world.team, "other");
    let elsewhere = environment(&other, "elsewhere");
    let renamed = EnvironmentRecord { name: "elsewhere".parse().unwrap(), ..world.staging.clone() };
    let mut tx = begin(store).await;
    tx.insert_project(&other, &project_key(&other)).await.unwrap();
    tx.insert_environment(&elsewhere).await.unwrap();

    tx.update_environment(&renamed).await.unwrap();
    tx.insert_environment(&environment(&world.project, "staging")).await.unwrap();

    let owner = Principal::User(world.owner.id);
    let found = committed(store, tx).await.environments(world.project.id, owner).await.unwrap();
    assert_eq!(found.len(), 4);
}

/// A deleted environment cannot be changed.
pub async fn an_environment_that_is_gone_is_not_changed(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;

    let unknown = environment(&world.project, "unknown");

    assert_stale(tx.update_environment(&unknown).await, Subject::Environment);
}

/// An inheritance chain contains the environment and all its ancestors, with their revisions.
pub async fn a_chain_runs_to_the_furthest_ancestor(store: &dyn Store) {
    let world = World::build(store).await;
    let child = |name: &str, parent: &EnvironmentRecord| EnvironmentRecord {
        inherits_from: Some(parent.id),
        ..environment(&world.project, name)
    };
    let middle = child("middle", &world.production);
    let last = child("last", &middle);
    let mut tx = begin(store).await;
    tx.insert_environment(&middle).await.unwrap();
    tx.insert_environment(&last).await.unwrap();
    tx.touch_environment(middle.id, 1).await.unwrap();

    let mut seen = committed(store, tx).await;

    let touched = EnvironmentRecord { revision: 1, ..middle };
    assert_eq!(seen.chain(last.id).await.unwrap(), [last, touched, world.production.clone()]);
    assert_eq!(seen.chain(world.production.id).await.unwrap(), [world.production]);
}

/// The inheritance chain is empty for an unknown environment and for a deleted project. A chain
/// with a cycle is cut off at the maximum length.
pub async fn a_deleted_environment_has_no_chain_and_a_cycle_ends(store: &dyn Store) {
    let world = World::build(store).await;
    let mut seen = read(store).await;
    assert_eq!(seen.chain(environment(&world.project, "unknown").id).await.unwrap(), []);
    drop(seen);
    let mut tx = begin(store).await;
    let circle =
        EnvironmentRecord { inherits_from: Some(world.staging.id), ..world.staging.clone() };
    tx.update_environment(&circle).await.unwrap();
    assert_eq!(tx.chain(circle.id).await.unwrap().len(), 17);
    tx.delete_project(world.project.id, at(60)).await.unwrap();

    let mut seen = committed(store, tx).await;

    assert_eq!(seen.chain(world.production.id).await.unwrap(), []);
}
