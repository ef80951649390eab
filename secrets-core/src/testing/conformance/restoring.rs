//! Conformance rules for restoring and purging deleted projects.

use std::slice::from_ref;
use std::sync::Arc;

use super::{assert_duplicate, assert_stale, begin, committed, read};
use crate::model::{EnvironmentPath, Principal, Role, Subject};
use crate::store::{
    EnvironmentRecord, ProjectRecord, PurgeProgress, Relation, Selection, Store, TokenScope,
};
use crate::testing::fixtures::{
    World, at, environment, next_version, project, project_key, secret, token,
};

/// `deleted_project` finds a project that was deleted after the given time, with the caller's
/// relation to it.
pub async fn a_deleted_project_is_found_to_be_restored(store: &dyn Store) {
    let world = World::build(store).await;
    let (owner, outsider) = (Principal::User(world.owner.id), Principal::User(world.outsider.id));
    let mut tx = begin(store).await;
    assert!(tx.deleted_project(world.project.id, at(0), owner).await.unwrap().is_none());
    tx.delete_project(world.project.id, at(60)).await.unwrap();
    let mut seen = committed(store, tx).await;

    let found = seen.deleted_project(world.project.id, at(59), owner).await.unwrap().unwrap();
    assert_eq!(
        (found.project, found.relation),
        (world.project.clone(), Relation::Member(Role::Owner))
    );
    let found = seen.deleted_project(world.project.id, at(59), outsider).await.unwrap().unwrap();
    assert_eq!(found.relation, Relation::None);
    for since in [60, 61] {
        let found = seen.deleted_project(world.project.id, at(since), owner).await.unwrap();
        assert!(found.is_none(), "{since}");
    }
}

/// A restored project has all its data, with a new update time.
pub async fn a_restored_project_has_all_its_data(store: &dyn Store) {
    let world = World::build(store).await;
    let first = secret(&world.production, "KEY");
    let second = next_version(&first);
    let named = token(&world.team, &world.owner);
    let scope = TokenScope { projects: vec![world.project.id], environments: Vec::new() };
    let mut tx = begin(store).await;
    tx.insert_secrets(from_ref(&first)).await.unwrap();
    tx.replace_secrets(from_ref(&second)).await.unwrap();
    tx.insert_token(&named, &scope).await.unwrap();
    tx.delete_project(world.project.id, at(60)).await.unwrap();

    tx.restore_project(world.project.id, at(90), at(59)).await.unwrap();

    let owner = Principal::User(world.owner.id);
    let mut seen = committed(store, tx).await;
    let back = ProjectRecord { updated_at: at(90), ..world.project.clone() };
    assert_eq!(seen.projects(owner).await.unwrap(), [back]);
    let path = EnvironmentPath::new(world.project.id, "production");
    let resolved = seen.resolve_environment(&path, owner, Selection::All).await.unwrap().unwrap();
    assert_eq!(resolved.chain[0].secrets, [Arc::new(second)]);
    assert_eq!(seen.secret_versions(first.id, u32::MAX, 9).await.unwrap().len(), 1);
    assert_eq!(seen.token_scope(named.id).await.unwrap(), TokenScope::default());
    assert!(seen.deleted_project(world.project.id, at(0), owner).await.unwrap().is_none());
}

/// Restoring fails with `Stale` for a project that is unknown, is not deleted, or was deleted too
/// long ago.
pub async fn restoring_a_project_that_is_not_deleted_is_stale(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    assert_stale(tx.restore_project(world.project.id, at(90), at(0)).await, Subject::Project);
    tx.delete_project(world.project.id, at(60)).await.unwrap();

    assert_stale(tx.restore_project(world.project.id, at(90), at(60)).await, Subject::Project);
    let unknown = project(&world.team, "unknown").id;
    assert_stale(tx.restore_project(unknown, at(90), at(0)).await, Subject::Project);

    assert!(
        committed(store, tx)
            .await
            .projects(Principal::User(world.owner.id))
            .await
            .unwrap()
            .is_empty()
    );
}

/// Projects to purge are listed in the order of their deletion, up to the limit.
pub async fn projects_to_purge_come_in_the_order_of_their_deletion(store: &dyn Store) {
    let world = World::build(store).await;
    let [late, early, living] = ["late", "early", "living"].map(|slug| project(&world.team, slug));
    let mut tx = begin(store).await;
    for project in [&late, &early, &living] {
        tx.insert_project(project, &project_key(project)).await.unwrap();
    }
    tx.delete_project(late.id, at(80)).await.unwrap();
    tx.delete_project(early.id, at(60)).await.unwrap();
    let mut seen = committed(store, tx).await;

    assert_eq!(seen.purgeable_projects(at(81), 9).await.unwrap(), [early.clone(), late]);
    assert_eq!(seen.purgeable_projects(at(81), 1).await.unwrap(), *from_ref(&early));
    assert_eq!(seen.purgeable_projects(at(80), 9).await.unwrap(), [early]);
    assert_eq!(seen.purgeable_projects(at(60), 9).await.unwrap(), []);
}

/// Each call of `purge_project` deletes only a few rows. In the end, nothing of the project remains
/// but its slug.
pub async fn a_purge_keeps_only_the_slug(store: &dyn Store) {
    let world = World::build(store).await;
    let secrets: Vec<_> =
        (0..5).map(|number| secret(&world.production, &format!("K{number}"))).collect();
    let child = EnvironmentRecord {
        inherits_from: Some(world.production.id),
        ..environment(&world.project, "child")
    };
    let mut tx = begin(store).await;
    tx.insert_environment(&child).await.unwrap();
    tx.insert_secrets(&secrets).await.unwrap();
    let mut newest = secrets[0].clone();
    for _ in 0..5 {
        newest = next_version(&newest);
        tx.replace_secrets(from_ref(&newest)).await.unwrap();
    }
    tx.delete_project(world.project.id, at(60)).await.unwrap();
    tx.commit().await.unwrap();

    let mut rounds = 0;
    loop {
        rounds += 1;
        let mut tx = begin(store).await;
        let purge = tx.purge_project(world.project.id, at(61), 2).await.unwrap();
        tx.commit().await.unwrap();
        if purge == PurgeProgress::Complete {
            break;
        }
        assert_eq!(purge, PurgeProgress::Partial);
    }

    assert!((4..=9).contains(&rounds), "{rounds}");
    let mut seen = read(store).await;
    assert_eq!(seen.purgeable_projects(at(99), 9).await.unwrap(), []);
    assert_eq!(seen.secret_range().await.unwrap(), None);
    assert_eq!(seen.secret_versions(newest.id, u32::MAX, 9).await.unwrap(), []);
    drop(seen);
    let again = project(&world.team, "billing");
    let mut tx = begin(store).await;
    assert_duplicate(tx.insert_project(&again, &project_key(&again)).await, Subject::Project);
    assert_eq!(
        tx.purge_project(world.project.id, at(99), 2).await.unwrap(),
        PurgeProgress::Nothing
    );
}

/// A project that is not deleted, or was deleted too recently, is not purged. Other projects stay
/// unchanged.
pub async fn a_purge_keeps_other_projects(store: &dyn Store) {
    let world = World::build(store).await;
    let kept = secret(&world.production, "KEY");
    let other = project(&world.team, "other");
    let mut tx = begin(store).await;
    tx.insert_secrets(from_ref(&kept)).await.unwrap();
    tx.insert_project(&other, &project_key(&other)).await.unwrap();
    tx.delete_project(other.id, at(60)).await.unwrap();

    assert_eq!(
        tx.purge_project(world.project.id, at(99), 9).await.unwrap(),
        PurgeProgress::Nothing
    );
    assert_eq!(tx.purge_project(other.id, at(60), 9).await.unwrap(), PurgeProgress::Nothing);
    assert_eq!(tx.purgeable_projects(at(99), 9).await.unwrap(), *from_ref(&other));
    assert_eq!(tx.purge_project(other.id, at(61), 9).await.unwrap(), PurgeProgress::Complete);

    let mut seen = committed(store, tx).await;
    let owner = Principal::User(world.owner.id);
    assert_eq!(seen.projects(owner).await.unwrap(), [world.project]);
    assert_eq!(seen.secrets(world.production.id, from_ref(&kept.key)).await.unwrap(), [kept]);
    assert_eq!(seen.purgeable_projects(at(99), 9).await.unwrap(), []);
}
