//! Tests of moving audit entries from batches to audit chains.

use std::slice::from_ref;
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
        let service = Service::builder(Arc::new(store.clone()), &Key::generate());
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
        tx.insert_audit_batch(&entries.into()).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Adds 70 batches with one entry each.
    async fn add_more_batches_than_are_loaded_at_once(&self) {
        const { assert!(MAX_BATCHES < 70) };
        for age in 1..=70 {
            self.add_batch(&[self.entry("read", age)]).await;
        }
    }

    async fn seal_batches(&self) -> StoreResult<u64> {
        seal_batches(self.service.engine()).await
    }

    /// Returns the actions of the entries in the team's audit chain, in the order of the chain.
    async fn chained(&self) -> Vec<String> {
        let mut reads = self.store.read().await.unwrap();
        let entries = reads.audit_chain(Some(self.world.team.id), 0, 100).await.unwrap();
        entries.into_iter().map(|entry| entry.action.into_owned()).collect()
    }

    /// Returns the actions of all audit entries, oldest first.
    async fn listed(&self) -> Vec<String> {
        let mut reads = self.store.read().await.unwrap();
        let all = AuditFilter::newest(self.world.team.id, 100);
        let entries = reads.audit_entries(&all).await.unwrap();
        entries.into_iter().rev().map(|entry| entry.action.into_owned()).collect()
    }

    /// Returns the number of audit entries in audit chains, and the number of entries that are in
    /// no audit chain yet. Asserts that the chains are intact.
    async fn verified(&self) -> (u64, u64) {
        let verified = verify(self.service.engine()).await.unwrap();
        assert_eq!(verified.broken, []);
        (verified.entries, verified.unsealed)
    }
}

#[test]
fn a_round_after_which_every_entry_is_sealed_is_remembered() {
    block_on(async {
        let log = Log::new().await;
        let sealed_ago = || log.service.engine().counts().audit_sealed_ago;
        log.add(&[log.entry("first", 1)]).await;
        assert_eq!(sealed_ago(), None);

        seal(log.service.engine()).await.unwrap();

        assert!(sealed_ago().is_some_and(|ago| ago.as_secs() < 60));
    });
}

#[test]
fn entries_of_batches_are_sealed_among_others_in_the_order_of_time() {
    block_on(async {
        let log = Log::new().await;
        log.add(&[log.entry("first", 1), log.entry("third", 3)]).await;
        log.add_batch(&[log.entry("fourth", 4), log.entry("second", 2)]).await;

        assert_eq!(log.seal_batches().await.unwrap(), 2);

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
        log.seal_batches().await.unwrap();
        // `one` was sealed before. `two` occurs in two batches and directly in the log.
        log.add_batch(&[one.clone(), two.clone()]).await;
        log.add_batch(from_ref(&two)).await;
        log.add(from_ref(&two)).await;

        log.seal_batches().await.unwrap();

        assert_eq!(log.listed().await, ["one", "two"]);
        seal(log.service.engine()).await.unwrap();
        assert_eq!(log.chained().await, ["one", "two"]);
        assert_eq!(log.verified().await, (2, 0));
    });
}

#[test]
fn a_batch_that_another_node_has_moved_is_not_moved_again() {
    block_on(async {
        let log = Log::new().await;
        log.add_batch(&[log.entry("one", 1)]).await;
        log.add_batch(&[log.entry("two", 2)]).await;
        let mut reads = log.store.read().await.unwrap();
        let batches = reads.audit_batches(AuditBatchId::NIL, 10).await.unwrap();
        let mut tx = log.store.begin().await.unwrap();
        tx.delete_audit_batches(&[batches[0].id]).await.unwrap();
        tx.commit().await.unwrap();
        let engine = log.service.engine();

        let moved = move_batches(engine, batches.clone()).await;

        assert!(matches!(moved, Err(StoreError::Stale(Subject::Audit))));
        assert_eq!(log.verified().await, (0, 1));
        let again = || move_or_report(engine, AuditBatchId::NIL, batches.clone());
        assert_eq!(again().await.unwrap(), 1);
        assert_eq!(again().await.unwrap(), 0);
        assert_eq!(log.chained().await, ["two"]);
        assert_eq!(log.verified().await, (1, 0));
    });
}

#[test]
fn a_modified_chain_keeps_no_entry_from_the_log() {
    block_on(async {
        let log = Log::new().await;
        log.add_batch(&[log.entry("one", 1)]).await;
        log.seal_batches().await.unwrap();
        let mut tx = log.store.begin().await.unwrap();
        let head = tx.audit_head(Some(log.world.team.id)).await.unwrap().unwrap();
        let modified = AuditHead { mac: [7; 32], ..head };
        let chain = ChainExtension { end: head.position, head: modified, seals: Vec::new() };
        tx.seal_audit(&[chain]).await.unwrap();
        tx.commit().await.unwrap();
        let theirs = entry(&log.world.other_team, "theirs", at(2));
        log.add_batch(&[log.entry("two", 2), theirs]).await;

        log.seal_batches().await.unwrap();
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
        log.add_more_batches_than_are_loaded_at_once().await;
        let mut tx = log.store.begin().await.unwrap();

        expand_batches(&mut *tx).await.unwrap();

        let all = AuditFilter::newest(log.world.team.id, 100);
        assert_eq!(tx.audit_entries(&all).await.unwrap().len(), 70);
        tx.commit().await.unwrap();
        assert_eq!(log.verified().await, (0, 70));
    });
}

#[test]
fn all_batches_are_moved_even_if_they_are_not_loaded_at_once() {
    block_on(async {
        let log = Log::new().await;
        log.add_more_batches_than_are_loaded_at_once().await;

        assert_eq!(log.seal_batches().await.unwrap(), 70);
        assert_eq!(log.verified().await, (70, 0));
    });
}

#[test]
fn a_transaction_moves_at_most_1024_entries_or_one_batch() {
    block_on(async {
        let log = Log::new().await;
        let batch = |size: &usize| AuditBatch {
            id: AuditBatchId::draw(at(0)),
            entries: Some(vec![log.entry("read", 0); *size]),
        };
        let number = |sizes: &[usize]| number_to_move(&sizes.iter().map(batch).collect::<Vec<_>>());

        assert_eq!(number(&[256; 4]), 4);
        assert_eq!(number(&[256; 5]), 4);
        assert_eq!(number(&[1_025, 1]), 1);
    });
}
