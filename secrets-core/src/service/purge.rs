//! Deleting for good what was deleted long ago.

use chrono::TimeDelta;

use super::Service;
use crate::access::RESTORABLE;
use crate::engine::Note;
use crate::model::{Result, Time};
use crate::store::{ProjectRecord, Purge};

/// How much longer than it can be restored a project is kept: the clocks of nodes differ, and none
/// may delete what another can still bring back.
const MARGIN: TimeDelta = TimeDelta::hours(1);

/// The most projects that one round looks at.
const PROJECTS: u32 = 16;

/// The most rows that one transaction deletes.
const ROWS: u32 = 500;

impl Service {
    /// Deletes secrets, versions, environments and keys of projects that can be restored no more.
    /// What stays is a row without a name, so that its slug is never given again. Gives how many
    /// projects are gone; does little at a time, so that others get their turn in between.
    pub async fn purge_projects(&self) -> Result<usize> {
        let before = self.now() - RESTORABLE - MARGIN;
        let doomed = self.store().read().await?.doomed_projects(before, PROJECTS).await?;
        for project in &doomed {
            while self.purge_some(project, before).await? == Purge::Some {}
        }
        Ok(doomed.len())
    }

    async fn purge_some(&self, project: &ProjectRecord, before: Time) -> Result<Purge> {
        let mut tx = self.store().begin().await?;
        let purge = tx.purge_project(project.id, before, ROWS).await?;
        if purge == Purge::Rest {
            let note = Note {
                team: Some(project.team),
                project: Some((project.id, project.slug.to_string())),
                resource: Some(("project", Some(project.id.uuid()), None)),
                ..Note::default()
            };
            let entry = note.into_entry_of_system("project.purged", self.now());
            tx.insert_audit(&[entry]).await?;
        }
        tx.commit().await?;
        Ok(purge)
    }
}
