//! Transactions of a PostgreSQL database.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::super::cache::{Cache, CacheView};
use super::super::error::unavailable;
use super::tables::pooled::{Connected, Pooled};
use super::tables::{Pools, Statement, failed};
use crate::store::StoreResult;

/// SQL statement that begins a transaction.
const BEGIN: &str = "BEGIN";

/// Queue of the transactions that wait for a connection of the pool for writes.
pub(super) struct WriteQueue(Arc<Semaphore>);

/// Permit to use a connection of the pool for writes.
pub(super) type Turn = OwnedSemaphorePermit;

/// A connection with an open transaction. If it is dropped without a commit, the transaction is
/// rolled back.
pub(super) struct Transaction {
    pooled: Pooled,
    is_open: bool,
    cache: Option<Arc<Cache>>,
}

impl WriteQueue {
    /// Creates the queue of a pool with this number of connections. One of them is kept free of
    /// transactions, for [`Transaction::run_alone`].
    pub(super) fn new(connections: u32) -> Self {
        Self(Arc::new(Semaphore::new(connections.saturating_sub(1).max(1) as usize)))
    }

    /// Acquires a connection whose SQL statements have the timeout `limit`, after the transactions
    /// that began to wait before.
    pub(super) async fn acquire(
        pools: &Pools,
        acquire: Duration,
        limit: Duration,
    ) -> StoreResult<Pooled> {
        let turn = timeout(acquire, Arc::clone(&pools.queue.0).acquire_owned());
        let turn = turn.await.ok().and_then(Result::ok);
        let turn = turn.ok_or_else(|| unavailable("too many writes are waiting"))?;
        Pooled::acquire_in_turn(pools.writing(), limit, turn).await
    }
}

impl Transaction {
    /// True if no other transaction runs at the same time.
    pub(super) const IS_EXCLUSIVE: bool = false;

    /// Begins a transaction whose SQL statements have this timeout, after the transactions that
    /// began to wait before. Long transactions have no special treatment, because several
    /// transactions run at the same time.
    pub(super) async fn begin(
        pools: &Pools,
        acquire: Duration,
        limit: Duration,
        _is_long: bool,
    ) -> StoreResult<Self> {
        let pooled = WriteQueue::acquire(pools, acquire, limit).await?;
        // `is_open` is true before `BEGIN` runs, so that a cancelled `BEGIN` is rolled back too.
        let mut transaction = Self { pooled, is_open: true, cache: pools.cache.clone() };
        transaction.pooled.begin(BEGIN, transaction.cache.as_ref()).await?;
        Ok(transaction)
    }

    /// Runs one SQL statement, which is a transaction by itself. Does not wait for transactions
    /// that have not begun.
    pub(super) async fn run_alone(
        pools: &Pools,
        _acquire: Duration,
        limit: Duration,
        statement: Statement<'_>,
    ) -> StoreResult<()> {
        let mut pooled = Pooled::acquire(pools.writing(), limit).await?;
        let (connection, limit) = pooled.parts();
        limit.apply(async { statement.execute(connection).await.map_err(failed) }).await.map(drop)
    }

    /// Commits the transaction, and then returns the connection to its pool. Fails, and rolls it
    /// back, if a statement has failed: the server would also roll it back, but report no error.
    pub(super) async fn commit(mut self) -> StoreResult<()> {
        self.pooled.check()?;
        self.pooled.commit(self.cache.as_ref()).await?;
        self.is_open = false;
        Ok(())
    }

    /// Rolls the transaction back. Waits for no other transaction, because this one has read only
    /// their committed changes.
    #[expect(clippy::unused_async, reason = "has the same signature on SQLite")]
    pub(super) async fn roll_back(self) -> StoreResult<()> {
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.is_open {
            self.pooled.start_rollback();
        }
    }
}

impl Connected for Transaction {
    async fn pooled(&mut self) -> StoreResult<&mut Pooled> {
        Ok(&mut self.pooled)
    }

    /// Returns `None`, so that a transaction never reads from the cache: it must see its own
    /// uncommitted writes, which are not cached.
    async fn cache(&mut self) -> StoreResult<Option<CacheView>> {
        Ok(None)
    }
}
