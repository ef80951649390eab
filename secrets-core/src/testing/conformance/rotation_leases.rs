//! Conformance rules for rotations with due work, and for leases on rotations.

use super::{assert_stale, begin, committed};
use crate::model::{RotationId, Subject, Time};
use crate::store::{DueRotation, Lease, RotationRecord, Store, Tx};
use crate::testing::fixtures::{World, at, attempt, rotation};

/// Rotations whose work has been due for the longest time are listed first, up to the limit.
pub async fn due_rotations_are_listed(store: &dyn Store) {
    let world = World::build(store).await;
    let [late, early, later] =
        [("a", 20), ("b", 10), ("c", 31)].map(|(name, age)| due(&world, name, at(age)));
    let idle = rotation(&world.staging, "idle");
    let mut tx = begin(store).await;
    for rotation in [&late, &early, &later, &idle] {
        tx.insert_rotation(rotation, &[]).await.unwrap();
    }

    let mut seen = committed(store, tx).await;

    assert_eq!(seen.due_rotations(at(9), None, 9).await.unwrap(), []);
    assert_eq!(ids(&seen.due_rotations(at(10), None, 9).await.unwrap()), [early.id]);
    assert_eq!(ids(&seen.due_rotations(at(30), None, 9).await.unwrap()), [early.id, late.id]);
    assert_eq!(ids(&seen.due_rotations(at(99), None, 2).await.unwrap()), [early.id, late.id]);
}

/// The list of due rotations can start after any of them. It contains the IDs of their teams.
pub async fn the_list_of_due_rotations_continues_after_a_rotation(store: &dyn Store) {
    let world = World::build(store).await;
    let mut same = [("a", 10), ("b", 10), ("c", 10)].map(|(name, age)| due(&world, name, at(age)));
    same.sort_by_key(|rotation| rotation.id);
    let last = due(&world, "d", at(11));
    let mut tx = begin(store).await;
    for rotation in same.iter().chain([&last]) {
        tx.insert_rotation(rotation, &[]).await.unwrap();
    }

    let mut seen = committed(store, tx).await;

    let (mut all, mut after) = (Vec::new(), None);
    for _ in 0..4 {
        let page = seen.due_rotations(at(20), after, 1).await.unwrap();
        assert_eq!(page.len(), 1);
        all.extend(&page);
        after = page.last().copied();
    }
    assert_eq!(ids(&all), [same[0].id, same[1].id, same[2].id, last.id]);
    assert!(all.iter().all(|due| due.team == world.team.id));
    assert_eq!((all[2].work_at, all[3].work_at), (at(10), at(11)));
    assert_eq!(seen.due_rotations(at(20), after, 9).await.unwrap(), []);
    let rest = seen.due_rotations(at(20), Some(all[1]), 9).await.unwrap();
    assert_eq!(rest, all[2..]);
}

/// Due rotations of a deleted project are listed too, because their database logins may have to be
/// disabled.
pub async fn the_rotations_of_a_deleted_project_are_due(store: &dyn Store) {
    let world = World::build(store).await;
    let held = due(&world, "orders", at(0));
    let mut tx = begin(store).await;
    tx.insert_rotation(&held, &[]).await.unwrap();

    tx.delete_project(world.project.id, at(1)).await.unwrap();

    assert_eq!(ids(&tx.due_rotations(at(2), None, 9).await.unwrap()), [held.id]);
    assert!(tx.acquire_lease(held.id, at(2), at(60)).await.unwrap().is_some());
}

/// A leased rotation is not listed as due until its lease ends.
pub async fn a_leased_rotation_is_not_due(store: &dyn Store) {
    let world = World::build(store).await;
    let [leased, free] = [("a", 0), ("b", 1)].map(|(name, age)| due(&world, name, at(age)));
    let mut tx = begin(store).await;
    tx.insert_rotation(&leased, &[]).await.unwrap();
    tx.insert_rotation(&free, &[]).await.unwrap();

    let lease = taken(&mut *tx, &leased, at(10)).await;

    assert_eq!(ids(&tx.due_rotations(at(9), None, 9).await.unwrap()), [free.id]);
    assert_eq!(ids(&tx.due_rotations(at(10), None, 9).await.unwrap()), [leased.id, free.id]);
    tx.release_lease(&lease).await.unwrap();
    let mut seen = committed(store, tx).await;
    assert_eq!(ids(&seen.due_rotations(at(9), None, 9).await.unwrap()), [leased.id, free.id]);
}

/// A lease can be taken only after the previous lease has ended; each new lease increases the epoch
/// by one.
pub async fn a_lease_is_taken_when_the_last_has_ended(store: &dyn Store) {
    let world = World::build(store).await;
    let [of, other] = ["a", "b"].map(|name| rotation(&world.staging, name));
    let mut tx = begin(store).await;
    tx.insert_rotation(&of, &[]).await.unwrap();
    tx.insert_rotation(&other, &[]).await.unwrap();

    let first = tx.acquire_lease(of.id, at(0), at(10)).await.unwrap();
    let early = tx.acquire_lease(of.id, at(9), at(20)).await.unwrap();
    let second = tx.acquire_lease(of.id, at(10), at(20)).await.unwrap();
    tx.release_lease(&second.unwrap()).await.unwrap();
    let third = tx.acquire_lease(of.id, at(11), at(30)).await.unwrap();

    let lease = |epoch, until| Some(Lease { rotation: of.id, epoch, until });
    assert_eq!(first, lease(1, at(10)));
    assert_eq!(early, None);
    assert_eq!(second, lease(2, at(20)));
    assert_eq!(third, lease(3, at(30)));
    assert!(tx.acquire_lease(other.id, at(0), at(10)).await.unwrap().is_some());
}

/// A deleted rotation cannot be leased.
pub async fn a_deleted_rotation_cannot_be_leased(store: &dyn Store) {
    let world = World::build(store).await;
    let gone = rotation(&world.staging, "orders");
    let mut tx = begin(store).await;
    tx.insert_rotation(&gone, &[]).await.unwrap();
    let lease = taken(&mut *tx, &gone, at(10)).await;
    tx.delete_rotation(gone.id).await.unwrap();

    assert_eq!(tx.acquire_lease(gone.id, at(20), at(30)).await.unwrap(), None);
    assert_stale(tx.extend_lease(&lease).await, Subject::Rotation);
    tx.release_lease(&lease).await.unwrap();
}

/// A worker can extend its lease as long as no other worker has taken a new one, even after the
/// lease has ended.
pub async fn a_held_lease_can_be_renewed(store: &dyn Store) {
    let world = World::build(store).await;
    let of = due(&world, "orders", at(0));
    let mut tx = begin(store).await;
    tx.insert_rotation(&of, &[]).await.unwrap();
    let lease = taken(&mut *tx, &of, at(10)).await;

    let longer = Lease { until: at(30), ..lease };
    tx.extend_lease(&longer).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.due_rotations(at(29), None, 9).await.unwrap(), []);
    assert_eq!(ids(&seen.due_rotations(at(30), None, 9).await.unwrap()), [of.id]);
    let mut tx = begin(store).await;
    assert_eq!(tx.acquire_lease(of.id, at(29), at(60)).await.unwrap(), None);
    tx.extend_lease(&Lease { until: at(90), ..lease }).await.unwrap();
    assert_eq!(tx.acquire_lease(of.id, at(89), at(99)).await.unwrap(), None);
}

/// A lease that another worker has taken, or that was released, cannot be extended. Releasing a
/// lost lease does not release the other worker's lease.
pub async fn a_lost_lease_cannot_be_renewed(store: &dyn Store) {
    let world = World::build(store).await;
    let of = rotation(&world.staging, "orders");
    let mut tx = begin(store).await;
    tx.insert_rotation(&of, &[]).await.unwrap();
    let lost = taken(&mut *tx, &of, at(10)).await;
    let held = tx.acquire_lease(of.id, at(10), at(20)).await.unwrap().unwrap();

    assert_stale(tx.extend_lease(&Lease { until: at(99), ..lost }).await, Subject::Rotation);
    tx.release_lease(&lost).await.unwrap();
    assert_eq!(tx.acquire_lease(of.id, at(19), at(99)).await.unwrap(), None);
    tx.extend_lease(&held).await.unwrap();
    tx.release_lease(&held).await.unwrap();
    assert_stale(tx.extend_lease(&held).await, Subject::Rotation);
}

/// `release_all_leases` ends all leases.
pub async fn all_leases_end_at_once(store: &dyn Store) {
    let world = World::build(store).await;
    let all = ["a", "b", "c"].map(|name| due(&world, name, at(0)));
    let mut tx = begin(store).await;
    for rotation in &all {
        tx.insert_rotation(rotation, &[]).await.unwrap();
    }
    let lost = taken(&mut *tx, &all[0], at(60)).await;
    taken(&mut *tx, &all[1], at(60)).await;

    tx.release_all_leases().await.unwrap();

    assert_stale(tx.extend_lease(&lost).await, Subject::Rotation);
    assert_eq!(tx.due_rotations(at(1), None, 9).await.unwrap().len(), 3);
    let again = tx.acquire_lease(all[0].id, at(1), at(60)).await.unwrap().unwrap();
    assert_eq!(again.epoch, 2);
}

/// Updating a rotation does not change its lease.
pub async fn an_update_keeps_the_lease(store: &dyn Store) {
    let world = World::build(store).await;
    let of = due(&world, "orders", at(0));
    let mut tx = begin(store).await;
    tx.insert_rotation(&of, &[]).await.unwrap();
    let lease = taken(&mut *tx, &of, at(60)).await;

    tx.lock_rotation(of.id).await.unwrap();
    let mut changed = of.clone();
    changed.failure.count = 1;
    tx.update_rotation(&changed).await.unwrap();
    tx.insert_attempt(&attempt(&of, 1)).await.unwrap();
    tx.disable_rotations(world.project.id, "code", "message", at(1)).await.unwrap();

    assert_eq!(tx.due_rotations(at(59), None, 9).await.unwrap(), []);
    assert_eq!(tx.acquire_lease(of.id, at(59), at(99)).await.unwrap(), None);
    tx.extend_lease(&lease).await.unwrap();
}

fn due(world: &World, name: &str, work_at: Time) -> RotationRecord {
    let mut due = rotation(&world.staging, name);
    due.schedule.work_at = Some(work_at);
    due
}

async fn taken(tx: &mut dyn Tx, of: &RotationRecord, until: Time) -> Lease {
    tx.acquire_lease(of.id, at(0), until).await.unwrap().unwrap()
}

fn ids(due: &[DueRotation]) -> Vec<RotationId> {
    due.iter().map(|due| due.id).collect()
}
