//! Conformance rules for restoring and purging deleted projects.

use std::slice::from_ref;
use std::sync::Arc;

use super::{assert_duplicate, assert_stale, begin, committed, read};
use crate::model::{EnvironmentPath, Principal, Role, Subject};
use crate::store::{
    EnvironmentRecord, ProjectRecord, PurgeProgress, Relation, RotationRecord, ScanRecord,
    SecretRecord, Selection, Store, TokenScope,
};
use crate::testing::fixtures::{
    World, at, attempt, concluded, environment, finding, next_version, project, project_key,
    rotation, scan, secret, token,
};

/// `deleted_project` finds a project that was deleted after the given time, and returns whether the
/// caller is a member of its team.
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

    assert_eq!(seen.purgeable_projects(at(81), at(99), 9).await.unwrap(), [early.clone(), late]);
    assert_eq!(seen.purgeable_projects(at(81), at(99), 1).await.unwrap(), *from_ref(&early));
    assert_eq!(seen.purgeable_projects(at(80), at(99), 9).await.unwrap(), [early]);
    assert_eq!(seen.purgeable_projects(at(60), at(99), 9).await.unwrap(), []);
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

    assert!((4..=12).contains(&rounds), "{rounds}");
    let mut seen = read(store).await;
    assert_eq!(seen.purgeable_projects(at(99), at(99), 9).await.unwrap(), []);
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

/// Each transaction of a purge deletes at most the given number of rows.
pub async fn a_purge_deletes_few_rows_at_a_time(store: &dyn Store) {
    let world = World::build(store).await;
    let secrets = ["A", "B", "C", "D", "E"].map(|key| secret(&world.staging, key));
    let next = secrets.each_ref().map(next_version);
    let scans = [(); 5].map(|()| ScanRecord {
        project: Some(world.project.id),
        ..scan(&world.team, &world.owner)
    });
    let rotation = rotation(&world.staging, "orders");
    let mut tx = begin(store).await;
    tx.insert_secrets(&secrets).await.unwrap();
    tx.replace_secrets(&next).await.unwrap();
    for scan in &scans {
        let findings = [0, 1, 2].map(|position| finding(scan, position));
        tx.insert_scan(scan, &findings).await.unwrap();
    }
    tx.insert_rotation(&rotation, &[]).await.unwrap();
    for sequence in 1..=5 {
        let attempt = concluded(&attempt(&rotation, sequence), at(1));
        tx.insert_attempt(&attempt).await.unwrap();
    }
    tx.delete_project(world.project.id, at(60)).await.unwrap();
    tx.commit().await.unwrap();
    let mut left = Left::count(store, &world, (&secrets, &scans, &rotation)).await;
    assert_eq!(left, Left([5, 5, 15, 5, 1, 3]));

    loop {
        let mut tx = begin(store).await;
        let purge = tx.purge_project(world.project.id, at(61), 2).await.unwrap();
        tx.commit().await.unwrap();
        let now = Left::count(store, &world, (&secrets, &scans, &rotation)).await;
        let deleted: u64 = left.0.iter().sum::<u64>() - now.0.iter().sum::<u64>();
        assert!(deleted <= 2, "{left:?} {now:?}");
        left = now;
        if purge != PurgeProgress::Partial {
            break;
        }
    }

    assert_eq!(left, Left([0; 6]));
}

/// Numbers of records that a purge of a project has not deleted yet: previous versions, secrets,
/// findings, attempts, rotations and environments.
#[derive(Debug, PartialEq, Eq)]
struct Left([u64; 6]);

impl Left {
    async fn count(
        store: &dyn Store,
        world: &World,
        (secrets, scans, rotation): (&[SecretRecord], &[ScanRecord], &RotationRecord),
    ) -> Self {
        let mut seen = read(store).await;
        let mut left = [0; 6];
        for secret in secrets {
            left[0] += seen.secret_versions(secret.id, u32::MAX, 9).await.unwrap().len() as u64;
            let next = seen.sample(secret.id).await.unwrap();
            left[1] += u64::from(next.is_some_and(|next| next.secret.id == secret.id));
        }
        for scan in scans {
            left[2] += seen.findings(scan.id).await.unwrap().len() as u64;
        }
        left[3] = seen.concluded_attempts(rotation.id, 9).await.unwrap().len() as u64;
        left[4] = u64::from(seen.next_rotation(rotation.id).await.unwrap().is_some());
        for environment in [&world.development, &world.staging, &world.production] {
            left[5] += u64::from(seen.environment_counters(environment.id).await.is_ok());
        }
        Self(left)
    }
}

/// A project that is not deleted, or was deleted too recently, is not purged; other projects stay
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
    assert_eq!(tx.purgeable_projects(at(99), at(99), 9).await.unwrap(), *from_ref(&other));
    assert_eq!(tx.purge_project(other.id, at(61), 9).await.unwrap(), PurgeProgress::Complete);

    let mut seen = committed(store, tx).await;
    let owner = Principal::User(world.owner.id);
    assert_eq!(seen.projects(owner).await.unwrap(), [world.project]);
    assert_eq!(seen.secrets(world.production.id, from_ref(&kept.key)).await.unwrap(), [kept]);
    assert_eq!(seen.purgeable_projects(at(99), at(99), 9).await.unwrap(), []);
}
