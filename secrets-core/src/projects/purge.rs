//! Purge: permanently deletes projects whose restore period has ended. The first transaction
//! destroys the project keys; the following transactions delete the rows in batches. A deleted
//! environment is purged in the same way, because the store moves it to a deleted project.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::TimeDelta;

use crate::access::RESTORE_PERIOD;
use crate::engine::{AuditContext, Caller, Engine, Failures, Periodic, Schedule, WorkItem};
use crate::failpoint;
use crate::model::{Error, Result, Time};
use crate::store::{AuditRecord, ProjectRecord, PurgeProgress};

/// Safety margin added to the restore period. The clocks of nodes differ; without the margin, one
/// node could delete a project that another node is still restoring.
const MARGIN: TimeDelta = TimeDelta::hours(1);

/// Maximum number of deleted projects loaded at a time.
const MAX_PROJECTS: u32 = 16;

/// Maximum number of rows deleted in one transaction.
const MAX_ROWS: u32 = 500;

/// Interval between two purges.
const INTERVAL: Duration = Duration::from_mins(1);

/// Maximum duration of a purge of all deleted projects.
const MAX_TIME: Duration = Duration::from_mins(30);

/// Time without a completed purge after which the health report shows the worker as stopped.
const STALE_AFTER: Duration = Duration::from_mins(95);

/// Worker that purges deleted projects. It runs every minute, because deleted environments and the
/// projects of a deleted account are due at once.
pub const PURGE: Periodic = Periodic {
    name: "project purge",
    schedule: Schedule { timeout: MAX_TIME, stale_after: STALE_AFTER, ..Schedule::every(INTERVAL) },
    job: |engine| Box::pin(async move { purge(&engine).await.map(drop) }),
};

/// Permanently deletes the secrets, versions, environments and keys of all projects that can no
/// longer be restored. First destroys the keys of a project, then deletes its rows in short
/// transactions, so that other writers do not wait long. Returns the number of purged projects and
/// environments. A row without a name remains for each project, so that its slug is never reused.
///
/// A project is not purged while a worker works on an attempt of one of its rotations, so that the
/// worker can disable the login that it has changed.
///
/// If a project cannot be purged, the failure is reported, and the next call tries again. The other
/// projects are purged nevertheless. Fails at the end if the purge of a project failed because the
/// store was unavailable.
pub async fn purge(engine: &Engine) -> Result<usize> {
    let before = engine.now() - RESTORE_PERIOD - MARGIN;
    let failures = engine.shared::<Failures>();
    let (mut purged, mut failed, mut unavailable) = (0, BTreeSet::new(), Ok(()));
    loop {
        let limit = MAX_PROJECTS.saturating_add(u32::try_from(failed.len()).unwrap_or(u32::MAX));
        let mut reads = engine.store().read().await?;
        let mut expired = reads.purgeable_projects(before, engine.now(), limit).await?;
        drop(reads);
        expired.retain(|project| !failed.contains(&project.id));
        if expired.is_empty() {
            break;
        }
        for project in &expired {
            let item = WorkItem::ProjectPurge(project.id);
            match purge_project(engine, project, before).await {
                Ok(progress) => {
                    failures.clear(item);
                    purged += usize::from(progress == PurgeProgress::Complete);
                }
                Err(error) => {
                    failures.report(item, &error, engine.now());
                    failed.insert(project.id);
                    // Continue with the next project: deleting the rows of this project may just
                    // take too long. If the store accepts no writes at all, every project fails,
                    // until the job's timeout.
                    if matches!(error, Error::Unavailable(_)) {
                        unavailable = Err(error);
                    }
                }
            }
        }
    }
    if purged > 0 {
        tracing::info!(purged, "purged deleted projects and environments");
    }
    unavailable.map(|()| purged)
}

/// Purges a project. If the process stops at any point, the next purge continues. Returns
/// [`PurgeProgress::Nothing`] for a project that another node or an earlier program has purged.
async fn purge_project(
    engine: &Engine,
    project: &ProjectRecord,
    before: Time,
) -> Result<PurgeProgress> {
    // The store has moved a deleted environment to a project whose key is destroyed from the start.
    if !project.is_deleted_environment() {
        destroy_keys(engine, project, before).await?;
    }
    failpoint::reached("after-purge-keys").await;
    loop {
        let progress = purge_batch(engine, project, before).await?;
        if progress != PurgeProgress::Partial {
            return Ok(progress);
        }
    }
}

/// Destroys the keys of a project, so that its records cannot be decrypted any more, even those
/// that are deleted much later. Does nothing if an earlier purge has destroyed the keys.
async fn destroy_keys(engine: &Engine, project: &ProjectRecord, before: Time) -> Result<()> {
    let mut tx = engine.store().begin().await?;
    let destroyed = tx.destroy_project_keys(project.id, before).await?;
    if destroyed == 0 {
        return Ok(());
    }
    let mut context = context(project);
    context.details.insert("keys".to_owned(), destroyed.into());
    tx.insert_audit(&[entry(engine, context, "project.keys_destroyed")]).await?;
    tx.commit().await?;
    Ok(())
}

async fn purge_batch(
    engine: &Engine,
    project: &ProjectRecord,
    before: Time,
) -> Result<PurgeProgress> {
    let mut tx = engine.store().begin().await?;
    let purge = tx.purge_project(project.id, before, MAX_ROWS).await?;
    // The deletion of an environment has already written an audit entry.
    if purge == PurgeProgress::Complete && !project.is_deleted_environment() {
        tx.insert_audit(&[entry(engine, context(project), "project.purged")]).await?;
    }
    failpoint::reached("in-purge-batch").await;
    tx.commit().await?;
    failpoint::reached("after-purge-batch").await;
    Ok(purge)
}

fn context(project: &ProjectRecord) -> AuditContext {
    AuditContext {
        team: Some(project.team),
        project: Some((project.id, project.slug.to_string())),
        resource: Some(("project", Some(project.id.uuid()), None)),
        ..AuditContext::default()
    }
}

fn entry(engine: &Engine, context: AuditContext, action: &'static str) -> AuditRecord {
    context.into_entry(&Caller::system(), action, engine.now())
}
