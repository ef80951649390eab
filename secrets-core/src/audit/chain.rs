//! Audit chains: the hash chains that the audit log consists of, one for each team.
//!
//! Entries are appended to the audit chain of their team (and get a position and a hash) after they
//! are written. They are pruned (deleted) when their retention period ends.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::TimeDelta;
use serde::Serialize;
use uuid::Uuid;

use crate::crypto::{Keyring, is_same};
use crate::engine::audit_chain::{self, MAX_SEALED, entry_hash, head_mac, seal_batches};
use crate::engine::{
    AuditContext, Caller, Engine, Failures, Periodic, Schedule, WorkItem, refusals, yield_now,
};
use crate::model::{TeamId, Time};
use crate::store::{AuditHead, AuditRecord, Reads, StoreError, StoreResult};

/// Maximum number of audit entries pruned from an audit chain in one transaction.
const MAX_PRUNED: u64 = 1_000;

/// Maximum difference between the times of an entry and of later entries of its chain, which several
/// nodes may have written concurrently.
const ORDER_MARGIN: TimeDelta = TimeDelta::hours(1);

/// Maximum number of consecutive retries to prune an audit chain that another transaction changes
/// at the same time.
const MAX_COLLISIONS: u32 = 10;

/// Result of verifying all audit chains.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct VerifiedAudit {
    /// Number of audit chains: one for each team, and one for entries that belong to no team.
    pub chains: u64,
    /// Number of audit entries in audit chains that were verified as unchanged.
    pub entries: u64,
    /// Number of audit entries that have not been appended to an audit chain yet.
    pub unsealed: u64,
    /// Audit chains that failed verification: something other than the service has modified them.
    pub broken: Vec<BrokenChain>,
}

/// An audit chain that failed verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BrokenChain {
    /// Team of the audit chain; absent for the chain of entries that belong to no team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamId>,
    /// First position at which the audit chain is invalid, because an entry was changed, removed or
    /// inserted there.
    pub position: u64,
}

/// Result of verifying an audit chain, or the newest entries of an audit chain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct VerifiedChain {
    /// Position of the last entry that was deleted at the end of its retention period; 0 if none
    /// was deleted.
    pub(super) base: u64,
    /// Position of the entry before the first entry to verify.
    pub(super) start: u64,
    /// Position of the last entry that was verified as unchanged; `start` if there is none.
    pub(super) end: u64,
    /// Time of the last entry that was verified as unchanged.
    pub(super) verified_until: Option<Time>,
    /// First defect of the chain; `None` if there is none.
    pub(super) defect: Option<Defect>,
}

/// Change of an audit chain by something other than the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Defect {
    /// The head of the chain (its stored start and end) was changed or deleted.
    Head,
    /// The entry at this position was changed or removed, or another entry was inserted there.
    Entry(u64),
}

impl VerifiedChain {
    /// Creates the result of a verification that begins after the entry at position `start`.
    fn after(head: &AuditHead, start: u64) -> Self {
        Self { base: head.base, start, end: start, ..Self::default() }
    }

    /// Returns the result with this defect.
    fn with(self, defect: Defect) -> Self {
        Self { defect: Some(defect), ..self }
    }
}

/// Worker that stores the audit entries of refused requests, and appends new entries to the audit
/// chains.
pub const SEAL: Periodic = Periodic {
    name: "audit seal",
    schedule: Schedule::every(Duration::from_secs(10)),
    job: |engine| {
        Box::pin(async move {
            // A failure must not delay the sealing of other entries.
            let written = refusals::write_pending(&engine, false).await;
            Ok(seal(&engine).await.and(written)?)
        })
    },
};

/// Worker that moves audit entries from batches to the audit chains. The service stores the entries
/// of reads in batches first, because that is faster than storing single entries.
pub const SEAL_BATCHES: Periodic = Periodic {
    name: "audit batches",
    schedule: Schedule::every(Duration::from_secs(1)),
    job: |engine| {
        Box::pin(async move {
            probe(&engine).await;
            Ok(seal_batches(&engine).await.map(drop)?)
        })
    },
};

/// Tries to store the audit entry `audit.resumed` if the last batch of audit entries could not be
/// stored. Once this succeeds, the node is healthy again, even if a load balancer sends no requests
/// to the unhealthy node.
pub async fn probe(engine: &Engine) {
    if engine.records() {
        return;
    }
    let context =
        AuditContext { resource: Some(("audit_log", None, None)), ..AuditContext::default() };
    let entry = context.into_entry(&Caller::system(), "audit.resumed", engine.now());
    // The queue logs the error.
    engine.record(entry).await.ok();
}

/// Worker that deletes audit entries whose retention period has ended.
pub const PRUNE: Periodic = Periodic {
    name: "audit prune",
    schedule: Schedule::hourly(),
    job: |engine| Box::pin(async move { Ok(prune(&engine).await?) }),
};

/// Appends all new audit entries to the audit chains of their teams. Returns the number of entries
/// appended.
///
/// Several nodes may call this function concurrently. If two nodes append to the same audit chain,
/// only the first succeeds; the other leaves the remaining entries to the next call.
pub async fn seal(engine: &Engine) -> StoreResult<u64> {
    let mut sealed = seal_batches(engine).await?;
    let failures = engine.shared::<Failures>();
    let began = engine.now();
    let mut teams = engine.store().read().await?.unsealed_teams().await?;
    let found = teams.len();
    teams.retain(|team| !failures.must_wait(WorkItem::AuditSeal(*team), engine.now()));
    let mut is_complete = teams.len() == found;
    // One batch per team at a time, so that a busy team does not delay others.
    while !teams.is_empty() {
        let mut unfinished = Vec::new();
        for team in teams {
            match seal_batch(engine, team).await {
                Ok(count) => {
                    failures.clear(WorkItem::AuditSeal(team));
                    sealed += count as u64;
                    if count == MAX_SEALED as usize {
                        unfinished.push(team);
                    }
                }
                Err(StoreError::Stale(_) | StoreError::Duplicate(_)) => {}
                Err(error @ StoreError::Unavailable(_)) => return Err(error),
                // An error in one audit chain must not stop the work on other chains.
                Err(error) => {
                    is_complete = false;
                    failures.report(WorkItem::AuditSeal(team), &error, engine.now());
                }
            }
        }
        teams = unfinished;
    }
    if is_complete {
        engine.counters().set_sealed(began);
    }
    Ok(sealed)
}

/// Appends the oldest new audit entries of a team to its audit chain. Returns the number of
/// entries.
async fn seal_batch(engine: &Engine, team: Option<TeamId>) -> StoreResult<usize> {
    let entries = engine.store().read().await?.unsealed_audit(team, MAX_SEALED).await?;
    if entries.is_empty() {
        return Ok(0);
    }
    let mut tx = engine.store().begin().await?;
    let count = entries.len();
    let head = audit_chain::head(&mut *tx, engine.keyring(), team).await?;
    let (chain, _) = audit_chain::extend(engine.keyring(), head, entries, Vec::new());
    tx.seal_audit(&[chain]).await?;
    tx.commit().await?;
    Ok(count)
}

/// Deletes all audit entries older than the retention period of their team's plan. Entries that
/// belong to no team are kept for a year. The remaining audit chain can still be verified.
pub async fn prune(engine: &Engine) -> StoreResult<()> {
    let heads = engine.store().read().await?.audit_heads().await?;
    let failures = engine.shared::<Failures>();
    let mut unavailable = Ok(());
    let mut teams: Vec<_> = heads.into_iter().map(|head| (head.team, MAX_COLLISIONS)).collect();
    // One small transaction per team at a time: a large log delays neither requests nor other
    // teams.
    while !teams.is_empty() {
        let (mut unfinished, mut waiting_since) = (Vec::new(), None);
        for (team, collisions) in teams {
            match prune_chain(engine, team).await {
                Ok(Some(due)) => {
                    unfinished.push((team, MAX_COLLISIONS));
                    waiting_since = Some(waiting_since.map_or(due, |since: Time| since.min(due)));
                }
                // Another transaction sealed or pruned the chain concurrently.
                Err(StoreError::Stale(_)) if collisions > 0 => {
                    unfinished.push((team, collisions - 1));
                }
                Ok(None) => failures.clear(WorkItem::AuditPrune(team)),
                // Another node is pruning this chain.
                Err(StoreError::Stale(_)) => {}
                // If the log of one team is too slow, the other teams are pruned nevertheless.
                Err(error @ StoreError::Unavailable(_)) if unavailable.is_ok() => {
                    unavailable = Err(error);
                }
                Err(error @ StoreError::Unavailable(_)) => return Err(error),
                Err(error) => {
                    failures.report(WorkItem::AuditPrune(team), &error, engine.now());
                }
            }
        }
        teams = unfinished;
        engine.counters().set_waiting_since(PRUNE.name, waiting_since);
    }
    unavailable
}

async fn audit_days(engine: &Engine, team: Option<TeamId>) -> StoreResult<i64> {
    const YEAR: i64 = 365;
    let Some(team) = team else { return Ok(YEAR) };
    let team = engine.store().read().await?.team(team).await?;
    Ok(team.map_or(YEAR, |team| engine.options().plans.of_team(&team.plan).audit_days.into()))
}

/// Deletes the audit entries at the start of a team's audit chain whose retention period has ended,
/// at most 1,000 ([`MAX_PRUNED`]). If there are more such entries, returns the time at which the
/// retention period of the last deleted entry ended.
async fn prune_chain(engine: &Engine, team: Option<TeamId>) -> StoreResult<Option<Time>> {
    let retention = TimeDelta::days(audit_days(engine, team).await?);
    let cutoff = engine.now() - retention;
    let mut reads = engine.store().read().await?;
    let Some(head) = reads.audit_head(team).await? else { return Ok(None) };
    // Searching for the first entry to keep reads all entries before it. If even the entry after the
    // next 1,000 has expired, no search is needed.
    let full = head.base + MAX_PRUNED;
    let next = reads.audit_chain(team, full, 1).await?.pop();
    let last = if next.is_some_and(|next| next.created_at < cutoff - ORDER_MARGIN) {
        full + 1
    } else {
        let young = reads.audit_position(team, cutoff).await?;
        young.map_or(head.position, |position| position - 1)
    };
    if last <= head.base {
        return Ok(None);
    }
    drop(reads);
    let mut tx = engine.store().begin().await?;
    // Read the head again, because the chain may have been extended meanwhile.
    let head = audit_chain::head(&mut *tx, engine.keyring(), team).await?;
    if last <= head.base {
        return Ok(None);
    }
    let end = last.min(head.base + MAX_PRUNED);
    let entry = tx.audit_chain(team, end - 1, 1).await?.pop();
    let Some((at, seal)) = entry.and_then(|entry| Some((entry.created_at, entry.seal?))) else {
        return Ok(None);
    };
    let mut pruned = AuditHead { base: seal.position, base_hash: seal.hash, ..head };
    pruned.mac = head_mac(engine.keyring(), &pruned);
    tx.prune_audit(&pruned, head.base).await?;
    tx.commit().await?;
    Ok((end < last).then(|| at + retention))
}

/// Verifies every entry of every audit chain.
pub async fn verify(engine: &Engine) -> StoreResult<VerifiedAudit> {
    let mut reads = engine.store().read().await?;
    let mut verified = VerifiedAudit::default();
    let heads = reads.audit_heads().await?;
    for team in teams_without_head(&mut *reads, &heads).await? {
        verified.chains += 1;
        verified.broken.push(BrokenChain { team, position: 0 });
    }
    for head in heads {
        verified.chains += 1;
        let chain = verify_chain(engine, head, u64::MAX).await?;
        let broken = |position| BrokenChain { team: head.team, position };
        match chain.defect {
            None => verified.entries += chain.end - chain.start,
            Some(Defect::Head) => verified.broken.push(broken(chain.base)),
            Some(Defect::Entry(position)) => verified.broken.push(broken(position)),
        }
    }
    verified.unsealed = reads.count_unsealed_audit().await?;
    Ok(verified)
}

/// Returns the teams that have entries in an audit chain, but whose head (the stored start and end of
/// the chain) was deleted. `heads` are the heads of all chains.
async fn teams_without_head(
    reads: &mut dyn Reads,
    heads: &[AuditHead],
) -> StoreResult<Vec<Option<TeamId>>> {
    let known: BTreeSet<_> = heads.iter().map(|head| head.team).collect();
    let mut teams = vec![None];
    let mut after = TeamId::from(Uuid::nil());
    while let Some(team) = reads.next_audited_team(after).await? {
        teams.push(Some(team));
        after = team;
    }
    teams.retain(|team| !known.contains(team));
    let mut found = Vec::new();
    for team in teams {
        let has_entries = !reads.audit_chain(team, 0, 1).await?.is_empty();
        // The chain can get its first entries and its head at any time.
        if has_entries && reads.audit_head(team).await?.is_none() {
            found.push(team);
        }
    }
    Ok(found)
}

/// Verifies the newest entries of a team's audit chain, like [`verify_chain`].
pub(super) async fn verify_newest(
    engine: &Engine,
    team: TeamId,
    limit: u64,
) -> StoreResult<VerifiedChain> {
    let mut reads = engine.store().read_audit_log().await?;
    // Before the head is read, because the chain can get its first entries and its head in between.
    let has_entries = match reads.audit_chain(Some(team), 0, 1).await {
        Err(StoreError::Corrupt(_)) => true,
        entries => !entries?.is_empty(),
    };
    let head = match reads.audit_head(Some(team)).await {
        Err(StoreError::Corrupt(_)) => None,
        head => head?,
    };
    drop(reads);
    match head {
        Some(head) => verify_chain(engine, head, limit).await,
        None if has_entries => Ok(VerifiedChain::default().with(Defect::Head)),
        None => Ok(VerifiedChain::default()),
    }
}

/// Verifies the newest entries of an audit chain: at most `limit`, and those that are appended
/// meanwhile. The first of them must follow the stored hash of the entry before it.
async fn verify_chain(
    engine: &Engine,
    mut head: AuditHead,
    limit: u64,
) -> StoreResult<VerifiedChain> {
    loop {
        let verified = verify_entries(engine, &head, limit).await?;
        if verified.defect.is_none() {
            return Ok(verified);
        }
        // The first entries may have been pruned since the head was read.
        let current = engine.store().read_audit_log().await?.audit_head(head.team).await?;
        match current.filter(|current| current.base > head.base) {
            Some(current) => head = current,
            None => return Ok(verified),
        }
    }
}

/// Verifies the newest entries of an audit chain with this head, like [`verify_chain`].
async fn verify_entries(
    engine: &Engine,
    head: &AuditHead,
    limit: u64,
) -> StoreResult<VerifiedChain> {
    if !is_same(&head.mac, &head_mac(engine.keyring(), head)) {
        return Ok(VerifiedChain::after(head, head.base).with(Defect::Head));
    }
    let start = head.position.saturating_sub(limit).max(head.base);
    let mut chain = VerifiedChain::after(head, start);
    let Some(mut hash) = stored_hash(engine, head, start).await? else {
        return Ok(chain.with(Defect::Entry(start)));
    };
    let mut size = MAX_SEALED;
    loop {
        let mut reads = engine.store().read_audit_log().await?;
        let entries = match reads.audit_chain(head.team, chain.end, size).await {
            // An entry cannot be decoded. The next pages of one entry tell which one.
            Err(StoreError::Corrupt(_)) if size > 1 => {
                size = 1;
                continue;
            }
            Err(StoreError::Corrupt(_)) => return Ok(chain.with(Defect::Entry(chain.end + 1))),
            entries => entries?,
        };
        drop(reads);
        for entry in &entries {
            let position = chain.end + 1;
            let found = verified_hash(engine.keyring(), entry, position, &hash)
                .filter(|found| position != head.position || is_same(found, &head.hash));
            let Some(found) = found else { return Ok(chain.with(Defect::Entry(position))) };
            (chain.end, chain.verified_until, hash) = (position, Some(entry.created_at), found);
        }
        if entries.len() < size as usize || chain.end - start > limit {
            break;
        }
        yield_now().await;
    }
    // Entries may have been added since the head was read.
    let is_whole = chain.end >= head.position;
    Ok(if is_whole { chain } else { chain.with(Defect::Entry(chain.end + 1)) })
}

/// Returns the stored hash of the entry at this position of an audit chain, which can be the last
/// deleted entry. Returns `None` if the chain has no such entry.
async fn stored_hash(
    engine: &Engine,
    head: &AuditHead,
    position: u64,
) -> StoreResult<Option<[u8; 32]>> {
    if position == head.base {
        return Ok(Some(head.base_hash));
    }
    let mut reads = engine.store().read_audit_log().await?;
    let entry = match reads.audit_chain(head.team, position - 1, 1).await {
        Err(StoreError::Corrupt(_)) => None,
        entries => entries?.pop(),
    };
    let seal = entry.and_then(|entry| entry.seal).filter(|seal| seal.position == position);
    Ok(seal.map(|seal| seal.hash))
}

/// Returns the hash of an audit entry if the entry is unchanged: the service appended it at this
/// position, after the entry with the hash `previous`.
fn verified_hash(
    keyring: &Keyring,
    entry: &AuditRecord,
    position: u64,
    previous: &[u8; 32],
) -> Option<[u8; 32]> {
    let seal = entry.seal.filter(|seal| {
        seal.position == position
            && is_same(&seal.previous_hash, previous)
            && is_same(&seal.hash, &entry_hash(keyring, entry, position, previous))
    })?;
    Some(seal.hash)
}
