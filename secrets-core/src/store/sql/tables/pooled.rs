//! Connections of a pool, with a timeout for each statement.

use std::future::Future;
use std::time::Duration;

use sqlx::pool::{Pool, PoolConnection};
use sqlx::{Database, SqlSafeStr as _};
use sqlx_core::transaction::TransactionManager as _;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::{BEGIN, Connection, Db, error, failed};
use crate::store::StoreResult;

type Manager = <Db as Database>::TransactionManager;

/// Timeout for the check of a connection that is returned to its pool.
const RETURN_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection of a pool.
///
/// Dropping it returns the connection to the pool. If a statement was cancelled or reached its timeout,
/// the connection is closed instead, because its state is unknown: a connection that silently died
/// would block the next caller too.
pub(super) struct Pooled {
    /// Absent only while the value is being dropped.
    connection: Option<PoolConnection<Db>>,
    limit: StatementLimit,
    /// Permit to hold until the connection is returned, so that the next holder finds it free.
    turn: Option<OwnedSemaphorePermit>,
}

/// Limit of the statements of a connection.
pub(super) struct StatementLimit {
    timeout: Duration,
    /// True while a statement runs, and after a statement that did not end.
    is_busy: bool,
}

/// Access to the connection of a session, so that read methods are written once.
pub(super) trait Connected: Send {
    fn pooled(&mut self) -> &mut Pooled;
}

/// A connection that only reads.
pub(super) struct Reader(pub(super) Pooled);

/// A connection with an open transaction, which is rolled back when dropped.
pub(super) struct Transaction {
    pooled: Pooled,
    is_open: bool,
}

impl Pooled {
    /// Acquires a connection whose statements have this timeout.
    pub(super) async fn acquire(pool: &Pool<Db>, timeout: Duration) -> StoreResult<Self> {
        let connection = Some(pool.acquire().await.map_err(failed)?);
        let limit = StatementLimit { timeout, is_busy: false };
        Ok(Self { connection, limit, turn: None })
    }

    /// Like [`acquire`](Self::acquire), and holds a permit as long as the connection.
    pub(super) async fn acquire_in_turn(
        pool: &Pool<Db>,
        timeout: Duration,
        turn: OwnedSemaphorePermit,
    ) -> StoreResult<Self> {
        let mut pooled = Self::acquire(pool, timeout).await?;
        pooled.turn = Some(turn);
        Ok(pooled)
    }

    /// Returns the connection, and the limit that every use of it must be given to.
    #[expect(clippy::expect_used, reason = "see the field")]
    pub(super) fn parts(&mut self) -> (&mut Connection, &mut StatementLimit) {
        let connection = self.connection.as_mut().expect("the value is not being dropped");
        (connection, &mut self.limit)
    }
}

impl StatementLimit {
    /// Runs a statement until the timeout.
    pub(super) async fn apply<T>(
        &mut self,
        statement: impl Future<Output = StoreResult<T>>,
    ) -> StoreResult<T> {
        self.is_busy = true;
        let result = timeout(self.timeout, statement)
            .await
            .map_err(|_| error::unavailable("timeout while waiting for the database"))?;
        self.is_busy = false;
        result
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        let (Some(mut connection), turn) = (self.connection.take(), self.turn.take()) else {
            return;
        };
        if self.limit.is_busy {
            drop(connection.detach());
            return;
        }
        // Returning a connection sends a rollback, if one is due, and waits for the answer. Without a
        // runtime the connection is closed.
        let returning = connection.return_to_pool();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                drop(timeout(RETURN_TIMEOUT, returning).await);
                drop(turn);
            });
        }
    }
}

impl Connected for Reader {
    fn pooled(&mut self) -> &mut Pooled {
        &mut self.0
    }
}

impl Connected for Transaction {
    fn pooled(&mut self) -> &mut Pooled {
        &mut self.pooled
    }
}

impl Transaction {
    /// Begins a transaction.
    pub(super) async fn begin(pooled: Pooled) -> StoreResult<Self> {
        // Open already, so that a transaction whose beginning was cancelled is rolled back.
        let mut transaction = Self { pooled, is_open: true };
        let (connection, limit) = transaction.pooled.parts();
        let begin = Manager::begin(connection, Some(BEGIN.into_sql_str()));
        limit.apply(async { begin.await.map_err(failed) }).await?;
        Ok(transaction)
    }

    /// Commits the transaction.
    pub(super) async fn commit(mut self) -> StoreResult<()> {
        let (connection, limit) = self.pooled.parts();
        limit.apply(async { Manager::commit(connection).await.map_err(failed) }).await?;
        self.is_open = false;
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.is_open && !self.pooled.limit.is_busy {
            Manager::start_rollback(self.pooled.parts().0);
        }
    }
}
