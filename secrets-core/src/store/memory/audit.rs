use async_trait::async_trait;

use super::state::owned;
use super::{Pending, Session, Snapshot};
use crate::ids::TeamId;
use crate::store::{AuditReads, AuditRecord, AuditWrites, StoreResult};

#[async_trait]
impl<S: Snapshot> AuditReads for Session<S> {
    async fn audit_entries(&mut self, team: TeamId, limit: u32) -> StoreResult<Vec<AuditRecord>> {
        let entries = self.state().audit.get(&Some(team)).cloned().unwrap_or_default();
        Ok(entries.values().rev().take(limit as usize).map(owned).collect())
    }
}

#[async_trait]
impl AuditWrites for Session<Pending> {
    async fn insert_audit(&mut self, entries: &[AuditRecord]) -> StoreResult<()> {
        let state = self.state_mut();
        for entry in entries {
            if state.audit_ids.insert(entry.id).is_none() {
                let of_team = state.audit.entry(entry.team).or_default();
                of_team.insert((entry.created_at, entry.id), entry.clone().into());
            }
        }
        Ok(())
    }
}
