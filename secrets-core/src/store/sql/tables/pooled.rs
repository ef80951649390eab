//! Connections from a pool, with a timeout for each SQL statement.

use std::future::Future;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sqlx::pool::{Pool, PoolConnection};
use sqlx::{Connection as _, Database, SqlSafeStr as _};
use sqlx_core::transaction::TransactionManager as _;
use tokio::time::timeout;
use tracing::{Instrument as _, info_span};

use super::super::super::cache::{Cache, CacheView, RunningCommit};
use super::answers::Answers;
use super::{Connection, Db, NO_ANSWER, Pools, Turn, error, failed};
use crate::store::{StoreError, StoreResult};

pub(in super::super) type Manager = <Db as Database>::TransactionManager;

/// Timeout for the check of a connection that is returned to its pool.
const RETURN_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection from a pool.
///
/// Dropping this value returns the connection to the pool. If an SQL statement was cancelled or
/// reached its timeout, the connection is closed instead, because its state is unknown: a
/// connection that is dead without an error would also block the next caller.
pub(in super::super) struct Pooled {
    /// Connection; absent only while the value is being dropped.
    connection: Option<PoolConnection<Db>>,
    limit: StatementLimit,
    /// Permit of the transaction to use the connection, held until the connection is returned to
    /// the pool, so that the next transaction finds a free connection.
    turn: Option<Turn>,
    /// Commit that was started on this connection and has not ended.
    commit: Option<RunningCommit>,
}

/// Timeout with which the SQL statements on a connection are run.
pub(in super::super) struct StatementLimit {
    pub(in super::super) timeout: Duration,
    /// Time that was spent waiting for the connection, which is deducted from the timeout of the
    /// first SQL statement.
    waited: Duration,
    answers: Arc<Answers>,
    /// True while an SQL statement runs, and after an SQL statement that did not end.
    is_busy: bool,
    /// True after the database has reported an error.
    pub(in super::super) has_failed: bool,
}

/// Access to the connection of a session. Implemented by readers and transactions, so that the read
/// methods are written only once.
pub(in super::super) trait Connected: Send {
    /// Returns the connection; a reader acquires it first if needed.
    fn pooled(&mut self) -> impl Future<Output = StoreResult<&mut Pooled>> + Send;

    /// Returns a view of the cache that shows the database at a time after the start of the session;
    /// `None` if the session must not read from a cache.
    fn cache(&mut self) -> impl Future<Output = StoreResult<Option<CacheView>>> + Send;
}

/// Statistics of a connection pool: total duration and number of failures of the waits for a
/// connection, and whether the database responds to the calls.
#[derive(Debug, Default)]
pub(in super::super) struct Waits {
    pub(super) answers: Arc<Answers>,
    microseconds: AtomicU64,
    failures: AtomicU64,
}

/// A session that only reads. It acquires a connection for its first SQL statement.
pub(super) struct Reader {
    pools: Arc<Pools>,
    /// Function that selects the pool from which the connection is acquired.
    pool: fn(&Pools) -> (&Pool<Db>, &Waits),
    timeout: Duration,
    pooled: Option<Pooled>,
    is_cached: bool,
    /// View of the cache; created when the session first needs it.
    view: Option<CacheView>,
}

impl Reader {
    /// Creates a session without a connection. The function `pool` selects the connection pool;
    /// `timeout` is the timeout of each SQL statement.
    pub(super) fn new(
        pools: Arc<Pools>,
        pool: fn(&Pools) -> (&Pool<Db>, &Waits),
        timeout: Duration,
    ) -> Self {
        Self { pools, pool, timeout, pooled: None, is_cached: false, view: None }
    }

    /// Lets the session read from the cache of its pools.
    pub(super) fn cached(self) -> Self {
        Self { is_cached: true, ..self }
    }
}

impl Waits {
    /// Acquires a connection of a pool, and adds the wait to the statistics. Returns the connection
    /// and the duration of the wait.
    async fn acquire(&self, pool: &Pool<Db>) -> StoreResult<(PoolConnection<Db>, Duration)> {
        let (began, call) = (Instant::now(), self.answers.begin());
        let acquired = pool.acquire().instrument(info_span!("wait for connection")).await;
        drop(call);
        let waited = began.elapsed();
        let microseconds = u64::try_from(waited.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(microseconds, Ordering::Relaxed);
        let connection = acquired.map_err(failed).inspect_err(|_| {
            self.failures.fetch_add(1, Ordering::Relaxed);
        })?;
        Ok((connection, waited))
    }

    /// Returns the total time of all waits, and the number of waits that failed.
    pub(super) fn totals(&self) -> (Duration, u64) {
        let waited = Duration::from_micros(self.microseconds.load(Ordering::Relaxed));
        (waited, self.failures.load(Ordering::Relaxed))
    }
}

impl Pooled {
    /// Acquires a connection of a pool. `timeout` is the timeout of its SQL statements.
    pub(in super::super) async fn acquire(
        (pool, waits): (&Pool<Db>, &Waits),
        timeout: Duration,
    ) -> StoreResult<Self> {
        let (connection, waited) = waits.acquire(pool).await?;
        let answers = Arc::clone(&waits.answers);
        let (is_busy, has_failed) = (false, false);
        let limit = StatementLimit { timeout, waited, answers, is_busy, has_failed };
        Ok(Self { connection: Some(connection), limit, turn: None, commit: None })
    }

    /// Acquires a connection like [`acquire`](Self::acquire), and keeps the permit `turn` until the
    /// connection is returned to the pool.
    pub(in super::super) async fn acquire_in_turn(
        pool: (&Pool<Db>, &Waits),
        timeout: Duration,
        turn: Turn,
    ) -> StoreResult<Self> {
        let mut pooled = Self::acquire(pool, timeout).await?;
        pooled.turn = Some(turn);
        Ok(pooled)
    }

    /// Returns the connection, and the timeout with which every SQL statement must be run.
    #[expect(clippy::expect_used, reason = "see the field")]
    pub(in super::super) fn parts(&mut self) -> (&mut Connection, &mut StatementLimit) {
        let connection = self.connection.as_mut().expect("the value is not being dropped");
        (connection, &mut self.limit)
    }

    /// Begins a transaction of the database with this SQL statement. The cache then discards the
    /// changes of an earlier transaction that was rolled back.
    pub(in super::super) async fn begin(
        &mut self,
        statement: &'static str,
        cache: Option<&Arc<Cache>>,
    ) -> StoreResult<()> {
        let (connection, limit) = self.parts();
        let begin = Manager::begin(connection, Some(statement.into_sql_str()));
        limit.apply(async { begin.await.map_err(failed) }).await?;
        if let Some(cache) = cache {
            cache.changes().begin();
        }
        Ok(())
    }

    /// Commits the transaction of the database.
    pub(in super::super) async fn commit(&mut self, cache: Option<&Arc<Cache>>) -> StoreResult<()> {
        self.commit = cache.map(|cache| cache.changes().begin_commit());
        let (connection, limit) = self.parts();
        if Manager::get_transaction_depth(connection) != 1 {
            // Without this check, the driver would report a success.
            return Err(error::unavailable("the transaction was rolled back"));
        }
        limit.apply(async { Manager::commit(connection).await.map_err(failed) }).await?;
        self.commit = None;
        Ok(())
    }

    /// Fails if an SQL statement of the transaction has failed. Such a transaction cannot be
    /// committed, because the database may have rolled it back.
    pub(in super::super) fn check(&self) -> StoreResult<()> {
        if self.limit.has_failed || self.limit.is_busy {
            return Err(error::broken("a statement of the transaction has failed"));
        }
        Ok(())
    }

    /// Rolls back the transaction before the next statement, unless the state of the connection is
    /// unknown.
    pub(in super::super) fn start_rollback(&mut self) {
        if !self.limit.is_busy {
            Manager::start_rollback(self.parts().0);
        }
    }
}

impl StatementLimit {
    /// Runs an SQL statement with the timeout. Fails with `Unavailable` if the timeout is reached.
    pub(in super::super) async fn apply<T>(
        &mut self,
        statement: impl Future<Output = StoreResult<T>>,
    ) -> StoreResult<T> {
        // A statement that did not end counts as failed.
        self.has_failed |= mem::replace(&mut self.is_busy, true);
        let call = self.answers.begin();
        let limit = self.timeout.saturating_sub(self.waited).max(self.timeout / 2);
        let span = info_span!("SQL", otel.kind = "client", db.system.name = Db::NAME);
        let result = timeout(limit, statement).instrument(span).await;
        let result = result.map_err(|_| error::unavailable(NO_ANSWER))?;
        call.answered();
        self.has_failed |=
            matches!(result, Err(StoreError::Unavailable(_) | StoreError::Corrupt(_)));
        self.waited = Duration::ZERO;
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
            let (connection, commit) = (connection.detach(), self.commit.take());
            match (commit, tokio::runtime::Handle::try_current()) {
                (None, _) => drop(connection),
                // The result of the commit is unknown until the connection is closed. Without a
                // runtime, the cached records that the commit changed are never used again.
                (Some(commit), Err(_)) => mem::forget(commit),
                (Some(commit), Ok(runtime)) => drop(runtime.spawn(async move {
                    connection.close().await.ok();
                    drop(commit);
                })),
            }
            return;
        }
        // Returning a connection sends a rollback, if one is needed, and waits for the response.
        // Without a runtime, the connection is closed.
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
    async fn pooled(&mut self) -> StoreResult<&mut Pooled> {
        match &mut self.pooled {
            Some(pooled) => Ok(pooled),
            none => {
                let pool = (self.pool)(&self.pools);
                Ok(none.insert(Pooled::acquire(pool, self.timeout).await?))
            }
        }
    }

    async fn cache(&mut self) -> StoreResult<Option<CacheView>> {
        let Some(cache) = self.pools.cache.as_ref().filter(|_| self.is_cached) else {
            return Ok(None);
        };
        if self.view.is_none() {
            let pool = self.pools.pinging();
            self.view = Some(self.pools.follower.view(cache, pool, self.timeout).await?);
        }
        Ok(self.view.clone())
    }
}
