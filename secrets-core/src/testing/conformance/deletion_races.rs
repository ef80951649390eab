//! Conformance rules for concurrent deletions of environments.

use std::sync::Arc;

use super::races::MANY;
use super::{Spawn, at_once, begin_among_others, purge, read};
use crate::model::{Principal, ProjectId};
use crate::store::Store;
use crate::testing::fixtures::{World, at, secret};

/// A concurrent deletion of the same environment fails with `Stale`: one transaction deletes it.
pub async fn an_environment_is_deleted_once(store: Arc<dyn Store>, spawn: Spawn) {
    let world = World::build(&*store).await;
    let environment = world.staging.id;

    let deleted = at_once(&store, spawn, 16, |store, _| async move {
        let mut tx = begin_among_others(&*store).await?;
        tx.delete_environment(environment).await?;
        tx.commit().await
    })
    .await;

    assert_eq!(deleted, 1);
    assert_eq!(read(&*store).await.purgeable_projects(at(0), at(99), 9).await.unwrap().len(), 1);
}

/// Writes to an environment and the deletion of the environment happen one after the other: no
/// secret remains after the deletion and the purge.
pub async fn a_concurrently_deleted_environment_keeps_no_records(
    store: Arc<dyn Store>,
    spawn: Spawn,
) {
    let world = World::build(&*store).await;
    let production = world.production.clone();

    at_once(&store, spawn, MANY, move |store, number| {
        let own = secret(&production, &format!("KEY_{number}"));
        async move {
            let mut tx = begin_among_others(&*store).await?;
            if number % 16 == 15 {
                tx.delete_environment(own.environment).await?;
            } else {
                tx.touch_environment(own.environment, 1).await?;
                tx.insert_secrets(&[own]).await?;
            }
            tx.commit().await
        }
    })
    .await;

    purge(&*store, ProjectId::from(world.production.id.uuid())).await;
    let mut seen = read(&*store).await;
    let left = seen.environments(world.project.id, Principal::User(world.owner.id)).await.unwrap();
    assert_eq!(left, [world.development, world.staging]);
    assert_eq!(seen.count_secrets(world.production.id).await.unwrap(), 0);
    assert_eq!(seen.secret_range().await.unwrap(), None);
}
