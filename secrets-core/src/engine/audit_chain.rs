//! Audit chains: appending audit entries with their hashes, and moving the audit entries of reads
//! from batches to the chains.

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests;

use std::collections::BTreeMap;
use std::mem;

use futures_util::lock::Mutex;
use uuid::Uuid;

use super::{Engine, Failures, WorkItem, yield_now};
use crate::crypto::{ChainMac, Keyring, is_same};
use crate::model::{AuditBatchId, EnvironmentId, ProjectId, Subject, TeamId};
use crate::store::{
    AuditBatch, AuditHead, AuditRecord, AuditSeal, ChainExtension, Reads, StoreError, StoreResult,
    Tx,
};

/// Maximum number of audit entries in the log that are appended to audit chains in one transaction.
/// Other writers wait for the transaction.
pub(crate) const MAX_SEALED: u32 = 500;

/// Maximum number of batches of audit entries that are loaded into memory at a time, to move their
/// entries to the audit log.
const MAX_BATCHES: u32 = 64;

/// Maximum number of audit entries that are moved from batches to the audit log in one transaction.
/// A batch with more entries is moved in a transaction of its own. On SQLite, reads wait for the
/// transaction.
const MAX_MOVED: usize = 1_024;

/// Lock that a task holds while it moves batches of audit entries. Other tasks of this process wait
/// for the lock, and then find no batches to move.
#[derive(Default)]
struct Moving(Mutex<()>);

/// Appends the entries of all batches committed before this call to the audit chains of their
/// teams. Returns the number of entries.
///
/// Several nodes may call this function concurrently: the entries of a batch are moved by the node
/// that deletes the batch.
pub(crate) async fn seal_batches(engine: &Engine) -> StoreResult<u64> {
    let last = engine.store().read().await?.last_audit_batch().await?;
    let Some(last) = last else { return Ok(0) };
    let moving = engine.shared::<Moving>();
    // Callers that wait here hold no database connection.
    let _moving = moving.0.lock().await;
    let failures = engine.shared::<Failures>();
    let (mut count, mut behind) = (0, AuditBatchId::NIL);
    while behind < last {
        let start = behind;
        let mut rest = engine.store().read().await?.audit_batches(start, MAX_BATCHES).await?;
        let Some(end) = rest.last() else { break };
        behind = end.id;
        let is_due =
            |batch: &AuditBatch| !failures.must_wait(WorkItem::AuditBatch(batch.id), engine.now());
        rest.retain(is_due);
        while !rest.is_empty() {
            let others = rest.split_off(number_to_move(&rest));
            count += move_or_report(engine, start, mem::replace(&mut rest, others)).await?;
            yield_now().await;
        }
    }
    Ok(count)
}

/// Moves the entries of batches, like [`move_batches`]. If that fails, moves each batch alone.
/// Batches that cannot be moved are kept and reported. `start` is the ID of the batch before them.
async fn move_or_report(
    engine: &Engine,
    start: AuditBatchId,
    batches: Vec<AuditBatch>,
) -> StoreResult<u64> {
    let ids: Vec<_> = batches.iter().map(|batch| batch.id).collect();
    let remaining = || async {
        let mut stored = engine.store().read().await?.audit_batches(start, MAX_BATCHES).await?;
        stored.retain(|batch| ids.contains(&batch.id));
        StoreResult::Ok(stored)
    };
    let mut moved = move_batches(engine, batches).await;
    if let Err(StoreError::Stale(_)) = moved {
        // Another transaction moved one of the batches or extended a chain concurrently.
        moved = move_batches(engine, remaining().await?).await;
    }
    match moved {
        Ok(_) => {
            let failures = engine.shared::<Failures>();
            for id in ids {
                failures.clear(WorkItem::AuditBatch(id));
            }
            moved
        }
        Err(StoreError::Unavailable(_)) => moved,
        // A chain was modified, or an entry was written twice or cannot be read.
        Err(_) => move_one_by_one(engine, remaining().await?).await,
    }
}

/// Returns the number of batches, from the first, to move in one transaction: at least one.
fn number_to_move(batches: &[AuditBatch]) -> usize {
    let mut entries = 0;
    let fits = |batch: &&AuditBatch| {
        entries += batch.entries.as_ref().map_or(0, Vec::len);
        entries <= MAX_MOVED
    };
    batches.iter().take_while(fits).count().max(1)
}

/// Moves the entries of batches to the audit log, in one new transaction, and appends them to the
/// audit chains of their teams. Returns the number of entries. Fails with `Stale`, and moves
/// nothing, if another transaction has moved one of the batches or extended one of the chains.
async fn move_batches(engine: &Engine, batches: Vec<AuditBatch>) -> StoreResult<u64> {
    if batches.is_empty() {
        return Ok(0);
    }
    let ids: Vec<_> = batches.iter().map(|batch| batch.id).collect();
    let (mut teams, mut count) = (BTreeMap::<_, Vec<_>>::new(), 0);
    for batch in batches {
        for entry in batch.entries.ok_or_else(unreadable)? {
            teams.entry(entry.team).or_default().push(entry);
            count += 1;
        }
    }
    let (mut tx, chains, appended);
    if engine.store().is_exclusive() {
        // Compute the extensions before the transaction, because reads wait for a transaction. No
        // other node can extend the chains meanwhile.
        let mut reads = engine.store().read().await?;
        (chains, appended) = extensions(engine.keyring(), &mut *reads, teams).await?;
        drop(reads);
        tx = engine.store().begin().await?;
        delete(&mut *tx, &ids).await?;
    } else {
        tx = engine.store().begin().await?;
        delete(&mut *tx, &ids).await?;
        let named: Vec<_> = teams.keys().copied().collect();
        tx.lock_audit_heads(&named).await?;
        (chains, appended) = extensions(engine.keyring(), &mut *tx, teams).await?;
    }
    tx.seal_audit(&chains).await?;
    tx.insert_sealed_audit(appended).await?;
    tx.commit().await?;
    Ok(count)
}

/// Deletes batches. Fails with `Stale` if another transaction has deleted one of them.
async fn delete(tx: &mut dyn Tx, batches: &[AuditBatchId]) -> StoreResult<()> {
    let deleted = tx.delete_audit_batches(batches).await?;
    if deleted.len() == batches.len() { Ok(()) } else { Err(StoreError::Stale(Subject::Audit)) }
}

/// Computes the extensions of the audit chains of teams. A chain is extended by the new entries in
/// `teams`, which are not in the audit log, and by the team's entries that are in the log but in no
/// chain yet. Returns the extensions, and the new entries with their positions and hashes.
async fn extensions(
    keyring: &Keyring,
    reads: &mut dyn Reads,
    teams: BTreeMap<Option<TeamId>, Vec<AuditRecord>>,
) -> StoreResult<(Vec<ChainExtension>, Vec<AuditRecord>)> {
    let named: Vec<_> = teams.keys().copied().collect();
    let heads = reads.audit_heads_among(&named).await?;
    let heads: BTreeMap<_, _> = heads.iter().map(|head| (head.team, head)).collect();
    let with_team: Vec<_> = named.iter().copied().flatten().collect();
    let unsealed = reads.unsealed_teams_among(&with_team).await?;
    let (mut chains, mut appended, mut room) = (Vec::new(), Vec::new(), MAX_SEALED);
    for (team, new) in teams {
        let head = head_or_empty(keyring, team, heads.get(&team).copied())?;
        // Append the entries that are only in the log too, to keep the chain in time order. Only
        // entries that are written concurrently can be out of order.
        let stored = match team {
            Some(team) if !unsealed.contains(&team) => Vec::new(),
            team => reads.unsealed_audit(team, room).await?,
        };
        room = room.saturating_sub(u32::try_from(stored.len()).unwrap_or(u32::MAX));
        let (chain, new) = extend(keyring, head, stored, new);
        chains.push(chain);
        appended.extend(new);
    }
    Ok((chains, appended))
}

/// Moves the entries of a batch to the audit log, in one new transaction, without appending them to
/// audit chains. Returns the number of entries.
async fn move_unsealed(engine: &Engine, batch: AuditBatch) -> StoreResult<u64> {
    let mut tx = engine.store().begin().await?;
    let entries = take(&mut *tx, vec![batch]).await?;
    tx.insert_audit(&entries).await?;
    tx.commit().await?;
    Ok(entries.len() as u64)
}

/// Moves the entries of batches to the audit log, each batch in its own transaction. The entries
/// are appended to the audit chains later, by team. A batch that cannot be moved is kept and
/// reported.
async fn move_one_by_one(engine: &Engine, batches: Vec<AuditBatch>) -> StoreResult<u64> {
    let (failures, mut count) = (engine.shared::<Failures>(), 0);
    for batch in batches {
        let item = WorkItem::AuditBatch(batch.id);
        match move_unsealed(engine, batch).await {
            Ok(moved) => {
                count += moved;
                failures.clear(item);
            }
            Err(error @ StoreError::Unavailable(_)) => return Err(error),
            Err(error) => {
                failures.report(item, &error, engine.now());
            }
        }
    }
    Ok(count)
}

/// Moves the entries of all batches committed before this call to the audit log, in the given
/// transaction. The entries are appended to the audit chains later. Batches that cannot be read are
/// kept.
pub(crate) async fn expand_batches(tx: &mut dyn Tx) -> StoreResult<()> {
    let Some(last) = tx.last_audit_batch().await? else { return Ok(()) };
    let mut behind = AuditBatchId::NIL;
    while behind < last {
        let mut batches = tx.audit_batches(behind, MAX_BATCHES).await?;
        let Some(end) = batches.last() else { break };
        behind = end.id;
        batches.retain(|batch| batch.entries.is_some());
        let entries = take(tx, batches).await?;
        tx.insert_audit(&entries).await?;
    }
    Ok(())
}

/// Deletes batches and returns their entries. Skips batches that another transaction has deleted.
/// Fails if a batch cannot be read.
async fn take(tx: &mut dyn Tx, batches: Vec<AuditBatch>) -> StoreResult<Vec<AuditRecord>> {
    let mut entries = BTreeMap::new();
    for batch in batches {
        entries.insert(batch.id, batch.entries.ok_or_else(unreadable)?);
    }
    let ids: Vec<_> = entries.keys().copied().collect();
    let own = tx.delete_audit_batches(&ids).await?;
    Ok(own.iter().filter_map(|id| entries.remove(id)).flatten().collect())
}

fn unreadable() -> StoreError {
    StoreError::Corrupt("a batch of audit entries cannot be read".into())
}

/// Locks the audit chain of a team, and returns its head (the stored end). For a team without a
/// chain, returns the head of an empty chain. Fails if the MAC of the stored head is invalid.
pub(crate) async fn head(
    tx: &mut dyn Tx,
    keyring: &Keyring,
    team: Option<TeamId>,
) -> StoreResult<AuditHead> {
    let stored = tx.lock_audit_heads(&[team]).await?;
    head_or_empty(keyring, team, stored.first())
}

fn head_or_empty(
    keyring: &Keyring,
    team: Option<TeamId>,
    stored: Option<&AuditHead>,
) -> StoreResult<AuditHead> {
    let empty = || AuditHead {
        team,
        base: 0,
        base_hash: [0; 32],
        position: 0,
        hash: [0; 32],
        mac: [0; 32],
    };
    stored.map_or_else(|| Ok(empty()), |head| authentic_head(keyring, *head))
}

/// Extends the audit chain of a team after its current end, `head`. The entries in `stored` are
/// already in the audit log, the entries in `new` are not; a new entry that has the ID of a stored
/// entry is ignored. Returns the extension, and the other new entries with their positions and
/// hashes, for the caller to insert.
pub(crate) fn extend(
    keyring: &Keyring,
    head: AuditHead,
    stored: Vec<AuditRecord>,
    new: Vec<AuditRecord>,
) -> (ChainExtension, Vec<AuditRecord>) {
    let stored = stored.into_iter().map(|entry| (false, entry));
    let mut all: Vec<_> = stored.chain(new.into_iter().map(|entry| (true, entry))).collect();
    // A stored entry is sorted before a new entry with the same ID, so that the new entry is
    // removed.
    all.sort_by_key(|(is_new, entry)| (entry.created_at, entry.id, *is_new));
    all.dedup_by_key(|(_, entry)| (entry.created_at, entry.id));
    let (end, mut seals, mut appended) = (head.position, Vec::new(), Vec::new());
    let mut head = head;
    for (is_new, entry) in all {
        let position = head.position + 1;
        let hash = entry_hash(keyring, &entry, position, &head.hash);
        let seal = AuditSeal { position, previous_hash: head.hash, hash };
        head = AuditHead { position, hash, ..head };
        if is_new {
            appended.push(AuditRecord { seal: Some(seal), ..entry });
        } else {
            seals.push((entry.id, seal));
        }
    }
    head.mac = head_mac(keyring, &head);
    (ChainExtension { end, head, seals }, appended)
}

/// Returns the head of an audit chain if its MAC is valid. A modified chain must not be extended,
/// because the new MAC would make the chain valid again.
fn authentic_head(keyring: &Keyring, head: AuditHead) -> StoreResult<AuditHead> {
    if is_same(&head.mac, &head_mac(keyring, &head)) {
        return Ok(head);
    }
    Err(StoreError::Corrupt("the head of an audit log chain was modified".into()))
}

/// Computes the hash of an audit entry at its position in the audit chain. The actor's name and
/// e-mail address are not included, because they are erased when a user deletes their account. The
/// actor's ID stays.
pub(crate) fn entry_hash(
    keyring: &Keyring,
    entry: &AuditRecord,
    position: u64,
    previous: &[u8; 32],
) -> [u8; 32] {
    fn uuid(id: Option<&Uuid>) -> Option<&[u8]> {
        id.map(|id| id.as_bytes().as_slice())
    }
    fn text(text: Option<&String>) -> Option<&[u8]> {
        text.map(String::as_bytes)
    }
    let team = entry.team.map(TeamId::uuid);
    let project = entry.project.map(ProjectId::uuid);
    let environment = entry.environment.map(EnvironmentId::uuid);
    let address = entry.address.map(|address| address.to_string());
    let optional = [
        uuid(team.as_ref()),
        uuid(project.as_ref()),
        text(entry.project_name.as_ref()),
        uuid(environment.as_ref()),
        text(entry.environment_name.as_ref()),
        uuid(entry.actor_id.as_ref()),
        uuid(entry.resource_id.as_ref()),
        text(entry.resource_name.as_ref()),
        text(address.as_ref()),
        text(entry.agent.as_ref()),
        uuid(entry.request.as_ref()),
    ];
    let required: [&str; 5] =
        [&entry.actor_type, &entry.action, &entry.resource_type, &entry.outcome, &entry.metadata];
    let mut mac = ChainMac::new(keyring, "audit-entry")
        .number(position)
        .field(previous)
        .field(entry.id.uuid().as_bytes())
        .field(&entry.created_at.timestamp_micros().to_be_bytes());
    mac = optional.iter().fold(mac, |mac, field| mac.optional(*field));
    required.iter().fold(mac, |mac, field| mac.field(field.as_bytes())).finish()
}

pub(crate) fn head_mac(keyring: &Keyring, head: &AuditHead) -> [u8; 32] {
    ChainMac::new(keyring, "audit-head")
        .optional(head.team.map(TeamId::uuid).as_ref().map(|team| team.as_bytes().as_slice()))
        .number(head.base)
        .field(&head.base_hash)
        .number(head.position)
        .field(&head.hash)
        .finish()
}
