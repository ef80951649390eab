//! Conformance rules for rotations.

use super::{assert_duplicate, assert_stale, begin, committed};
use crate::model::rotations::{ConnectionMethod, PermissionLevel, RotationStatus, Slot};
use crate::model::{RotationId, Subject};
use crate::store::{
    RotationFailure, RotationRecord, RotationSchedule, RotationSettings, RotationSlots, Store,
    StoreError,
};
use crate::testing::fixtures::{
    World, at, environment, keys, project, project_key, rotation, sealed,
};

/// A rotation is found by its ID, its name and its environment, with all its fields.
pub async fn all_fields_of_a_rotation_survive(store: &dyn Store) {
    let world = World::build(store).await;
    let full = full(&rotation(&world.staging, "orders"));
    let bare = rotation(&world.staging, "bare");
    let mut tx = begin(store).await;

    tx.insert_rotation(&full, &[]).await.unwrap();
    tx.insert_rotation(&bare, &[]).await.unwrap();

    let mut seen = committed(store, tx).await;
    let at_staging = world.staging.id;
    assert_eq!(seen.rotation(full.id).await.unwrap(), Some(full.clone()));
    let named = seen.rotation_by_name(at_staging, &full.settings.name).await.unwrap();
    assert_eq!(named, Some(full.clone()));
    assert_eq!(seen.rotations(at_staging).await.unwrap(), [bare, full]);
}

/// A rotation can be stored with every kind of database, connection method, permission level,
/// status and slot.
pub async fn every_kind_of_rotation_survives(store: &dyn Store) {
    let world = World::build(store).await;
    let kept = |number: usize| {
        let mut rotation = rotation(&world.staging, &format!("r{number}"));
        rotation.settings.integration =
            ["postgresql", "mysql", "oracle_19"][number % 3].parse().unwrap();
        rotation.settings.method = ConnectionMethod::ALL[number % 2];
        rotation.settings.level = PermissionLevel::ALL[number % 3];
        rotation.status = RotationStatus::ALL[number % 4];
        rotation.slots.active = Slot::ALL.get(number % 3).copied();
        rotation
    };
    let all: Vec<_> = (0..6).map(kept).collect();
    let mut tx = begin(store).await;

    for rotation in &all {
        tx.insert_rotation(rotation, &[]).await.unwrap();
    }

    assert_eq!(committed(store, tx).await.rotations(world.staging.id).await.unwrap(), all);
}

/// A lookup finds no rotation for an unknown ID or name, or in another environment.
pub async fn an_unknown_rotation_is_not_found(store: &dyn Store) {
    let world = World::build(store).await;
    let known = rotation(&world.staging, "orders");
    let mut tx = begin(store).await;
    tx.insert_rotation(&known, &[]).await.unwrap();

    let mut seen = committed(store, tx).await;

    let unknown = RotationId::draw(at(0));
    assert_eq!(seen.rotation(unknown).await.unwrap(), None);
    assert!(seen.rotation_location(unknown).await.unwrap().is_none());
    assert_eq!(seen.open_attempt(unknown).await.unwrap(), None);
    assert_eq!(seen.concluded_attempts(unknown, 9).await.unwrap(), []);
    let elsewhere = world.production.id;
    assert_eq!(seen.rotation_by_name(elsewhere, &known.settings.name).await.unwrap(), None);
    assert_eq!(seen.rotations(elsewhere).await.unwrap(), []);
    let other_case = "Orders".parse().unwrap();
    assert_eq!(seen.rotation_by_name(world.staging.id, &other_case).await.unwrap(), None);
}

/// Rotations are listed by name in byte order, whatever the sort order (collation) of the database.
pub async fn rotations_come_by_name(store: &dyn Store) {
    let world = World::build(store).await;
    let names = ["B", "a", "A", "a_b", "a-b", "0"];
    let mut tx = begin(store).await;
    for name in names {
        tx.insert_rotation(&rotation(&world.staging, name), &[]).await.unwrap();
    }

    let found = committed(store, tx).await.rotations(world.staging.id).await.unwrap();

    let found: Vec<_> = found.iter().map(|rotation| rotation.settings.name.as_str()).collect();
    assert_eq!(found, ["0", "A", "B", "a", "a-b", "a_b"]);
}

/// `next_rotation` and `next_rotation_id` iterate over all rotations by ID, including rotations of
/// deleted projects.
pub async fn rotations_are_listed_in_pages_by_id(store: &dyn Store) {
    let world = World::build(store).await;
    let [second, first] = [("a", 20), ("b", 10)].map(|(name, age)| RotationRecord {
        id: RotationId::draw(at(age)),
        ..rotation(&world.staging, name)
    });
    let mut tx = begin(store).await;
    tx.insert_rotation(&second, &[]).await.unwrap();
    tx.insert_rotation(&first, &[]).await.unwrap();
    tx.delete_project(world.project.id, at(1)).await.unwrap();

    let mut seen = committed(store, tx).await;

    for (from, expected) in [
        (RotationId::draw(at(-9)), Some(&first)),
        (first.id, Some(&first)),
        (RotationId::draw(at(15)), Some(&second)),
        (second.id, Some(&second)),
        (RotationId::draw(at(99)), None),
    ] {
        assert_eq!(seen.next_rotation(from).await.unwrap().as_ref(), expected);
        let id = seen.next_rotation_id(from).await.unwrap();
        assert_eq!(id, expected.map(|rotation| rotation.id));
    }
}

/// Rotation names are unique within an environment. A refused insertion reserves no secret key.
pub async fn a_rotation_name_is_unique_in_its_environment(store: &dyn Store) {
    let world = World::build(store).await;
    let (first, again) = (rotation(&world.staging, "orders"), rotation(&world.staging, "orders"));
    let elsewhere = rotation(&world.production, "orders");
    let mut tx = begin(store).await;
    tx.insert_rotation(&first, &keys(&["KEY"])).await.unwrap();

    let refused = tx.insert_rotation(&again, &keys(&["OTHER"])).await;
    let both = tx.insert_rotation(&again, &keys(&["KEY"])).await;
    tx.insert_rotation(&elsewhere, &keys(&["KEY"])).await.unwrap();

    assert_duplicate(refused, Subject::Rotation);
    assert_duplicate(both, Subject::Rotation);
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.rotations(world.staging.id).await.unwrap(), [first]);
    let managed = seen.managed_keys(world.staging.id, &keys(&["KEY", "OTHER"])).await.unwrap();
    assert_eq!(managed, keys(&["KEY"]));
}

/// Only one rotation can reserve a given secret key of an environment. A refused insertion stores
/// nothing.
pub async fn a_key_is_reserved_by_one_rotation(store: &dyn Store) {
    let world = World::build(store).await;
    let (first, second) = (rotation(&world.staging, "a"), rotation(&world.staging, "b"));
    let elsewhere = rotation(&world.production, "c");
    let mut tx = begin(store).await;
    tx.insert_rotation(&first, &keys(&["A", "B"])).await.unwrap();

    let refused = tx.insert_rotation(&second, &keys(&["C", "B", "D"])).await;
    tx.insert_rotation(&elsewhere, &keys(&["A"])).await.unwrap();

    assert_duplicate(refused, Subject::Secret);
    assert_eq!(tx.rotation(second.id).await.unwrap(), None);
    tx.insert_rotation(&second, &keys(&["C", "D"])).await.unwrap();
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.rotations(world.staging.id).await.unwrap(), [first, second]);
}

/// `managed_keys` returns those of the given secret keys that a rotation of the environment has
/// reserved, each once and in order.
pub async fn managed_keys_are_listed(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    tx.insert_rotation(&rotation(&world.staging, "a"), &keys(&["B", "b"])).await.unwrap();
    tx.insert_rotation(&rotation(&world.staging, "b"), &keys(&["A"])).await.unwrap();
    tx.insert_rotation(&rotation(&world.production, "c"), &keys(&["C"])).await.unwrap();
    let mut many: Vec<_> = (0..1_001).map(|n| format!("K{n}").parse().unwrap()).collect();
    many.extend(keys(&["b", "B", "A", "C", "A"]));

    let mut seen = committed(store, tx).await;

    let at_staging = world.staging.id;
    assert_eq!(seen.managed_keys(at_staging, &many).await.unwrap(), keys(&["A", "B", "b"]));
    assert_eq!(seen.managed_keys(at_staging, &keys(&["B"])).await.unwrap(), keys(&["B"]));
    assert_eq!(seen.managed_keys(at_staging, &[]).await.unwrap(), []);
    assert_eq!(seen.managed_keys(world.development.id, &many).await.unwrap(), []);
}

/// An update replaces all fields of a rotation except environment, name, kind of database, secret
/// keys and creator.
pub async fn an_update_replaces_the_mutable_fields_of_a_rotation(store: &dyn Store) {
    let world = World::build(store).await;
    let (before, other) = (rotation(&world.staging, "orders"), rotation(&world.staging, "other"));
    let mut tx = begin(store).await;
    tx.insert_rotation(&before, &[]).await.unwrap();
    tx.insert_rotation(&other, &[]).await.unwrap();
    let mut after = RotationRecord {
        created_by: before.created_by,
        created_at: before.created_at,
        ..full(&before)
    };
    after.settings.integration = before.settings.integration.clone();
    after.settings.keys.clone_from(&before.settings.keys);
    let mut changed = RotationRecord { environment: world.production.id, ..full(&before) };
    changed.settings.name = "elsewhere".parse().unwrap();

    tx.lock_rotation(before.id).await.unwrap();
    tx.update_rotation(&changed).await.unwrap();

    assert_eq!(tx.rotation(before.id).await.unwrap(), Some(after));
    tx.update_rotation(&before).await.unwrap();
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.rotations(world.staging.id).await.unwrap(), [before, other]);
}

/// Locking, updating or deleting a deleted rotation fails with `Stale`.
pub async fn a_rotation_that_is_gone_is_stale(store: &dyn Store) {
    let world = World::build(store).await;
    let gone = rotation(&world.staging, "orders");
    let mut tx = begin(store).await;
    tx.insert_rotation(&gone, &[]).await.unwrap();
    tx.delete_rotation(gone.id).await.unwrap();

    assert_stale(tx.lock_rotation(gone.id).await, Subject::Rotation);
    assert_stale(tx.update_rotation(&gone).await, Subject::Rotation);
    assert_stale(tx.delete_rotation(gone.id).await, Subject::Rotation);
}

/// Inserting a rotation fails if its environment does not exist.
pub async fn a_rotation_needs_an_environment(store: &dyn Store) {
    let world = World::build(store).await;
    let nowhere = environment(&world.project, "nowhere");
    let mut tx = begin(store).await;

    let refused = tx.insert_rotation(&rotation(&nowhere, "orders"), &[]).await;

    assert!(matches!(refused, Err(StoreError::Corrupt(_))), "{refused:?}");
}

/// `count_rotations` does not count rotations of deleted projects and of other teams.
pub async fn the_rotations_of_a_team_are_counted(store: &dyn Store) {
    let world = World::build(store).await;
    let gone = project(&world.team, "gone");
    let theirs = project(&world.other_team, "theirs");
    let places = [(&gone, "a"), (&theirs, "b")].map(|(project, name)| environment(project, name));
    let mut tx = begin(store).await;
    for (project, place) in [&gone, &theirs].into_iter().zip(&places) {
        tx.insert_project(project, &project_key(project)).await.unwrap();
        tx.insert_environment(place).await.unwrap();
        tx.insert_rotation(&rotation(place, "orders"), &[]).await.unwrap();
    }
    for place in [&world.staging, &world.production] {
        tx.insert_rotation(&rotation(place, "orders"), &[]).await.unwrap();
    }

    tx.delete_project(gone.id, at(1)).await.unwrap();

    assert_eq!(tx.count_rotations(world.team.id).await.unwrap(), 2);
    assert_eq!(tx.count_rotations(world.other_team.id).await.unwrap(), 1);
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.team_usage(world.team.id).await.unwrap().rotations, 2);
    assert_eq!(seen.team_usage(world.other_team.id).await.unwrap().rotations, 1);
}

/// Returns a copy of the rotation with every field set and changed.
fn full(rotation: &RotationRecord) -> RotationRecord {
    RotationRecord {
        id: rotation.id,
        environment: rotation.environment,
        settings: RotationSettings {
            name: rotation.settings.name.clone(),
            integration: "mysql".parse().unwrap(),
            method: ConnectionMethod::Proxied,
            level: PermissionLevel::Admin,
            connection: sealed(&[0, 255]),
            proxy: Some(sealed(b"proxy")),
            keys: r#"{"password":"Ünï '\\"}"#.to_owned(),
            interval_days: u32::MAX,
        },
        status: RotationStatus::Error,
        failure: RotationFailure {
            code: Some("code".to_owned()),
            message: Some("Ünï '\"".to_owned()),
            since: Some(at(1)),
            count: u32::MAX,
        },
        announced_at: Some(at(9)),
        slots: RotationSlots {
            active: Some(Slot::B),
            retire_at: Some(at(2)),
            check_at: Some(at(3)),
            checks: u32::MAX,
        },
        schedule: RotationSchedule {
            next_at: at(4),
            remaining: Some(u64::try_from(i64::MAX).unwrap()),
            last_at: Some(at(5)),
            work_at: Some(at(6)),
        },
        identity: Some("日本".to_owned()),
        sequence: u64::try_from(i64::MAX).unwrap(),
        created_by: Some(rotation.id.uuid()),
        created_at: at(7),
        updated_at: at(8),
    }
}
