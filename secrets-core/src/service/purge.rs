//! Purge: permanently deletes projects whose restore period has ended.

use chrono::TimeDelta;

use super::Service;
use crate::access::RESTORABLE;
use crate::engine::{Caller, Note};
use crate::model::{Result, Time};
use crate::store::{ProjectRecord, Purge};

/// Safety margin added to the restore period. The clocks of nodes differ, and no node may delete a
/// project that another can still restore.
const MARGIN: TimeDelta = TimeDelta::hours(1);

/// Maximum number of projects per call.
const MAX_PROJECTS: u32 = 16;

/// Maximum number of rows deleted per transaction.
const MAX_ROWS: u32 = 500;

impl Service {
    /// Deletes the secrets, versions, environments and keys of projects that can no longer be
    /// restored, in small transactions, so that other writers are not blocked for long. Returns the
    /// number of projects purged. A row without a name remains, so that the slug is never reused.
    pub async fn purge_projects(&self) -> Result<usize> {
        let before = self.now() - RESTORABLE - MARGIN;
        let expired = self.store().read().await?.doomed_projects(before, MAX_PROJECTS).await?;
        for project in &expired {
            while self.purge_batch(project, before).await? == Purge::Some {}
        }
        Ok(expired.len())
    }

    async fn purge_batch(&self, project: &ProjectRecord, before: Time) -> Result<Purge> {
        let mut tx = self.store().begin().await?;
        let purge = tx.purge_project(project.id, before, MAX_ROWS).await?;
        if purge == Purge::Rest {
            let note = Note {
                team: Some(project.team),
                project: Some((project.id, project.slug.to_string())),
                resource: Some(("project", Some(project.id.uuid()), None)),
                ..Note::default()
            };
            let entry = note.into_entry(&Caller::system(), "project.purged", self.now());
            tx.insert_audit(&[entry]).await?;
        }
        tx.commit().await?;
        Ok(purge)
    }
}
