//! Implementation of the store traits for both databases. The module that includes this code
//! defines the type `Db`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::TryStreamExt;
use futures_util::future::{try_join, try_join_all};
use sqlx::pool::Pool;
use sqlx::query::Query;
use sqlx::{Database, QueryBuilder};
use tokio::time::timeout;
use uuid::Uuid;

use self::pooled::{Connected, Pooled, Reader, Waits};
use self::row::Row;
use super::super::error::{self, broken};
use super::transactions::{Transaction, Turn, WriteQueue};
use super::{
    BEFORE_CLOSE, CLOCK, DATABASE_SIZE, Db, Follower, HAS_ARRAYS, LOCK_ROWS, StoreGuard, passes,
    push_keys,
};
use crate::model::{Principal, Subject, Time};
use crate::store::{
    AuditRecord, PoolUsage, Reads, Store, StoreError, StoreResult, StoreUsage, Timeouts, Tx,
};

#[macro_use]
mod clauses;
#[macro_use]
mod columns;

pub(super) mod anonymizations;
mod answers;
pub(super) mod attempts;
pub(super) mod audit;
mod audit_filter;
mod audit_heads;
mod audit_rows;
mod device_logins;
pub(super) mod due;
mod environments;
mod instance;
mod invitations;
mod keys;
mod outbox;
mod permissions;
pub(super) mod pooled;
mod pools;
pub(super) mod projects;
pub(super) mod resolve;
mod rotation_writes;
pub(super) mod rotations;
mod row;
mod scans;
pub(super) mod schema;
pub(super) mod secret_writes;
pub(super) mod secrets;
mod sessions;
pub(super) mod teams;
pub(super) mod tokens;
mod users;
pub(super) mod webhooks;

pub(super) use pools::{CurrentPools, Pools};

/// Maximum number of rows or values in one SQL statement. (SQLite allows 32,766 parameters.)
const BATCH: usize = 1_000;

/// Error of a call that reached its timeout.
const NO_ANSWER: &str = "timeout while waiting for the database";

type Connection = <Db as Database>::Connection;
pub(super) type Statement<'q> = Query<'q, Db, <Db as Database>::Arguments>;

/// A store on an SQL database.
pub struct SqlStore {
    pools: CurrentPools,
    timeouts: Timeouts,
    held: StoreGuard,
}

impl SqlStore {
    pub(super) fn new(pools: CurrentPools, timeouts: Timeouts, held: StoreGuard) -> Self {
        Self { pools, timeouts, held }
    }

    /// Begins a transaction whose SQL statements have this timeout, after the transactions that
    /// began to wait before.
    async fn begin_in_turn(&self, limit: Duration, is_long: bool) -> StoreResult<Box<dyn Tx>> {
        let (pools, acquire) = (self.pools(), self.timeouts.acquire);
        Ok(Box::new(Session(Transaction::begin(&pools, acquire, limit, is_long).await?)))
    }

    /// Returns the pools in use.
    pub(super) fn pools(&self) -> Arc<Pools> {
        self.pools.get()
    }
}

#[async_trait]
impl Store for SqlStore {
    async fn read(&self) -> StoreResult<Box<dyn Reads>> {
        let reader = Reader::new(self.pools(), Pools::reading, self.timeouts.read);
        Ok(Box::new(Session(reader.cached())))
    }

    async fn read_audit_log(&self) -> StoreResult<Box<dyn Reads>> {
        let reader = Reader::new(self.pools(), Pools::reading_audit_log, self.timeouts.read);
        Ok(Box::new(Session(reader)))
    }

    async fn begin(&self) -> StoreResult<Box<dyn Tx>> {
        self.begin_in_turn(self.timeouts.write, true).await
    }

    async fn begin_for_request(&self, is_long: bool) -> StoreResult<Box<dyn Tx>> {
        let limit = self.timeouts.read.min(self.timeouts.write);
        let begun = timeout(limit, self.begin_in_turn(limit, is_long)).await;
        begun.unwrap_or_else(|_| Err(error::unavailable(NO_ANSWER)))
    }

    async fn insert_audit_batch(&self, entries: &Arc<[AuditRecord]>) -> StoreResult<()> {
        let Some(statement) = audit::insert_batch(entries)? else { return Ok(()) };
        let Timeouts { acquire, write, .. } = self.timeouts;
        Transaction::run_alone(&self.pools(), acquire, write, statement).await
    }

    fn is_exclusive(&self) -> bool {
        Transaction::IS_EXCLUSIVE
    }

    async fn close(&self) -> StoreResult<()> {
        self.held.stop().await;
        let pools = self.pools();
        pools.readers.close().await;
        pools.audit.close().await;
        pools.reserved.close().await;
        if let Some(statement) = BEFORE_CLOSE {
            let mut pooled = Pooled::acquire(pools.writing(), self.timeouts.write).await?;
            let (connection, limit) = pooled.parts();
            let statement = sqlx::query_scalar::<Db, i64>(statement);
            let row = async { statement.fetch_optional(connection).await.map_err(failed) };
            if limit.apply(row).await?.is_some_and(|is_busy| is_busy != 0) {
                tracing::warn!(
                    "another process reads the database file, so its -wal file is needed"
                );
            }
        }
        pools.writers.close().await;
        Ok(())
    }

    fn usage(&self) -> StoreUsage {
        let current = self.pools();
        let pool = |name, (pool, waits): (&Pool<Db>, &Waits)| {
            let (waited, failures) = waits.totals();
            PoolUsage {
                name,
                max: pool.options().get_max_connections(),
                open: pool.size(),
                idle: u32::try_from(pool.num_idle()).unwrap_or(u32::MAX),
                waited,
                failures,
            }
        };
        let pools = [
            ("read", current.reading()),
            ("audit", current.reading_audit_log()),
            ("write", current.writing()),
            ("reserved", current.pinging()),
        ];
        let pools = pools.map(|(name, of)| pool(name, of)).into();
        StoreUsage { pools, cache: current.cache.as_ref().map(|cache| cache.usage()) }
    }

    fn is_stalled(&self) -> bool {
        let pools = self.pools();
        let used = [pools.reading(), pools.reading_audit_log(), pools.writing(), pools.pinging()];
        used.into_iter().any(|(_, waits)| waits.answers.is_stalled())
    }

    async fn ping(&self) -> StoreResult<Option<Time>> {
        let pools = self.pools();
        let probes = [pools.reading(), pools.reading_audit_log(), pools.writing()];
        let probes = probes.into_iter().filter(|(_, waits)| waits.answers.is_stalled());
        // A stalled pool is checked too. Otherwise, only a request could show that it responds
        // again, and an unhealthy node may get no requests.
        let probes = probes.map(|pool| clock(pool, self.timeouts.ping));
        let pinged = try_join(clock(pools.pinging(), self.timeouts.ping), try_join_all(probes));
        let pinged = timeout(self.timeouts.ping, pinged).await;
        pinged.map_err(|_| error::unavailable(NO_ANSWER))?.map(|(time, _)| time)
    }
}

/// Returns the time of the database server, read through a connection of this pool; `None` for
/// SQLite.
async fn clock(pool: (&Pool<Db>, &Waits), limit: Duration) -> StoreResult<Option<Time>> {
    let mut pooled = Pooled::acquire(pool, limit).await?;
    let (connection, limit) = pooled.parts();
    let clock = sqlx::query_scalar(CLOCK);
    limit.apply(async { clock.fetch_one(connection).await.map_err(failed) }).await
}

/// A connection, with or without a transaction, that implements the store methods of all tables.
struct Session<C>(C);

#[async_trait]
impl Tx for Session<Transaction> {
    async fn commit(self: Box<Self>) -> StoreResult<()> {
        self.0.commit().await
    }

    async fn roll_back(self: Box<Self>) -> StoreResult<()> {
        self.0.roll_back().await
    }
}

impl<C: Connected> Session<C> {
    /// Runs an SQL statement and decodes the first row of its result with `read`.
    async fn one<T>(
        &mut self,
        table: &'static str,
        statement: Statement<'_>,
        read: fn(&Row<'_>) -> StoreResult<T>,
    ) -> StoreResult<Option<T>> {
        let (connection, limit) = self.0.pooled().await?.parts();
        let row = async { statement.fetch_optional(connection).await.map_err(failed) };
        let row = limit.apply(row).await?;
        row.map(|row| read(&Row { table, row: &row })).transpose()
    }

    /// Runs an SQL statement and decodes each row of its result with `read`, as the row arrives.
    async fn all<T: Send>(
        &mut self,
        table: &'static str,
        statement: Statement<'_>,
        read: fn(&Row<'_>) -> StoreResult<T>,
    ) -> StoreResult<Vec<T>> {
        let mut records = Vec::new();
        self.each(table, statement, |row| {
            records.push(read(row)?);
            Ok(())
        })
        .await?;
        Ok(records)
    }

    /// Runs an SQL statement and passes each row of its result to `take`, as the row arrives.
    async fn each(
        &mut self,
        table: &'static str,
        statement: Statement<'_>,
        mut take: impl FnMut(&Row<'_>) -> StoreResult<()> + Send,
    ) -> StoreResult<()> {
        let (connection, limit) = self.0.pooled().await?.parts();
        limit
            .apply(async {
                let mut rows = statement.fetch(connection);
                while let Some(row) = rows.try_next().await.map_err(failed)? {
                    take(&Row { table, row: &row })?;
                }
                Ok(())
            })
            .await
    }

    /// Runs an SQL statement that returns a count, and returns the count.
    async fn count(&mut self, statement: Statement<'_>) -> StoreResult<u64> {
        let count = self.one("count", statement, |row| row.number("count")).await?;
        count.ok_or_else(|| broken("a count returned no row"))
    }
}

impl Session<Transaction> {
    /// Runs an SQL statement and returns the number of rows that it wrote.
    async fn write(&mut self, statement: Statement<'_>) -> StoreResult<u64> {
        let (connection, limit) = self.0.pooled().await?.parts();
        let done = async { statement.execute(connection).await.map_err(failed) };
        Ok(limit.apply(done).await?.rows_affected())
    }

    /// Repeats an SQL statement that writes at most $2 rows of the object $1, until no rows are
    /// left. Each statement thus ends well within its timeout, however many rows there are.
    async fn write_in_batches(
        &mut self,
        text: &'static str,
        id: Uuid,
        limit: u32,
    ) -> StoreResult<()> {
        let statement = || sqlx::query(text).bind(id).bind(i64::from(limit));
        while self.write(statement()).await? >= u64::from(limit) {}
        Ok(())
    }

    /// Runs an SQL statement that inserts a row. Fails with `Duplicate` if the row conflicts with
    /// an existing one. The statement must contain `ON CONFLICT DO NOTHING`, because a violated
    /// constraint would abort the transaction in PostgreSQL.
    async fn insert(&mut self, subject: Subject, statement: Statement<'_>) -> StoreResult<()> {
        match self.write(statement).await? {
            0 => Err(StoreError::Duplicate(subject)),
            _ => Ok(()),
        }
    }

    /// Runs an SQL statement that updates or deletes a row. Fails with `Stale` if no row matches.
    async fn change(&mut self, subject: Subject, statement: Statement<'_>) -> StoreResult<()> {
        match self.write(statement).await? {
            0 => Err(StoreError::Stale(subject)),
            _ => Ok(()),
        }
    }
}

/// Begins a savepoint inside a transaction. It is made with SQL, because the driver's savepoint can
/// end the whole transaction if it is cancelled.
async fn begin_savepoint(connection: &mut Connection) -> StoreResult<()> {
    sqlx::query("SAVEPOINT rows_of_call").execute(connection).await.map_err(failed).map(drop)
}

/// Ends a savepoint: keeps the writes since its beginning if the result is `Ok`, or undoes them.
/// Returns the result.
async fn end_savepoint(connection: &mut Connection, result: StoreResult<()>) -> StoreResult<()> {
    let statement = match result {
        Ok(()) => "RELEASE SAVEPOINT rows_of_call",
        Err(_) => "ROLLBACK TO SAVEPOINT rows_of_call",
    };
    sqlx::query(statement).execute(connection).await.map_err(failed)?;
    result
}

/// Converts a number to the 64-bit signed integer type of both databases.
fn bigint(number: u64) -> StoreResult<i64> {
    i64::try_from(number).map_err(|cause| StoreError::Corrupt(cause.into()))
}

/// Appends a list of IDs, `(a, b, c)`, to an SQL statement.
fn push_ids(statement: &mut QueryBuilder<Db>, ids: impl Iterator<Item = Uuid>) {
    statement.push("(");
    let mut list = statement.separated(", ");
    for id in ids {
        list.push_bind(id);
    }
    statement.push(")");
}

/// Returns the user ID and the token ID of a principal (a user or service token). One of the two is
/// `None`; in SQL, it becomes NULL, which equals no ID.
fn user_or_token(principal: Principal) -> (Option<Uuid>, Option<Uuid>) {
    match principal {
        Principal::User(user) => (Some(user.uuid()), None),
        Principal::Token(token) => (None, Some(token.uuid())),
    }
}

pub(super) fn failed(error: sqlx::Error) -> StoreError {
    error::failed(error, passes)
}
