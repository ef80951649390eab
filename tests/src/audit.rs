//! The audit log, which has no endpoint yet.

use secrets_core::ids;
use secrets_core::store::AuditRecord;

use crate::App;

impl App {
    /// The newest entries of a team's audit log, newest first.
    pub async fn audit(&self, team: &str) -> Vec<AuditRecord> {
        let team = ids::parse(team).unwrap().into();
        let mut reads = self.store.read().await.unwrap();
        reads.audit_entries(team, 100).await.unwrap()
    }

    /// What the newest entries of a team's audit log say was done, oldest first.
    pub async fn actions(&self, team: &str) -> Vec<String> {
        let entries = self.audit(team).await;
        entries.into_iter().rev().map(|entry| entry.action).collect()
    }
}
