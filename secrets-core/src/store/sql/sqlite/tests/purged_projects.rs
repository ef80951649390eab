//! Tests of projects that programs of earlier versions have purged.

use super::*;
use crate::model::ProjectId;
use crate::store::{PurgeProgress, Tx};

/// Deletes and purges the project of the world. Then sets the time of deletion that a program of an
/// earlier version leaves.
async fn purge_like_an_earlier_program(store: &SqlStore, world: &World) {
    let mut tx = store.begin().await.unwrap();
    tx.delete_project(world.project.id, at(60)).await.unwrap();
    while purge(&mut *tx, world.project.id).await == PurgeProgress::Partial {}
    tx.commit().await.unwrap();
    let earlier = sqlx::query("UPDATE projects SET deleted_at = $1 WHERE id = $2")
        .bind(at(60))
        .bind(world.project.id.uuid());
    earlier.execute(&store.pools().writers).await.unwrap();
}

async fn purge(tx: &mut dyn Tx, project: ProjectId) -> PurgeProgress {
    tx.purge_project(project, at(61), 9).await.unwrap()
}

async fn purgeable(store: &SqlStore) -> Vec<ProjectId> {
    let mut reads = store.read().await.unwrap();
    let projects = reads.purgeable_projects(at(99), at(99), 9).await.unwrap();
    projects.iter().map(|project| project.id).collect()
}

#[tokio::test]
async fn a_project_that_an_earlier_program_has_purged_is_listed_once() {
    let (store, _folder) = opened().await;
    let world = World::build(&store).await;
    purge_like_an_earlier_program(&store, &world).await;
    assert_eq!(purgeable(&store).await, [world.project.id]);
    let mut tx = store.begin().await.unwrap();

    let progress = purge(&mut *tx, world.project.id).await;

    tx.commit().await.unwrap();
    assert_eq!(progress, PurgeProgress::Nothing);
    assert_eq!(purgeable(&store).await, []);
}
