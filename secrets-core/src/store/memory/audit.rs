use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::sync::Arc;

use async_trait::async_trait;
use imbl::OrdSet;

use super::state::{State, Table, owned};
use super::{Pending, Session, Snapshot};
use crate::model::{AuditBatchId, AuditId, Subject, TeamId, Time, UserId};
use crate::store::{
    ANONYMIZATION_MARGIN, ActionFilter, AuditBatch, AuditFilter, AuditHead, AuditOrder, AuditReads,
    AuditRecord, AuditScope, AuditWrites, ChainExtension, StoreError, StoreResult,
};

type Entries = Table<(Time, AuditId), AuditRecord>;

const STALE: StoreError = StoreError::Stale(Subject::Audit);

#[async_trait]
impl<S: Snapshot> AuditReads for Session<S> {
    async fn audit_entries(&mut self, filter: &AuditFilter) -> StoreResult<Vec<AuditRecord>> {
        let (entries, limit) = (of_scope(&self.state(), filter.scope), filter.limit as usize);
        let found = in_range(&entries, filter).filter(|entry| is_match(filter, entry));
        Ok(found.take(limit).map(owned).collect())
    }

    async fn audit_entry_at(
        &mut self,
        filter: &AuditFilter,
        count: u32,
    ) -> StoreResult<Option<(Time, AuditId)>> {
        let Some(before) = count.checked_sub(1) else { return Ok(None) };
        let entries = of_scope(&self.state(), filter.scope);
        let entry = in_range(&entries, filter).nth(before as usize);
        Ok(entry.map(|entry| (entry.created_at, entry.id)))
    }

    async fn unsealed_teams(&mut self) -> StoreResult<Vec<Option<TeamId>>> {
        Ok(self.state().audit_unsealed.keys().copied().collect())
    }

    async fn unsealed_teams_among(&mut self, teams: &[TeamId]) -> StoreResult<Vec<TeamId>> {
        let unsealed = &self.state().audit_unsealed;
        Ok(teams.iter().copied().filter(|team| unsealed.contains_key(&Some(*team))).collect())
    }

    async fn unsealed_audit(
        &mut self,
        team: Option<TeamId>,
        limit: u32,
    ) -> StoreResult<Vec<AuditRecord>> {
        let state = self.state();
        let Some(entries) = state.audit.get(&team) else { return Ok(Vec::new()) };
        let places = state.audit_unsealed.get(&team).into_iter().flatten().take(limit as usize);
        Ok(places.filter_map(|place| entries.get(place)).map(owned).collect())
    }

    async fn count_unsealed_audit(&mut self) -> StoreResult<u64> {
        let state = self.state();
        let single = state.audit_unsealed.values().map(OrdSet::len);
        let batched = state.audit_batches.values().map(|entries| entries.len());
        Ok(single.chain(batched).map(|count| count as u64).sum())
    }

    async fn count_unsealed_audit_of(
        &mut self,
        team: Option<TeamId>,
        limit: u32,
    ) -> StoreResult<u64> {
        let count = self.state().audit_unsealed.get(&team).map_or(0, OrdSet::len);
        Ok((count as u64).min(limit.into()))
    }

    async fn audit_batches(
        &mut self,
        behind: AuditBatchId,
        limit: u32,
    ) -> StoreResult<Vec<AuditBatch>> {
        let state = self.state();
        let batches = state.audit_batches.range((Excluded(behind), Unbounded));
        let batches = batches.take(limit as usize);
        Ok(batches
            .map(|(id, entries)| AuditBatch { id: *id, entries: Some(entries.to_vec()) })
            .collect())
    }

    async fn last_audit_batch(&mut self) -> StoreResult<Option<AuditBatchId>> {
        Ok(self.state().audit_batches.get_max().map(|(id, _)| *id))
    }

    async fn next_audited_team(&mut self, after: TeamId) -> StoreResult<Option<TeamId>> {
        let state = self.state();
        let behind = (Excluded((Some(after), u64::MAX)), Unbounded);
        Ok(state.audit_chain.range(behind).next().and_then(|((team, _), _)| *team))
    }

    async fn audit_head(&mut self, team: Option<TeamId>) -> StoreResult<Option<AuditHead>> {
        Ok(self.state().audit_heads.get(&team).copied())
    }

    async fn audit_heads_among(&mut self, teams: &[Option<TeamId>]) -> StoreResult<Vec<AuditHead>> {
        let heads = &self.state().audit_heads;
        Ok(teams.iter().filter_map(|team| heads.get(team).copied()).collect())
    }

    async fn audit_chains(&mut self) -> StoreResult<Vec<Option<TeamId>>> {
        Ok(self.state().audit_heads.keys().copied().collect())
    }

    async fn audit_chain(
        &mut self,
        team: Option<TeamId>,
        behind: u64,
        limit: u32,
    ) -> StoreResult<Vec<AuditRecord>> {
        let state = self.state();
        let Some(entries) = state.audit.get(&team) else { return Ok(Vec::new()) };
        let places =
            state.audit_chain.range((Excluded((team, behind)), Included((team, u64::MAX))));
        let places = places.take(limit as usize);
        Ok(places.filter_map(|(_, place)| entries.get(place)).map(owned).collect())
    }

    async fn unfinished_anonymizations(&mut self, limit: u32) -> StoreResult<Vec<UserId>> {
        Ok(self.state().anonymizations.keys().take(limit as usize).copied().collect())
    }

    async fn audit_position(
        &mut self,
        team: Option<TeamId>,
        from: Time,
    ) -> StoreResult<Option<u64>> {
        let entries = self.state().audit.get(&team).cloned().unwrap_or_default();
        let young = entries.values().filter(|entry| entry.created_at >= from);
        Ok(young.filter_map(|entry| entry.seal).map(|seal| seal.position).min())
    }
}

/// Anonymizes audit entries of a user after the bound `start`, at most `limit`. Returns their
/// number, and the time and ID of the last one (`None` if there are none).
fn anonymize(
    state: &mut State,
    user: UserId,
    start: Bound<(Time, AuditId)>,
    limit: u32,
) -> (u32, Option<(Time, AuditId)>) {
    let entries = of_scope(state, AuditScope::Actor(user.uuid()));
    let theirs = |(_, entry): &(_, &Arc<AuditRecord>)| {
        entry.actor_type == "user" && (entry.actor_name.is_some() || entry.actor_email.is_some())
    };
    let (mut count, mut last) = (0, None);
    for (place, entry) in entries.range((start, Unbounded)).filter(theirs).take(limit as usize) {
        let nameless = AuditRecord { actor_name: None, actor_email: None, ..owned(entry) };
        state.audit.entry(nameless.team).or_default().insert(*place, nameless.into());
        (count, last) = (count + 1, Some(*place));
    }
    (count, last)
}

fn extend(
    state: &mut State,
    ChainExtension { end, head, seals }: &ChainExtension,
) -> StoreResult<()> {
    let place = |head: &AuditHead| (head.position, head.base, head.base_hash);
    let known = state.audit_heads.get(&head.team).map_or((0, 0, [0; 32]), place);
    if known != (*end, head.base, head.base_hash) {
        return Err(STALE);
    }
    state.audit_heads.insert(head.team, *head);
    for (id, seal) in seals {
        let places = state.audit_unsealed.entry(head.team).or_default();
        let place = *places.iter().find(|(_, unsealed)| unsealed == id).ok_or(STALE)?;
        places.remove(&place);
        if places.is_empty() {
            state.audit_unsealed.remove(&head.team);
        }
        let entries = state.audit.entry(head.team).or_default();
        let entry = entries.get_mut(&place).ok_or(STALE)?;
        Arc::make_mut(entry).seal = Some(*seal);
        state.audit_chain.insert((head.team, seal.position), place);
    }
    Ok(())
}

/// Returns the audit entries of a team or an actor.
fn of_scope(state: &State, scope: AuditScope) -> Entries {
    match scope {
        AuditScope::Team(team) => state.audit.get(&Some(team)).cloned().unwrap_or_default(),
        AuditScope::Actor(actor) => {
            let all = state.audit.values().flat_map(|entries| entries.iter());
            let theirs = all.filter(|(_, entry)| entry.actor_id == Some(actor));
            theirs.map(|(place, entry)| (*place, Arc::clone(entry))).collect()
        }
    }
}

/// Returns the audit entries within a filter's time range and after its cursor, in its sort order.
fn in_range<'a>(
    entries: &'a Entries,
    filter: &'a AuditFilter,
) -> Box<dyn Iterator<Item = &'a Arc<AuditRecord>> + 'a> {
    let behind = filter.behind.map_or(Unbounded, Excluded);
    let is_in_time = |entry: &&Arc<AuditRecord>| {
        filter.from.is_none_or(|from| entry.created_at >= from)
            && filter.to.is_none_or(|to| entry.created_at < to)
    };
    let until = filter.until;
    match filter.order {
        AuditOrder::Newest => {
            let found = entries.range((Unbounded, behind)).rev();
            let found = found.take_while(move |(place, _)| until.is_none_or(|end| **place >= end));
            Box::new(found.map(|(_, entry)| entry).filter(is_in_time))
        }
        AuditOrder::Oldest => {
            let found = entries.range((behind, Unbounded));
            let found = found.take_while(move |(place, _)| until.is_none_or(|end| **place <= end));
            Box::new(found.map(|(_, entry)| entry).filter(is_in_time))
        }
    }
}

/// True if an audit entry matches the conditions of the filter, except scope, time range and
/// cursor.
fn is_match(filter: &AuditFilter, entry: &AuditRecord) -> bool {
    fn same<T: PartialEq + ?Sized>(expected: Option<&T>, actual: Option<&T>) -> bool {
        expected.is_none() || expected == actual
    }
    let is_of_action = filter.actions.is_empty()
        || filter.actions.iter().any(|action| match action {
            ActionFilter::Exactly(action) => entry.action == *action,
            ActionFilter::Prefix(start) => entry.action.starts_with(start.as_str()),
        });
    is_of_action
        && same(filter.actor.as_ref(), entry.actor_id.as_ref())
        && same(filter.actor_type.as_deref(), Some(&entry.actor_type))
        && same(filter.project.as_ref(), entry.project.as_ref())
        && same(filter.environment.as_ref(), entry.environment.as_ref())
        && same(filter.resource_type.as_deref(), Some(&entry.resource_type))
        && same(filter.resource.as_ref(), entry.resource_id.as_ref())
        && same(filter.resource_name.as_ref(), entry.resource_name.as_ref())
        && same(filter.outcome.as_deref(), Some(&entry.outcome))
        && same(filter.address.as_ref(), entry.address.as_ref())
}

#[async_trait]
impl AuditWrites for Session<Pending> {
    async fn insert_audit(&mut self, entries: &[AuditRecord]) -> StoreResult<()> {
        let state = self.state_mut();
        for entry in entries {
            let place = (entry.created_at, entry.id);
            let entries = state.audit.entry(entry.team).or_default();
            if !entries.contains_key(&place) {
                let unsealed = AuditRecord { seal: None, ..entry.clone() };
                entries.insert(place, unsealed.into());
                state.audit_unsealed.entry(entry.team).or_default().insert(place);
            }
        }
        Ok(())
    }

    async fn insert_audit_batch(&mut self, entries: &Arc<[AuditRecord]>) -> StoreResult<()> {
        if let Some(first) = entries.first() {
            let id = AuditBatchId::draw(first.created_at);
            self.state_mut().audit_batches.insert(id, Arc::clone(entries));
        }
        Ok(())
    }

    async fn delete_audit_batches(
        &mut self,
        batches: &[AuditBatchId],
    ) -> StoreResult<Vec<AuditBatchId>> {
        let stored = &mut self.state_mut().audit_batches;
        Ok(batches.iter().copied().filter(|batch| stored.remove(batch).is_some()).collect())
    }

    async fn insert_sealed_audit(&mut self, entries: Vec<AuditRecord>) -> StoreResult<()> {
        let state = self.state_mut();
        for entry in entries {
            let place = (entry.created_at, entry.id);
            let seal = entry.seal.ok_or(STALE)?;
            state.audit_chain.insert((entry.team, seal.position), place);
            let known = state.audit.entry(entry.team).or_default();
            if known.insert(place, entry.into()).is_some() {
                return Err(STALE);
            }
        }
        Ok(())
    }

    async fn anonymize_actor(&mut self, user: UserId, limit: u32, now: Time) -> StoreResult<bool> {
        let state = self.state_mut();
        let (count, last) = anonymize(state, user, Unbounded, limit);
        let is_complete = count < limit;
        let place = last.filter(|_| !is_complete);
        let place = place.unwrap_or((now - ANONYMIZATION_MARGIN, AuditId::NIL));
        state.anonymizations.insert(user, place);
        Ok(is_complete)
    }

    async fn resume_anonymization(
        &mut self,
        user: UserId,
        limit: u32,
        now: Time,
    ) -> StoreResult<bool> {
        let state = self.state_mut();
        let Some(start) = state.anonymizations.get(&user).copied() else { return Ok(true) };
        let (count, last) = anonymize(state, user, Excluded(start), limit);
        let is_complete = count < limit;
        match last {
            Some(last) if !is_complete => drop(state.anonymizations.insert(user, last)),
            // Without an ID, an earlier call has found no more entries.
            None if start.1 == AuditId::NIL => {
                if start.0 + ANONYMIZATION_MARGIN * 2 <= now {
                    state.anonymizations.remove(&user);
                }
            }
            _ => {
                let place = (now - ANONYMIZATION_MARGIN, AuditId::NIL);
                state.anonymizations.insert(user, place);
            }
        }
        Ok(is_complete)
    }

    async fn lock_audit_heads(&mut self, teams: &[Option<TeamId>]) -> StoreResult<Vec<AuditHead>> {
        self.audit_heads_among(teams).await
    }

    async fn seal_audit(&mut self, chains: &[ChainExtension]) -> StoreResult<()> {
        chains.iter().try_for_each(|chain| extend(self.state_mut(), chain))
    }

    async fn prune_audit(&mut self, head: &AuditHead, base: u64) -> StoreResult<()> {
        let state = self.state_mut();
        let known = state.audit_heads.get(&head.team);
        if known.is_none_or(|known| (known.base, known.position) != (base, head.position)) {
            return Err(STALE);
        }
        state.audit_heads.insert(head.team, *head);
        for position in base + 1..=head.base {
            if let Some(place) = state.audit_chain.remove(&(head.team, position)) {
                state.audit.entry(head.team).or_default().remove(&place);
            }
        }
        Ok(())
    }
}
