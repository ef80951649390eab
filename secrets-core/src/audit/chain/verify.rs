//! Verification of audit chains: detects entries that something other than the service has changed,
//! removed or inserted.

use std::collections::BTreeSet;

use serde::Serialize;
use uuid::Uuid;

use crate::crypto::{Keyring, is_same};
use crate::engine::audit_chain::{MAX_SEALED, entry_hash, head_mac};
use crate::engine::{Engine, yield_now};
use crate::model::{TeamId, Time};
use crate::store::{AuditHead, AuditRecord, StoreError, StoreResult};

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
    /// inserted there. If the stored start or end of the chain was changed or deleted: the position
    /// before the first entry, or 0.
    pub position: u64,
}

/// Result of verifying an audit chain, or the newest entries of an audit chain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::audit) struct VerifiedChain {
    /// Position of the last entry that was deleted at the end of its retention period; 0 if none
    /// was deleted.
    pub(in crate::audit) base: u64,
    /// Position of the entry before the first entry to verify.
    pub(in crate::audit) start: u64,
    /// Position of the last entry that was verified as unchanged; `start` if there is none.
    pub(in crate::audit) end: u64,
    /// Time of the last entry that was verified as unchanged.
    pub(in crate::audit) verified_until: Option<Time>,
    /// First defect of the chain; `None` if there is none.
    pub(in crate::audit) defect: Option<Defect>,
}

/// Change of an audit chain by something other than the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::audit) enum Defect {
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

/// Verifies every entry of every audit chain.
pub async fn verify(engine: &Engine) -> StoreResult<VerifiedAudit> {
    let mut verified = VerifiedAudit::default();
    for team in chained_teams(engine).await? {
        let Some(chain) = verify_newest(engine, team, u64::MAX).await? else { continue };
        verified.chains += 1;
        let broken = |position| BrokenChain { team, position };
        match chain.defect {
            None => verified.entries += chain.end - chain.start,
            Some(Defect::Head) => verified.broken.push(broken(chain.base)),
            Some(Defect::Entry(position)) => verified.broken.push(broken(position)),
        }
    }
    verified.unsealed = engine.store().read().await?.count_unsealed_audit().await?;
    Ok(verified)
}

/// Returns the teams that can have an audit chain, and `None` for the chain of entries that belong
/// to no team. Includes teams that have entries in a chain, but no head (the stored start and end
/// of the chain), because it was deleted.
async fn chained_teams(engine: &Engine) -> StoreResult<BTreeSet<Option<TeamId>>> {
    let mut reads = engine.store().read().await?;
    let mut teams: BTreeSet<_> = reads.audit_chains().await?.into_iter().chain([None]).collect();
    let mut after = TeamId::from(Uuid::nil());
    while let Some(team) = reads.next_audited_team(after).await? {
        teams.insert(Some(team));
        after = team;
    }
    Ok(teams)
}

/// Verifies the newest entries of a team's audit chain, like [`verify_chain`]. Returns `None` if
/// the team has no chain.
pub(in crate::audit) async fn verify_newest(
    engine: &Engine,
    team: Option<TeamId>,
    limit: u64,
) -> StoreResult<Option<VerifiedChain>> {
    // Search for entries before reading the head: the chain may get its first entries and its head
    // in between.
    let mut reads = engine.store().read_audit_log().await?;
    let has_entries = match reads.audit_chain(team, 0, 1).await {
        Err(StoreError::Corrupt(_)) => true,
        entries => !entries?.is_empty(),
    };
    let (head, is_chain) = match reads.audit_head(team).await {
        Err(StoreError::Corrupt(_)) => (None, true),
        head => (head?, has_entries),
    };
    drop(reads);
    match head {
        Some(head) => verify_chain(engine, head, limit).await.map(Some),
        None => Ok(is_chain.then(|| VerifiedChain::default().with(Defect::Head))),
    }
}

/// Verifies the newest entries of an audit chain: at most `limit`, and those that are appended
/// meanwhile. The first of them must include the stored hash of the entry before it.
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
        let mut reads = engine.store().read_audit_log().await?;
        let current = match reads.audit_head(head.team).await {
            Err(StoreError::Corrupt(_)) => None,
            current => current?,
        };
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
            // An entry cannot be decoded. Read one entry at a time from here on, to find it.
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
