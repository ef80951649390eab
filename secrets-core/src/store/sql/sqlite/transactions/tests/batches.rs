//! Tests of audit batches, which go before waiting transactions.

use tokio::task::JoinHandle;

use super::*;
use crate::store::{AuditRecord, StoreResult};

/// Starts a task that stores an audit batch of one entry. Returns when the batch is in the queue.
async fn queue_batch(test: &Test, entry: AuditRecord) -> JoinHandle<StoreResult<()>> {
    let store = Arc::clone(&test.store);
    let batch = tokio::spawn(async move { store.insert_audit_batch(&[entry].into()).await });
    while lock(&test.store.pools().queue.0).urgent.is_empty() {
        yield_now().await;
    }
    batch
}

#[tokio::test]
async fn an_audit_batch_goes_before_waiting_transactions_and_commits_the_group() {
    let test = Test::open().await;
    let world = World::build(&*test.store).await;
    let mut first = test.begin().await;
    let second = test.queue(false).await;
    test.insert(&mut first, 0).await;
    let batch = queue_batch(&test, entry(&world.team, "secret.read", at(0))).await;

    first.commit().await.unwrap();

    batch.await.unwrap().unwrap();
    let mut second = second.await.unwrap();
    assert!(second.last_audit_batch().await.unwrap().is_some());
    assert_eq!(test.committed().await, [0]);
    second.commit().await.unwrap();
}

#[tokio::test]
async fn an_audit_batch_whose_group_is_not_committed_is_not_stored() {
    let test = Test::open().await;
    let world = World::build(&*test.store).await;
    // A foreign key that is checked at the commit.
    let refuse = "CREATE TABLE refusal (id REFERENCES audit_batches DEFERRABLE INITIALLY DEFERRED);
        CREATE TRIGGER refuse AFTER INSERT ON audit_batches
            BEGIN INSERT INTO refusal VALUES ('nobody'); END";
    sqlx::raw_sql(refuse).execute(test.store.pools().writing().0).await.unwrap();
    let mut first = test.begin().await;
    test.insert(&mut first, 0).await;
    let batch = queue_batch(&test, entry(&world.team, "secret.read", at(0))).await;

    first.commit().await.unwrap_err();

    batch.await.unwrap().unwrap_err();
    assert!(test.committed().await.is_empty());
    sqlx::raw_sql("DROP TRIGGER refuse").execute(test.store.pools().writing().0).await.unwrap();
    let mut next = test.begin().await;
    test.insert(&mut next, 1).await;
    next.commit().await.unwrap();
    assert_eq!(test.committed().await, [1]);
}
