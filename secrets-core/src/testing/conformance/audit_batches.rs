//! Conformance rules for batches of audit entries: entries that are stored together as one row,
//! until they are moved to the audit log.

use std::slice::from_ref;

use uuid::Uuid;

use super::{assert_stale, begin, begin_among_others, read};
use crate::model::{AuditBatchId, Subject};
use crate::store::{AuditFilter, AuditRecord, AuditSeal, Reads, Store, StoreResult};
use crate::testing::fixtures::{World, at, entry};

pub(super) async fn add_batch(store: &dyn Store, entries: &[AuditRecord]) {
    let mut tx = begin(store).await;
    tx.insert_audit_batch(&entries.into()).await.unwrap();
    tx.commit().await.unwrap();
}

/// Moves the entries of all stored batches to the audit log, at most `limit` batches in each
/// transaction, and deletes the batches.
pub(super) async fn expand(store: &dyn Store, limit: u32) -> StoreResult<()> {
    let mut behind = AuditBatchId::NIL;
    loop {
        let batches = store.read().await?.audit_batches(behind, limit).await?;
        let Some(last) = batches.last() else { return Ok(()) };
        behind = last.id;
        let mut tx = begin_among_others(store).await?;
        let ids: Vec<_> = batches.iter().map(|batch| batch.id).collect();
        let own = tx.delete_audit_batches(&ids).await?;
        for batch in batches.into_iter().filter(|batch| own.contains(&batch.id)) {
            tx.insert_audit(&batch.entries.unwrap()).await?;
        }
        tx.commit().await?;
    }
}

async fn newest(reads: &mut dyn Reads, world: &World) -> Vec<AuditRecord> {
    reads.audit_entries(&AuditFilter::newest(world.team.id, 1_000)).await.unwrap()
}

/// Audit entries are stored in a batch with all their fields. When they are moved to the audit log,
/// each becomes an entry of the log of its team.
pub async fn entries_of_a_batch_survive(store: &dyn Store) {
    let world = World::build(store).await;
    let full = AuditRecord {
        project: Some(world.project.id),
        project_name: Some("\u{dc}n\u{ef} \"quoted\"".to_owned()),
        environment: Some(world.production.id),
        environment_name: Some("production".to_owned()),
        actor_id: Some(Uuid::from_u128(u128::MAX)),
        actor_name: Some(String::new()),
        actor_email: Some("owner@example.com".to_owned()),
        resource_id: Some(Uuid::from_u128(7)),
        resource_name: Some("KEY\n".to_owned()),
        metadata: r#"{"z": 1, "a": ["x", null], "b":1.0}"#.to_owned(),
        address: Some([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into()),
        agent: Some("curl/8".to_owned()),
        request: Some(Uuid::from_u128(1)),
        ..entry(&world.team, "secret.read", at(2))
    };
    let bare = entry(&world.team, "secret.listed", at(1));
    let theirs = entry(&world.other_team, "theirs", at(3));

    add_batch(store, &[bare.clone(), theirs.clone(), full.clone()]).await;

    let mut reads = read(store).await;
    assert_eq!(reads.count_unsealed_audit().await.unwrap(), 3);
    expand(store, 10).await.unwrap();
    let mut reads = read(store).await;
    assert_eq!(newest(&mut *reads, &world).await, [full, bare]);
    let others = AuditFilter::newest(world.other_team.id, 10);
    assert_eq!(reads.audit_entries(&others).await.unwrap(), [theirs]);
    assert_eq!(reads.count_unsealed_audit().await.unwrap(), 3);
    assert_eq!(reads.audit_batches(AuditBatchId::NIL, 1).await.unwrap(), []);
}

/// An audit entry that is stored twice (in two batches, or in a batch and in the log) is listed
/// once.
pub async fn an_entry_in_two_batches_is_listed_once(store: &dyn Store) {
    let world = World::build(store).await;
    let entries = [1, 2, 3].map(|age| entry(&world.team, &format!("e{age}"), at(age)));
    add_batch(store, &entries[..2]).await;
    add_batch(store, &entries).await;
    let mut tx = begin(store).await;
    tx.insert_audit(&entries[..1]).await.unwrap();
    tx.commit().await.unwrap();

    expand(store, 1).await.unwrap();

    let found = newest(&mut *read(store).await, &world).await;
    let expected: Vec<_> = entries.into_iter().rev().collect();
    assert_eq!(found, expected);
}

/// Batches are listed in pages, in the order of their IDs.
pub async fn batches_come_in_pages(store: &dyn Store) {
    let world = World::build(store).await;
    let entries: Vec<_> =
        (0..300).map(|age| entry(&world.team, &format!("e{age}"), at(age))).collect();
    for batch in entries.chunks(70) {
        add_batch(store, batch).await;
    }

    expand(store, 2).await.unwrap();

    let found = newest(&mut *read(store).await, &world).await;
    assert!(found.iter().eq(entries.iter().rev()));
}

/// Inserting a batch without entries stores nothing.
pub async fn an_empty_batch_is_not_stored(store: &dyn Store) {
    add_batch(store, &[]).await;

    assert_eq!(read(store).await.audit_batches(AuditBatchId::NIL, 1).await.unwrap(), []);
}

/// A transaction that is rolled back neither inserts nor deletes batches.
pub async fn a_rollback_keeps_the_batches(store: &dyn Store) {
    let world = World::build(store).await;
    let entry = entry(&world.team, "secret.read", at(1));
    add_batch(store, from_ref(&entry)).await;

    let mut tx = begin(store).await;
    let batches = tx.audit_batches(AuditBatchId::NIL, 10).await.unwrap();
    let deleted = tx.delete_audit_batches(&[batches[0].id]).await.unwrap();
    assert_eq!(deleted, [batches[0].id]);
    assert_eq!(tx.audit_batches(AuditBatchId::NIL, 10).await.unwrap(), []);
    drop(tx);

    expand(store, 10).await.unwrap();
    assert_eq!(newest(&mut *read(store).await, &world).await, [entry]);
}

/// Audit entries that are inserted with positions are part of the audit chain. If one of the
/// entries already exists, the insertion fails with `Stale`.
pub async fn sealed_entries_are_inserted_once(store: &dyn Store) {
    let world = World::build(store).await;
    let sealed = |position: u64, age| AuditRecord {
        seal: Some(AuditSeal { position, previous_hash: [1; 32], hash: [2; 32] }),
        ..entry(&world.team, &format!("e{position}"), at(age))
    };
    let entries: Vec<_> = (1..=130).map(|position| sealed(position, 1)).collect();
    let mut tx = begin(store).await;
    tx.insert_sealed_audit(entries.clone()).await.unwrap();
    tx.commit().await.unwrap();

    let mut reads = read(store).await;
    assert_eq!(reads.audit_chain(Some(world.team.id), 0, 1_000).await.unwrap(), entries);
    assert_eq!(reads.count_unsealed_audit().await.unwrap(), 0);
    for again in [vec![entries[0].clone()], vec![sealed(131, 2), entries[5].clone()]] {
        let mut tx = begin(store).await;
        assert_stale(tx.insert_sealed_audit(again).await, Subject::Audit);
    }
}
