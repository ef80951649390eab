use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;

use super::state::{State, owned, refers};
use super::{Pending, Session, Snapshot};
use crate::crypto::Fingerprint;
use crate::model::scans::FindingStatus;
use crate::model::{FindingId, ProjectId, ScanId, Subject, TeamId, Time};
use crate::store::{
    FindingRecord, KeptScans, ScanReads, ScanRecord, ScanWrites, StoreError, StoreResult,
};

#[async_trait]
impl<S: Snapshot> ScanReads for Session<S> {
    async fn scan(&mut self, scan: ScanId) -> StoreResult<Option<ScanRecord>> {
        let state = self.state();
        Ok(state.scans.get(&scan).filter(|scan| state.is_visible(scan)).map(owned))
    }

    async fn scans(
        &mut self,
        teams: &[TeamId],
        project: Option<ProjectId>,
        limit: u32,
    ) -> StoreResult<Vec<ScanRecord>> {
        let state = self.state();
        let wanted = state.scans.values().filter(|scan| {
            teams.contains(&scan.team)
                && (project.is_none() || scan.project == project)
                && state.is_visible(scan)
        });
        let mut scans: Vec<_> = wanted.map(owned).collect();
        scans.sort_by_key(|scan| std::cmp::Reverse((scan.created_at, scan.id)));
        scans.truncate(limit as usize);
        Ok(scans)
    }

    async fn findings(&mut self, scan: ScanId) -> StoreResult<Vec<FindingRecord>> {
        let findings = self.state().findings.get(&scan).cloned().unwrap_or_default();
        let mut findings: Vec<_> = findings.values().map(owned).collect();
        findings.sort_by_key(|finding| finding.position);
        Ok(findings)
    }

    async fn finding(
        &mut self,
        scan: ScanId,
        finding: FindingId,
    ) -> StoreResult<Option<FindingRecord>> {
        let state = self.state();
        Ok(state.findings.get(&scan).and_then(|findings| findings.get(&finding)).map(owned))
    }

    async fn marks(
        &mut self,
        team: TeamId,
        fingerprints: &[Fingerprint],
    ) -> StoreResult<Vec<(Fingerprint, FindingStatus)>> {
        let state = self.state();
        let wanted: BTreeSet<_> = fingerprints.iter().copied().collect();
        let marks = wanted.into_iter();
        Ok(marks.filter_map(|of| Some((of, *state.finding_marks.get(&(team, of))?))).collect())
    }

    async fn count_marks(&mut self, team: TeamId) -> StoreResult<u64> {
        let state = self.state();
        let marks = state.finding_marks.keys();
        Ok(marks.filter(|(of, _)| *of == team).map(|_| 1).sum())
    }
}

#[async_trait]
impl ScanWrites for Session<Pending> {
    async fn insert_scan(
        &mut self,
        scan: &ScanRecord,
        findings: &[FindingRecord],
    ) -> StoreResult<()> {
        let state = self.state_mut();
        if state.scans.contains_key(&scan.id) {
            return Err(StoreError::Duplicate(Subject::Scan));
        }
        refers(state.teams.contains_key(&scan.team), "team")?;
        refers(scan.project.is_none_or(|id| state.project_keys.contains_key(&id)), "project")?;
        let found = findings.iter().map(|finding| (finding.id, Arc::new(finding.clone())));
        state.findings.insert(scan.id, found.collect());
        state.scans.insert(scan.id, scan.clone().into());
        Ok(())
    }

    async fn update_finding(&mut self, finding: &FindingRecord) -> StoreResult<()> {
        const GONE: StoreError = StoreError::Stale(Subject::Finding);
        let findings = self.state_mut().findings.get_mut(&finding.scan).ok_or(GONE)?;
        let known = findings.get(&finding.id).map(owned).ok_or(GONE)?;
        let changed = FindingRecord {
            status: finding.status,
            comment: finding.comment.clone(),
            updated_at: finding.updated_at,
            updated_by: finding.updated_by,
            ..known
        };
        findings.insert(finding.id, changed.into());
        Ok(())
    }

    async fn mark(
        &mut self,
        team: TeamId,
        fingerprint: Fingerprint,
        status: Option<FindingStatus>,
    ) -> StoreResult<()> {
        let state = self.state_mut();
        refers(state.teams.contains_key(&team), "team")?;
        match status {
            Some(status) => state.finding_marks.insert((team, fingerprint), status),
            None => state.finding_marks.remove(&(team, fingerprint)),
        };
        Ok(())
    }

    async fn prune_scans(&mut self, before: Time, limit: u32) -> StoreResult<u64> {
        let state = self.state_mut();
        let old = state.scans.values().filter(|scan| scan.created_at < before);
        let mut old: Vec<_> = old.map(|scan| (scan.created_at, scan.id)).collect();
        old.sort_unstable();
        old.truncate(limit as usize);
        for (_, scan) in &old {
            state.scans.remove(scan);
            state.findings.remove(scan);
        }
        Ok(old.len() as u64)
    }

    async fn prune_excess_scans(
        &mut self,
        scan: &ScanRecord,
        keep: KeptScans,
        limit: u32,
    ) -> StoreResult<u64> {
        let state = self.state_mut();
        let excess = state.excess_scans(scan, keep);
        let (mut scans, mut findings) = (0, 0);
        for scan in excess.iter().rev() {
            if findings >= u64::from(limit) {
                break;
            }
            (scans, findings) = (scans + 1, findings + scan.findings().max(1));
            state.scans.remove(&scan.id);
            state.findings.remove(&scan.id);
        }
        Ok(scans)
    }

    async fn delete_scan(&mut self, scan: ScanId) -> StoreResult<()> {
        let state = self.state_mut();
        state.scans.remove(&scan).ok_or(StoreError::Stale(Subject::Scan))?;
        state.findings.remove(&scan);
        Ok(())
    }
}

impl State {
    /// Deletes the scans for which `is_selected` returns true, with their findings.
    pub(super) fn forget_scans(&mut self, is_selected: impl Fn(&ScanRecord) -> bool) {
        let selected: Vec<_> =
            self.scans.values().filter(|scan| is_selected(scan)).map(|scan| scan.id).collect();
        for scan in selected {
            self.scans.remove(&scan);
            self.findings.remove(&scan);
        }
    }

    /// Returns the scans that exceed the limits of [`ScanWrites::prune_excess_scans`], newest first.
    fn excess_scans(&self, scan: &ScanRecord, keep: KeptScans) -> Vec<Arc<ScanRecord>> {
        let is_alike = |other: &&Arc<ScanRecord>| {
            other.team == scan.team && other.has_findings() == scan.has_findings()
        };
        let mut scans: Vec<_> = self.scans.values().filter(is_alike).cloned().collect();
        scans.sort_unstable_by_key(|scan| std::cmp::Reverse((scan.created_at, scan.id)));
        let (mut in_place, mut findings) = (0, 0);
        scans.retain(|other| {
            let is_in_place = other.project == scan.project;
            in_place += u32::from(is_in_place);
            findings += other.findings().max(1);
            (is_in_place && in_place > keep.scans) || findings > u64::from(keep.findings)
        });
        scans
    }

    /// True unless the project of the scan is deleted.
    fn is_visible(&self, scan: &ScanRecord) -> bool {
        scan.project.is_none_or(|project| self.projects.contains_key(&project))
    }
}
