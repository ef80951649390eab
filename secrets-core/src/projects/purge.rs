//! Purge: permanently deletes projects whose restore period has ended.

use chrono::TimeDelta;

use crate::access::RESTORABLE;
use crate::engine::{Caller, Engine, Note, Periodic, Schedule};
use crate::model::{Result, Time};
use crate::store::{ProjectRecord, Purge};

/// Safety margin added to the restore period. The clocks of nodes differ, and no node may delete a
/// project that another can still restore.
const MARGIN: TimeDelta = TimeDelta::hours(1);

/// Maximum number of projects per call.
const MAX_PROJECTS: u32 = 16;

/// Maximum number of rows deleted per transaction.
const MAX_ROWS: u32 = 500;

/// Worker that purges deleted projects.
pub const PURGE: Periodic = Periodic {
    name: "project purge",
    schedule: Schedule::hourly(),
    job: |engine| Box::pin(async move { purge(&engine).await.map(drop) }),
};

/// Deletes the secrets, versions, environments and keys of projects that can no longer be
/// restored, in small transactions, so that other writers are not blocked for long. Returns the
/// number of projects purged. A row without a name remains, so that the slug is never reused.
pub async fn purge(engine: &Engine) -> Result<usize> {
    let before = engine.now() - RESTORABLE - MARGIN;
    let expired = engine.store().read().await?.doomed_projects(before, MAX_PROJECTS).await?;
    for project in &expired {
        while purge_batch(engine, project, before).await? == Purge::Some {}
    }
    if !expired.is_empty() {
        tracing::info!(projects = expired.len(), "purged deleted projects");
    }
    Ok(expired.len())
}

async fn purge_batch(engine: &Engine, project: &ProjectRecord, before: Time) -> Result<Purge> {
    let mut tx = engine.store().begin().await?;
    let purge = tx.purge_project(project.id, before, MAX_ROWS).await?;
    if purge == Purge::Rest {
        let note = Note {
            team: Some(project.team),
            project: Some((project.id, project.slug.to_string())),
            resource: Some(("project", Some(project.id.uuid()), None)),
            ..Note::default()
        };
        let entry = note.into_entry(&Caller::system(), "project.purged", engine.now());
        tx.insert_audit(&[entry]).await?;
    }
    tx.commit().await?;
    Ok(purge)
}
