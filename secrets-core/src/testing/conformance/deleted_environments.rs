//! Conformance rules for deleting environments.

use std::slice::from_ref;

use chrono::TimeDelta;

use super::{assert_stale, begin, committed, purge, read};
use crate::model::{EnvironmentPath, EnvironmentRef, Principal, ProjectId, Subject, Time};
use crate::store::{EnvironmentRecord, SecretRecord, Selection, Store};
use crate::testing::fixtures::{
    World, at, attempt, concluded, environment, next_version, rotation, secret,
};

/// Deleting an environment and purging it deletes its secrets and their versions, and no secrets of
/// other environments. Nothing of the purged environment remains. Even before the purge, no lookup
/// finds the environment.
pub async fn deleting_an_environment_deletes_its_secrets(store: &dyn Store) {
    let world = World::build(store).await;
    let (gone, kept) = (secret(&world.staging, "KEY"), secret(&world.production, "KEY"));
    let mut tx = begin(store).await;
    tx.insert_secrets(&[gone.clone(), kept.clone()]).await.unwrap();
    for secret in [&gone, &kept] {
        tx.replace_secrets(from_ref(&next_version(secret))).await.unwrap();
    }

    tx.delete_environment(world.staging.id).await.unwrap();

    let mut seen = committed(store, tx).await;
    let member = Principal::User(world.member.id);
    for environment in
        [EnvironmentRef::Id(world.staging.id), EnvironmentRef::Name("staging".to_owned())]
    {
        let path = EnvironmentPath::new(world.project.id, environment);
        let found = seen.resolve_environment(&path, member, Selection::All).await.unwrap().unwrap();
        assert!(found.chain.is_empty(), "{path:?}");
    }
    let left = seen.environments(world.project.id, member).await.unwrap();
    assert_eq!(left, [world.development.clone(), world.production.clone()]);
    let moved = ProjectId::from(world.staging.id.uuid());
    assert_eq!(seen.environments(moved, member).await.unwrap(), []);
    assert!(seen.chain(world.staging.id).await.unwrap().is_empty());

    purge(store, ProjectId::from(world.staging.id.uuid())).await;

    assert_eq!(seen.count_secrets(world.staging.id).await.unwrap(), 0);
    assert_eq!(seen.secret_versions(gone.id, u32::MAX, u32::MAX).await.unwrap(), []);
    assert_eq!(seen.secret_range().await.unwrap(), Some((kept.id, kept.id)));
    assert_eq!(seen.secret_versions(kept.id, u32::MAX, u32::MAX).await.unwrap().len(), 1);
    assert_eq!(seen.purgeable_projects(at(0), at(99), 9).await.unwrap(), []);
    let again = environment(&world.project, "again");
    let mut tx = begin(store).await;
    let again = EnvironmentRecord { id: world.staging.id, ..again };
    tx.insert_environment(&again).await.unwrap();
    tx.delete_environment(again.id).await.unwrap();
}

/// Deleting an environment moves it to a deleted project, which can be purged at once and cannot be
/// restored, and whose only key is destroyed. The secrets of the environment do not count as
/// secrets of the team.
pub async fn a_deleted_environment_can_be_purged_and_not_restored(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    let secret = secret(&world.staging, "KEY");
    tx.insert_secrets(from_ref(&secret)).await.unwrap();
    let before = tx.stored_bytes(world.team.id).await.unwrap();

    tx.delete_environment(world.staging.id).await.unwrap();

    let id = ProjectId::from(world.staging.id.uuid());
    let owner = Principal::User(world.owner.id);
    let before_deletion = Time::UNIX_EPOCH - TimeDelta::seconds(1);
    assert!(before > 0);
    assert_eq!(tx.stored_bytes(world.team.id).await.unwrap(), 0);
    let usage = tx.team_usage(world.team.id).await.unwrap();
    assert_eq!((usage.secrets, usage.bytes, usage.stored_bytes), (0, 0, 0));
    assert_stale(tx.restore_project(id, at(1), before_deletion).await, Subject::Project);
    assert_eq!(tx.destroy_project_keys(id, at(0)).await.unwrap(), 0);
    assert_eq!(tx.projects(owner).await.unwrap(), from_ref(&world.project));
    let purgeable = tx.purgeable_projects(at(0), at(99), 9).await.unwrap();
    assert!(
        matches!(&*purgeable, [project] if project.id == id && project.is_deleted_environment())
    );
    assert_eq!((purgeable[0].team, purgeable[0].created_by), (world.team.id, None));
    assert!(!world.project.is_deleted_environment());
    let sample = tx.sample(secret.id).await.unwrap().unwrap();
    let key = sample.key.unwrap();
    assert_eq!((sample.secret.id, key.project, key.is_destroyed()), (secret.id, id, true));
}

/// A deleted environment can still be purged after its team was deleted.
pub async fn a_deleted_environment_of_a_deleted_team_is_purged(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    tx.insert_secrets(&[secret(&world.staging, "KEY")]).await.unwrap();
    tx.delete_environment(world.staging.id).await.unwrap();

    tx.delete_team(world.team.id, at(1)).await.unwrap();

    tx.commit().await.unwrap();
    purge(store, ProjectId::from(world.staging.id.uuid())).await;
    assert_eq!(read(store).await.secret_range().await.unwrap(), None);
}

/// A deleted environment is not listed for purging while a worker has leased one of its rotations
/// and the rotation has an unfinished attempt.
pub async fn a_deleted_environment_is_not_purged_during_an_attempt(store: &dyn Store) {
    let world = World::build(store).await;
    let (busy, idle) = (rotation(&world.staging, "busy"), rotation(&world.staging, "idle"));
    let unfinished = attempt(&busy, 1);
    let mut tx = begin(store).await;
    for rotation in [&busy, &idle] {
        tx.insert_rotation(rotation, &[]).await.unwrap();
        tx.acquire_lease(rotation.id, at(0), at(60)).await.unwrap().unwrap();
    }
    tx.insert_attempt(&unfinished).await.unwrap();

    tx.delete_environment(world.staging.id).await.unwrap();

    assert_eq!(tx.purgeable_projects(at(0), at(59), 9).await.unwrap(), []);
    assert_eq!(tx.purgeable_projects(at(0), at(60), 9).await.unwrap().len(), 1);
    tx.update_attempt(&concluded(&unfinished, at(5))).await.unwrap();
    assert_eq!(tx.purgeable_projects(at(0), at(59), 9).await.unwrap().len(), 1);
}

/// Deleting an environment fails while other environments inherit from it, because they would lose
/// secrets.
pub async fn an_environment_with_children_is_not_deleted(store: &dyn Store) {
    let world = World::build(store).await;
    let child = EnvironmentRecord {
        inherits_from: Some(world.production.id),
        ..environment(&world.project, "child")
    };
    let mut tx = begin(store).await;
    tx.insert_environment(&child).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = begin(store).await;

    tx.delete_environment(world.production.id).await.unwrap_err();

    drop(tx);
    assert_eq!(
        read(store).await.child_environments(world.production.id).await.unwrap(),
        [child.name]
    );
}

/// The name of a deleted environment can be used again; the new environment is empty.
pub async fn the_name_of_a_deleted_environment_is_free(store: &dyn Store) {
    let world = World::build(store).await;
    let second = environment(&world.project, "Staging");
    let mut tx = begin(store).await;
    tx.insert_secrets(&[secret(&world.staging, "KEY")]).await.unwrap();
    tx.delete_environment(world.staging.id).await.unwrap();

    tx.insert_environment(&second).await.unwrap();

    let path = EnvironmentPath::new(world.project.id, "Staging");
    let member = Principal::User(world.member.id);
    let resolved = committed(store, tx)
        .await
        .resolve_environment(&path, member, Selection::All)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(resolved.chain[0].environment, second);
    assert_eq!(resolved.chain[0].secrets, []);
}

/// Deleting or locking a deleted or unknown environment, or increasing its revision with
/// `touch_environment`, fails with `Stale`.
pub async fn an_environment_that_is_gone_is_stale(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    tx.delete_environment(world.staging.id).await.unwrap();

    for gone in [&world.staging, &environment(&world.project, "unknown")] {
        assert_stale(tx.delete_environment(gone.id).await, Subject::Environment);
        assert_stale(tx.touch_environment(gone.id, 1).await, Subject::Environment);
        assert_stale(tx.lock_environment(gone.id).await, Subject::Environment);
        assert_stale(tx.update_environment(gone).await, Subject::Environment);
    }
}

/// Deleting a child environment does not delete the secrets that it inherited from its parent.
pub async fn deleting_a_child_keeps_the_inherited_secrets(store: &dyn Store) {
    let world = World::build(store).await;
    let child = EnvironmentRecord {
        inherits_from: Some(world.production.id),
        ..environment(&world.project, "child")
    };
    let inherited = SecretRecord { version: 7, ..secret(&world.production, "KEY") };
    let mut tx = begin(store).await;
    tx.insert_environment(&child).await.unwrap();
    tx.insert_secrets(from_ref(&inherited)).await.unwrap();

    tx.delete_environment(child.id).await.unwrap();

    let mut seen = committed(store, tx).await;
    let keys = [inherited.key.clone()];
    assert_eq!(seen.secrets(world.production.id, &keys).await.unwrap(), [inherited]);
    assert_eq!(seen.child_environments(world.production.id).await.unwrap(), []);
}
