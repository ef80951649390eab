//! Conformance rules for the rotations of a project.

use super::{begin, committed};
use crate::model::rotations::RotationStatus;
use crate::store::{
    ProjectRecord, RotationFailure, RotationRecord, RotationSchedule, Store, TeamRecord, Tx,
};
use crate::testing::fixtures::{
    World, at, attempt, concluded, environment, keys, project, project_key, rotation, team,
};

/// `rotation_location` returns a rotation's project with its newest key, environment and team plan.
pub async fn the_project_of_a_rotation_is_found(store: &dyn Store) {
    let world = World::build(store).await;
    let limited = TeamRecord { plan: "free".parse().unwrap(), ..team(&world.owner, "limited") };
    let described = ProjectRecord {
        name: "Ünï".parse().unwrap(),
        description: Some("what it is".to_owned()),
        created_by: Some(world.owner.id.uuid()),
        created_at: at(1),
        updated_at: at(2),
        ..project(&limited, "described")
    };
    let (place, key) = (environment(&described, "place"), project_key(&described));
    let (here, there) = (rotation(&place, "here"), rotation(&world.staging, "there"));
    let mut tx = begin(store).await;
    tx.insert_team(&limited).await.unwrap();
    tx.insert_project(&described, &key).await.unwrap();
    tx.insert_environment(&place).await.unwrap();
    tx.insert_rotation(&here, &[]).await.unwrap();
    tx.insert_rotation(&there, &[]).await.unwrap();

    let mut seen = committed(store, tx).await;

    let found = seen.rotation_location(here.id).await.unwrap().unwrap();
    assert_eq!((found.project, found.environment, found.key), (described, place, key));
    assert_eq!((found.plan, found.is_deleted), (limited.plan, false));
    let found = seen.rotation_location(there.id).await.unwrap().unwrap();
    assert_eq!((found.project, found.environment), (world.project, world.staging));
}

/// Rotations of a deleted project are kept. `rotation_location` still finds the project, marked as
/// deleted.
pub async fn a_deleted_project_keeps_its_rotations(store: &dyn Store) {
    let world = World::build(store).await;
    let held = rotation(&world.staging, "orders");
    let mut tx = begin(store).await;
    tx.insert_rotation(&held, &keys(&["KEY"])).await.unwrap();

    tx.delete_project(world.project.id, at(1)).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.rotation(held.id).await.unwrap(), Some(held.clone()));
    let found = seen.rotation_location(held.id).await.unwrap().unwrap();
    assert!(found.is_deleted);
    assert_eq!((found.project, found.key), (world.project, world.key));
}

/// `count_project_rotations` counts the rotations of one project, even if the project is deleted.
pub async fn the_rotations_of_a_project_are_counted(store: &dyn Store) {
    let world = World::build(store).await;
    let other = project(&world.team, "other");
    let place = environment(&other, "place");
    let mut tx = begin(store).await;
    tx.insert_project(&other, &project_key(&other)).await.unwrap();
    tx.insert_environment(&place).await.unwrap();
    for environment in [&world.staging, &world.production, &place] {
        tx.insert_rotation(&rotation(environment, "orders"), &[]).await.unwrap();
    }

    assert_eq!(tx.count_project_rotations(world.project.id).await.unwrap(), 2);
    tx.delete_project(world.project.id, at(1)).await.unwrap();

    assert_eq!(tx.count_project_rotations(world.project.id).await.unwrap(), 2);
    assert_eq!(tx.count_project_rotations(other.id).await.unwrap(), 1);
    assert_eq!(tx.count_rotations(world.team.id).await.unwrap(), 1);
}

/// `disable_rotations` disables all rotations of a project. After that, work is scheduled only for
/// rotations with an unfinished attempt, or with a previous credential whose login must be
/// disabled.
pub async fn a_project_disables_its_rotations(store: &dyn Store) {
    let world = World::build(store).await;
    let due = |name: &str| {
        let mut rotation = rotation(&world.staging, name);
        rotation.schedule.work_at = Some(at(5));
        rotation.failure.since = Some(at(1));
        rotation
    };
    let (idle, busy, past) = (due("idle"), due("busy"), due("past"));
    let (mut lost, mut grace) = (due("lost"), due("grace"));
    lost.schedule.work_at = None;
    grace.slots.retire_at = Some(at(50));
    let off = RotationRecord {
        status: RotationStatus::Disabled,
        failure: RotationFailure { code: Some("plan".to_owned()), ..RotationFailure::default() },
        ..rotation(&world.production, "off")
    };
    let mut tx = begin(store).await;
    for rotation in [&idle, &busy, &past, &off, &lost, &grace] {
        tx.insert_rotation(rotation, &[]).await.unwrap();
    }
    for attempt in [attempt(&busy, 1), attempt(&lost, 1), concluded(&attempt(&past, 1), at(2))] {
        tx.insert_attempt(&attempt).await.unwrap();
    }
    let elsewhere = elsewhere(&mut tx, &world).await;

    tx.disable_rotations(world.project.id, "gone", "the project is gone", at(9)).await.unwrap();

    let disabled = |before: &RotationRecord, work_at| RotationRecord {
        status: RotationStatus::Disabled,
        failure: RotationFailure {
            code: Some("gone".to_owned()),
            message: Some("the project is gone".to_owned()),
            since: None,
            count: before.failure.count,
        },
        schedule: RotationSchedule { work_at, ..before.schedule.clone() },
        updated_at: at(9),
        ..before.clone()
    };
    let mut seen = committed(store, tx).await;
    let expected = [
        disabled(&busy, Some(at(5))),
        disabled(&grace, Some(at(50))),
        disabled(&idle, None),
        disabled(&lost, Some(at(9))),
        disabled(&past, None),
    ];
    assert_eq!(seen.rotations(world.staging.id).await.unwrap(), expected);
    assert_eq!(seen.rotation(off.id).await.unwrap(), Some(off));
    assert_eq!(seen.rotation(elsewhere.id).await.unwrap(), Some(elsewhere));
}

/// Inserts a rotation in another team's project.
pub(super) async fn elsewhere(tx: &mut Box<dyn Tx>, world: &World) -> RotationRecord {
    let theirs = project(&world.other_team, "theirs");
    let place = environment(&theirs, "place");
    let elsewhere = rotation(&place, "elsewhere");
    tx.insert_project(&theirs, &project_key(&theirs)).await.unwrap();
    tx.insert_environment(&place).await.unwrap();
    tx.insert_rotation(&elsewhere, &keys(&["KEY"])).await.unwrap();
    elsewhere
}
