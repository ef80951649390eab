//! Conformance rules for concurrent work on a rotation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Spawn, at_once, begin, begin_among_others, read};
use crate::model::Subject;
use crate::store::{Lease, RotationRecord, Store, StoreError};
use crate::testing::fixtures::{World, at, attempt, keys, rotation};

/// Number of tasks that run concurrently.
const MANY: u32 = 64;

/// Only one of many concurrent attempts to take a lease succeeds.
pub async fn one_of_many_takes_a_lease(store: Arc<dyn Store>, spawn: Spawn) {
    let (_, of) = one(&*store).await;

    let rotation = of.id;
    let succeeded = at_once(&store, spawn, MANY, move |store, _| async move {
        let mut tx = begin_among_others(&*store).await?;
        let lease = tx.acquire_lease(rotation, at(0), at(60)).await?;
        lease.ok_or(StoreError::Stale(Subject::Rotation))?;
        tx.commit().await
    })
    .await;

    assert_eq!(succeeded, 1);
    let mut tx = begin(&*store).await;
    assert_eq!(tx.acquire_lease(of.id, at(60), at(99)).await.unwrap().unwrap().epoch, 2);
}

/// If a worker extends its lease that has ended while another worker takes a new lease, only one of
/// the two succeeds.
pub async fn a_lease_is_not_held_and_lost(store: Arc<dyn Store>, spawn: Spawn) {
    let (_, of) = one(&*store).await;
    let mut tx = begin(&*store).await;
    let lease = tx.acquire_lease(of.id, at(0), at(10)).await.unwrap().unwrap();
    tx.commit().await.unwrap();

    let held = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&held);
    let succeeded = at_once(&store, spawn, MANY, move |store, number| {
        let held = Arc::clone(&counted);
        async move {
            let mut tx = begin_among_others(&*store).await?;
            if number % 2 == 0 {
                tx.extend_lease(&Lease { until: at(60), ..lease }).await?;
                held.fetch_add(1, Ordering::SeqCst);
            } else {
                let taken = tx.acquire_lease(lease.rotation, at(10), at(60)).await?;
                taken.ok_or(StoreError::Stale(Subject::Rotation))?;
            }
            tx.commit().await
        }
    })
    .await;

    let held = held.load(Ordering::SeqCst);
    let all = u64::from(MANY / 2);
    assert!([(1, 0), (all, all)].contains(&(succeeded, held)), "{succeeded}, {held} by holding");
}

/// Only one of many concurrent inserts of a rotation attempt succeeds.
pub async fn one_of_many_begins_an_attempt(store: Arc<dyn Store>, spawn: Spawn) {
    let (_, of) = one(&*store).await;

    let rotation = of.clone();
    let succeeded = at_once(&store, spawn, MANY, move |store, number| {
        let attempt = attempt(&rotation, u64::from(number) + 1);
        async move {
            let mut tx = begin_among_others(&*store).await?;
            tx.insert_attempt(&attempt).await?;
            tx.commit().await
        }
    })
    .await;

    assert_eq!(succeeded, 1);
    assert!(read(&*store).await.open_attempt(of.id).await.unwrap().is_some());
}

/// Only one of many concurrent attempts to reserve a secret key succeeds. The others store nothing.
pub async fn one_of_many_reserves_a_key(store: Arc<dyn Store>, spawn: Spawn) {
    let (world, _) = one(&*store).await;

    let at_staging = world.staging.clone();
    let succeeded = at_once(&store, spawn, MANY, move |store, number| {
        let rotation = rotation(&at_staging, &format!("r{number}"));
        async move {
            let mut tx = begin_among_others(&*store).await?;
            tx.touch_environment(rotation.environment, 1).await?;
            tx.insert_rotation(&rotation, &keys(&["KEY"])).await?;
            tx.commit().await
        }
    })
    .await;

    assert_eq!(succeeded, 1);
    assert_eq!(read(&*store).await.rotations(world.staging.id).await.unwrap().len(), 2);
}

/// Tasks that lock a rotation do not deadlock with a task that deletes the rotation's team.
pub async fn a_team_is_deleted_beside_work_in_it(store: Arc<dyn Store>, spawn: Spawn) {
    let (world, of) = one(&*store).await;

    let (team, project) = (world.team.id, world.project.id);
    let (environment, rotation) = (of.environment, of.id);
    at_once(&store, spawn, MANY, move |store, number| async move {
        let mut tx = begin_among_others(&*store).await?;
        if number == MANY / 2 {
            tx.lock_team(team).await?;
            tx.delete_team(team, at(1)).await?;
        } else {
            tx.lock_project(project).await?;
            tx.touch_environment(environment, 1).await?;
            tx.lock_rotation(rotation).await?;
        }
        tx.commit().await
    })
    .await;

    assert_eq!(read(&*store).await.rotation(of.id).await.unwrap(), None);
}

/// Creates a test world with one rotation.
async fn one(store: &dyn Store) -> (World, RotationRecord) {
    let world = World::build(store).await;
    let of = rotation(&world.staging, "orders");
    let mut tx = begin(store).await;
    tx.insert_rotation(&of, &[]).await.unwrap();
    tx.commit().await.unwrap();
    (world, of)
}
