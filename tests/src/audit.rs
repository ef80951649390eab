//! Functions for tests that read the audit log from the store.

use std::cmp::Reverse;

use secrets_core::audit;
use secrets_core::model::{AuditBatchId, TeamId, ids};
use secrets_core::store::{AuditFilter, AuditRecord, Reads};

use crate::{App, until};

/// Returns the newest entries of a team's audit log, newest first. Includes entries that a worker
/// has not yet moved from the stored batches to the log.
pub(crate) async fn entries(reads: &mut dyn Reads, team: TeamId, limit: u32) -> Vec<AuditRecord> {
    // Reads the batches first, because a worker may move their entries to the log meanwhile.
    let batches = reads.audit_batches(AuditBatchId::NIL, 100_000).await.unwrap();
    let mut entries = reads.audit_entries(&AuditFilter::newest(team, limit)).await.unwrap();
    let new = batches.into_iter().flat_map(|batch| batch.entries.unwrap());
    entries.extend(new.filter(|entry| entry.team == Some(team)));
    entries.sort_by_key(|entry| Reverse((entry.created_at, entry.id)));
    entries.dedup_by_key(|entry| entry.id);
    entries
}

impl App {
    /// Returns the newest entries of a team's audit log, newest first. Includes entries that a
    /// worker has not yet moved from the stored batches to the log.
    pub async fn audit(&self, team: &str) -> Vec<AuditRecord> {
        let team: TeamId = ids::parse(team).unwrap().into();
        entries(&mut *self.store.read().await.unwrap(), team, 100).await
    }

    /// Returns the actions in the newest entries of a team's audit log, sorted by name. Entries
    /// about refused requests are not included.
    pub async fn actions(&self, team: &str) -> Vec<String> {
        let mut entries = self.audit(team).await;
        entries.retain(|entry| entry.outcome != "denied");
        let mut actions: Vec<_> =
            entries.into_iter().map(|entry| entry.action.into_owned()).collect();
        actions.sort();
        actions
    }

    /// Returns the entry with this action in the newest entries of a team's audit log. Panics
    /// unless there is exactly one.
    pub async fn entry(&self, team: &str, action: &str) -> AuditRecord {
        let mut entries = self.audit(team).await;
        entries.retain(|entry| entry.action == action);
        assert_eq!(entries.len(), 1, "{action}");
        entries.remove(0)
    }

    /// Appends all new entries to the audit chains of their teams. Tries again if a background
    /// worker appends at the same time.
    ///
    /// # Panics
    ///
    /// Panics if some entries are still not in their chain after 90 seconds.
    pub async fn seal(&self) {
        until("all entries are in their chain", async || {
            audit::seal(self.service.engine()).await.unwrap();
            let mut reads = self.store.read().await.unwrap();
            reads.count_unsealed_audit().await.unwrap() == 0
        })
        .await;
    }
}
