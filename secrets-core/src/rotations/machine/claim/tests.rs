use super::*;
use crate::Service;
use crate::crypto::Key;
use crate::model::ManualClock;
use crate::store::MemoryStore;
use crate::testing::fixtures::{World, at, rotation, rotation_in};
use crate::testing::rotator::{MemoryDatabase, rotators};

#[test]
fn interrupted_rotations_are_remembered_once_and_up_to_a_limit() {
    let interrupted = Interrupted::default();
    let id = |number: usize| RotationId::from(uuid::Uuid::from_u128(number as u128));

    for number in 0..=MAX_INTERRUPTED {
        interrupted.insert(id(number));
    }

    let remembered = lock(&interrupted.0);
    assert_eq!(remembered.len(), MAX_INTERRUPTED);
    assert!(remembered.contains(&id(0)) && !remembered.contains(&id(MAX_INTERRUPTED)));
}

#[tokio::test]
async fn a_waiting_rotation_is_forgotten_only_if_all_due_rotations_are_on_one_page() {
    let builder = Service::builder(Arc::new(MemoryStore::new()), &Key::generate())
        .clock(Arc::new(ManualClock::new(at(10))))
        .rotators(rotators(&MemoryDatabase::new()));
    let service = builder.build().await.unwrap();
    let engine = service.engine();
    let world = World::build(engine.store()).await;
    let mut tx = engine.store().begin().await.unwrap();
    for number in 0..=MAX_CANDIDATES {
        let mut due = rotation(&world.staging, &format!("db-{number}"));
        due.schedule.work_at = Some(at(1));
        tx.insert_rotation(&due, &[]).await.unwrap();
    }
    tx.commit().await.unwrap();
    let permits = permits(engine);
    let host = || vec![RotationPlace::host(world.team.id, "db.example.com")];
    let [working, waiting] = [at(0), at(1)].map(RotationId::draw);
    let _permit = permits.acquire(working, host()).unwrap();
    assert!(permits.acquire(waiting, host()).is_none());

    let claims = claim_rotations(engine).await.unwrap();
    assert_eq!(claims.len(), 2, "the maximum of a team");
    assert!(permits.must_wait(&waiting), "the first page is full");
    assert!(claim_rotations(engine).await.unwrap().is_empty());
    assert!(permits.must_wait(&waiting), "the second page has one rotation");
    assert!(claim_rotations(engine).await.unwrap().is_empty());

    // The two claimed rotations are not due any more, so the others are on one page.
    assert!(!permits.must_wait(&waiting));
}

/// Checks the values that the documentation of metrics and of limits names.
#[test]
fn the_worker_has_its_documented_name_and_limits() {
    let schedule = RotationWorker.schedule();

    assert_eq!(RotationWorker.name(), "rotations");
    assert_eq!((schedule.timeout, schedule.max_jobs), (Duration::from_mins(10), 4));
}

#[test]
fn the_most_urgent_work_that_is_due_comes_first() {
    use DueWork::{Check, Retire, Rotate};
    use RotationStatus::{Active, Disabled, Error, Paused};

    // Seconds at which the work is due: retire, check, rotate. The current time is 10 seconds.
    for (status, [retire, check, rotate], expected) in [
        (Active, [10, 10, 10], Some(Retire)),
        (Active, [11, 10, 10], Some(Check)),
        (Active, [11, 11, 10], Some(Rotate)),
        (Active, [11, 11, 11], None),
        (Error, [11, 11, 10], Some(Rotate)),
        (Paused, [11, 10, 10], Some(Check)),
        (Paused, [11, 11, 10], None),
        (Disabled, [10, 10, 10], Some(Retire)),
        (Disabled, [11, 10, 10], None),
    ] {
        let mut rotation = rotation_in(uuid::Uuid::from_u128(1).into(), "db", at(rotate));
        rotation.status = status;
        rotation.slots.retire_at = Some(at(retire));
        rotation.slots.check_at = Some(at(check));

        let due = due_work(&rotation, at(10));

        assert_eq!(due, expected, "{status:?} {retire} {check} {rotate}");
    }
}
