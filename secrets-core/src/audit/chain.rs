//! Audit chains: the hash chains that the audit log consists of, one for each team.
//!
//! Entries are appended to the audit chain of their team (and get a position and a hash) after they
//! are written. They are pruned (deleted) when their retention period ends.

mod verify;

use std::time::Duration;

use chrono::TimeDelta;

pub use self::verify::{BrokenChain, VerifiedAudit, verify};
pub(super) use self::verify::{Defect, VerifiedChain, verify_newest};
use crate::engine::audit_chain::{self, MAX_SEALED, head_mac, seal_batches};
use crate::engine::{
    AuditContext, Caller, Engine, Failures, Periodic, Schedule, WorkItem, refusals,
};
use crate::model::{TeamId, Time};
use crate::store::{AuditHead, StoreError, StoreResult};

/// Maximum number of audit entries pruned from an audit chain in one transaction.
const MAX_PRUNED: u64 = 1_000;

/// Maximum time by which an entry of a chain can be newer than a later entry of the chain, because
/// several nodes may have written them concurrently.
const ORDER_MARGIN: TimeDelta = TimeDelta::hours(1);

/// Maximum number of consecutive retries to prune an audit chain that another transaction changes
/// at the same time.
const MAX_COLLISIONS: u32 = 10;

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
    if engine.is_audit_log_written() {
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

/// Appends the oldest new audit entries of a team to its audit chain. Returns the number of entries
/// appended.
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
    let chains = engine.store().read().await?.audit_chains().await?;
    let failures = engine.shared::<Failures>();
    let mut unavailable = Ok(());
    let mut teams: Vec<_> = chains.into_iter().map(|team| (team, MAX_COLLISIONS)).collect();
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
    // Searching for the first entry to keep reads all entries before it. If even the entry after
    // the next 1,000 has expired, no search is needed.
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
