//! Audit chains: appending entries, with their hashes, and moving the entries of reads there from their
//! batches.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::slice::from_ref;
use std::task::Poll;

use uuid::Uuid;

use super::Engine;
use crate::crypto::{ChainMac, Keyring, is_same};
use crate::model::{EnvironmentId, ProjectId, TeamId};
use crate::store::{AuditBatch, AuditHead, AuditRecord, AuditSeal, StoreError, StoreResult, Tx};

/// Maximum number of entries appended to an audit chain in one transaction, besides those of batches.
/// Other writers wait for the transaction.
pub(crate) const MAX_BATCH: u32 = 500;

/// Maximum number of batches in one transaction.
const MAX_BATCHES: u32 = 4;

/// Appends the entries of all batches that were committed before to the audit chains of their teams.
/// Returns their number.
///
/// Several nodes may call this function concurrently: each handles the batches that it deleted itself.
pub(crate) async fn seal_batches(engine: &Engine) -> StoreResult<u64> {
    let (mut count, mut behind) = (0, Uuid::nil().into());
    loop {
        let batches = engine.store().read().await?.audit_batches(behind, MAX_BATCHES).await?;
        let Some(last) = batches.last() else { return Ok(count) };
        behind = last.id;
        count += match move_batches(engine, &batches, true).await {
            Err(error @ StoreError::Unavailable(_)) => return Err(error),
            // A chain was extended at the same time or was modified, or an entry was written twice.
            Err(_) => move_one_by_one(engine, &batches).await?,
            Ok(moved) => moved,
        };
        if batches.len() < MAX_BATCHES as usize {
            return Ok(count);
        }
        yield_now().await;
    }
}

/// Moves the entries of batches to the audit log, in a transaction of their own, and to the chains of
/// their teams if `sealed`. Returns their number.
async fn move_batches(engine: &Engine, batches: &[AuditBatch], sealed: bool) -> StoreResult<u64> {
    let mut tx = engine.store().begin().await?;
    let entries = take(&mut *tx, batches).await?;
    let count = entries.len() as u64;
    if sealed {
        let mut teams: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for entry in entries {
            teams.entry(entry.team).or_default().push(entry);
        }
        let mut appended = Vec::new();
        for (team, new) in teams {
            let head = head(&mut *tx, engine.keyring(), team).await?;
            // A chain is in the order of time, besides what nodes write at once.
            let stored = tx.unsealed_audit(team, MAX_BATCH).await?;
            appended.extend(append(&mut *tx, engine.keyring(), head, stored, new).await?);
        }
        tx.insert_sealed_audit(&appended).await?;
    } else {
        tx.insert_audit(&entries).await?;
    }
    tx.commit().await?;
    Ok(count)
}

/// Moves the entries of batches to the audit log, each batch in a transaction of its own. They are sealed
/// later, by team. Leaves a batch that cannot be moved.
async fn move_one_by_one(engine: &Engine, batches: &[AuditBatch]) -> StoreResult<u64> {
    let mut count = 0;
    for batch in batches {
        match move_batches(engine, from_ref(batch), false).await {
            Ok(moved) => count += moved,
            Err(error @ StoreError::Unavailable(_)) => return Err(error),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::error!(batch = %batch.id, error, "a batch of audit entries cannot be moved");
            }
        }
    }
    Ok(count)
}

/// Moves the entries of all batches to the audit log, in a transaction. They are sealed later.
pub(crate) async fn expand_batches(tx: &mut dyn Tx) -> StoreResult<()> {
    let mut behind = Uuid::nil().into();
    loop {
        let batches = tx.audit_batches(behind, MAX_BATCHES).await?;
        let Some(last) = batches.last() else { return Ok(()) };
        behind = last.id;
        let entries = take(tx, &batches).await?;
        tx.insert_audit(&entries).await?;
    }
}

/// Deletes batches and returns their entries. Leaves those that cannot be read, and those that another
/// transaction has deleted.
async fn take(tx: &mut dyn Tx, batches: &[AuditBatch]) -> StoreResult<Vec<AuditRecord>> {
    let readable = batches.iter().filter_map(|batch| Some((batch.id, batch.entries.as_ref()?)));
    let mut readable: BTreeMap<_, _> = readable.collect();
    let ids: Vec<_> = readable.keys().copied().collect();
    let own = tx.delete_audit_batches(&ids).await?;
    Ok(own.iter().filter_map(|id| readable.remove(id)).flatten().cloned().collect())
}

/// Returns the head of a team's audit chain if its MAC is valid, or that of an empty chain.
pub(crate) async fn head(
    tx: &mut dyn Tx,
    keyring: &Keyring,
    team: Option<TeamId>,
) -> StoreResult<AuditHead> {
    match tx.audit_head(team).await? {
        Some(head) => authentic_head(keyring, head),
        None => Ok(AuditHead {
            team,
            base: 0,
            base_hash: [0; 32],
            position: 0,
            hash: [0; 32],
            mac: [0; 32],
        }),
    }
}

/// Appends entries of a team to the audit chain with this head: entries in the log, and new ones.
/// Returns the new ones with their places, to be inserted.
pub(crate) async fn append(
    tx: &mut dyn Tx,
    keyring: &Keyring,
    head: AuditHead,
    stored: Vec<AuditRecord>,
    new: Vec<AuditRecord>,
) -> StoreResult<Vec<AuditRecord>> {
    let new = new.into_iter().map(|entry| (true, entry));
    let all = new.chain(stored.into_iter().map(|entry| (false, entry)));
    // A stored entry replaces a new one with its ID.
    let all: BTreeMap<_, _> =
        all.map(|(is_new, entry)| ((entry.created_at, entry.id), (is_new, entry))).collect();
    let (mut end, mut seals, mut appended) = (head, Vec::new(), Vec::new());
    for (is_new, entry) in all.into_values() {
        let position = end.position + 1;
        let hash = entry_hash(keyring, &entry, position, &end.hash);
        let seal = AuditSeal { position, previous_hash: end.hash, hash };
        end = AuditHead { position, hash, ..end };
        if is_new {
            appended.push(AuditRecord { seal: Some(seal), ..entry });
        } else {
            seals.push((entry.id, seal));
        }
    }
    end.mac = head_mac(keyring, &end);
    tx.seal_audit(&end, head.position, &seals).await?;
    Ok(appended)
}

/// Returns the head of an audit chain if its MAC is valid. A modified chain must not be extended,
/// because that would make it valid again.
pub(crate) fn authentic_head(keyring: &Keyring, head: AuditHead) -> StoreResult<AuditHead> {
    if is_same(&head.mac, &head_mac(keyring, &head)) {
        return Ok(head);
    }
    Err(StoreError::Corrupt("the head of an audit log chain was modified".into()))
}

/// Lets other tasks run. A store in memory never waits.
async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Computes the hash of an entry at its position in the audit chain. The actor's name and e-mail
/// address are not included, because they are erased when a user deletes their account. The actor's
/// ID stays.
pub(crate) fn entry_hash(
    keyring: &Keyring,
    entry: &AuditRecord,
    position: u64,
    previous: &[u8; 32],
) -> [u8; 32] {
    let uuid = |id: Option<Uuid>| id.map(|id| id.as_bytes().to_vec());
    let text = |text: &Option<String>| text.as_ref().map(|text| text.as_bytes().to_vec());
    let optional = [
        uuid(entry.team.map(TeamId::uuid)),
        uuid(entry.project.map(ProjectId::uuid)),
        text(&entry.project_name),
        uuid(entry.environment.map(EnvironmentId::uuid)),
        text(&entry.environment_name),
        uuid(entry.actor_id),
        uuid(entry.resource_id),
        text(&entry.resource_name),
        entry.address.map(|address| address.to_string().into_bytes()),
        text(&entry.agent),
        uuid(entry.request),
    ];
    let required =
        [&entry.actor_type, &entry.action, &entry.resource_type, &entry.outcome, &entry.metadata];
    let mut mac = ChainMac::new(keyring, "audit-entry")
        .number(position)
        .field(previous)
        .field(entry.id.uuid().as_bytes())
        .field(&entry.created_at.timestamp_micros().to_be_bytes());
    mac = optional.iter().fold(mac, |mac, field| mac.optional(field.as_deref()));
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

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use std::sync::Arc;

    use futures_executor::block_on;

    use super::*;
    use crate::Service;
    use crate::audit::{seal, verify};
    use crate::crypto::Key;
    use crate::store::{AuditFilter, MemoryStore, Store};
    use crate::testing::fixtures::{World, at, entry};

    struct Log {
        store: MemoryStore,
        service: Service,
        world: World,
    }

    impl Log {
        async fn new() -> Self {
            let store = MemoryStore::new();
            let service = Service::builder(Arc::new(store.clone())).root_key(&Key::generate());
            let (service, world) = (service.build().await.unwrap(), World::build(&store).await);
            Self { store, service, world }
        }

        fn entry(&self, action: &str, age: i64) -> AuditRecord {
            entry(&self.world.team, action, at(age))
        }

        async fn add(&self, entries: &[AuditRecord]) {
            let mut tx = self.store.begin().await.unwrap();
            tx.insert_audit(entries).await.unwrap();
            tx.commit().await.unwrap();
        }

        async fn add_batch(&self, entries: &[AuditRecord]) {
            let mut tx = self.store.begin().await.unwrap();
            tx.insert_audit_batch(entries).await.unwrap();
            tx.commit().await.unwrap();
        }

        /// Actions of the entries in the order of their audit chain.
        async fn chained(&self) -> Vec<String> {
            let mut reads = self.store.read().await.unwrap();
            let entries = reads.audit_chain(Some(self.world.team.id), 0, 100).await.unwrap();
            entries.into_iter().map(|entry| entry.action).collect()
        }

        /// Actions of all entries, oldest first.
        async fn listed(&self) -> Vec<String> {
            let mut reads = self.store.read().await.unwrap();
            let all = AuditFilter::newest(self.world.team.id, 100);
            let entries = reads.audit_entries(&all).await.unwrap();
            entries.into_iter().rev().map(|entry| entry.action).collect()
        }

        /// Numbers of entries in intact chains, and in none.
        async fn verified(&self) -> (u64, u64) {
            let verified = verify(self.service.engine()).await.unwrap();
            assert_eq!(verified.broken, []);
            (verified.entries, verified.unsealed)
        }
    }

    #[test]
    fn entries_of_batches_are_sealed_among_others_in_the_order_of_time() {
        block_on(async {
            let log = Log::new().await;
            log.add(&[log.entry("first", 1), log.entry("third", 3)]).await;
            log.add_batch(&[log.entry("fourth", 4), log.entry("second", 2)]).await;

            assert_eq!(seal_batches(log.service.engine()).await.unwrap(), 2);

            assert_eq!(log.chained().await, ["first", "second", "third", "fourth"]);
            assert_eq!(log.verified().await, (4, 0));
        });
    }

    #[test]
    fn an_entry_that_is_written_twice_is_sealed_once() {
        block_on(async {
            let log = Log::new().await;
            let [one, two] = [log.entry("one", 1), log.entry("two", 2)];
            log.add_batch(from_ref(&one)).await;
            seal_batches(log.service.engine()).await.unwrap();
            // Again after it was sealed, again in the same round, and again beside the batch.
            log.add_batch(&[one.clone(), two.clone()]).await;
            log.add_batch(from_ref(&two)).await;
            log.add(from_ref(&two)).await;

            seal_batches(log.service.engine()).await.unwrap();

            assert_eq!(log.listed().await, ["one", "two"]);
            seal(log.service.engine()).await.unwrap();
            assert_eq!(log.chained().await, ["one", "two"]);
            assert_eq!(log.verified().await, (2, 0));
        });
    }

    #[test]
    fn a_modified_chain_keeps_no_entry_from_the_log() {
        block_on(async {
            let log = Log::new().await;
            log.add_batch(&[log.entry("one", 1)]).await;
            seal_batches(log.service.engine()).await.unwrap();
            let mut tx = log.store.begin().await.unwrap();
            let head = tx.audit_head(Some(log.world.team.id)).await.unwrap().unwrap();
            tx.seal_audit(&AuditHead { mac: [7; 32], ..head }, head.position, &[]).await.unwrap();
            tx.commit().await.unwrap();
            let theirs = entry(&log.world.other_team, "theirs", at(2));
            log.add_batch(&[log.entry("two", 2), theirs]).await;

            seal_batches(log.service.engine()).await.unwrap();
            seal(log.service.engine()).await.unwrap();

            assert_eq!(log.listed().await, ["one", "two"]);
            assert_eq!(log.chained().await, ["one"], "a modified chain is not extended");
            let mut reads = log.store.read().await.unwrap();
            let team = Some(log.world.other_team.id);
            assert_eq!(reads.audit_chain(team, 0, 10).await.unwrap().len(), 1);
        });
    }

    #[test]
    fn a_transaction_sees_the_entries_of_batches() {
        block_on(async {
            let log = Log::new().await;
            for age in 1..=20 {
                log.add_batch(&[log.entry("read", age)]).await;
            }
            let mut tx = log.store.begin().await.unwrap();

            expand_batches(&mut *tx).await.unwrap();

            tx.commit().await.unwrap();
            assert_eq!(log.listed().await.len(), 20);
            assert_eq!(log.verified().await, (0, 20));
        });
    }
}
