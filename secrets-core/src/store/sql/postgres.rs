//! Store on a PostgreSQL server, shared by any number of nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sqlx::error::DatabaseError;
use sqlx::migrate::MigrateError;
use sqlx::pool::PoolOptions;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, QueryBuilder};
use tokio::time::sleep;

use super::cache::Cache;
use super::migrations::Dialect;
use super::{AUDIT_READERS, RESERVED, error};
use crate::model::SecretKey;
use crate::store::{SchemaState, StoreOptions, StoreResult};

type Db = sqlx::Postgres;

const DIALECT: Dialect = Dialect::Postgres;

/// Background tasks that run as long as the store is in use.
#[derive(Default)]
struct StoreGuard {
    /// Task that detects a change of the server that accepts writes (the primary); `None` if the URL
    /// names one host.
    _watch: Option<Watch>,
    /// Task that deletes old changes of cached records; `None` if the store is opened for reading
    /// only.
    pruning: Option<Pruning>,
}

impl StoreGuard {
    /// Ends the background tasks that use the connections, before they are closed.
    #[expect(clippy::unused_async, reason = "on SQLite, a task closes its connection")]
    async fn stop(&self) {
        if let Some(pruning) = &self.pruning {
            pruning.stop();
        }
    }
}

/// Query that is true if migrations have run on the database.
const HAS_TABLES: &str = "SELECT to_regclass('_sqlx_migrations') IS NOT NULL";

/// SQL statement to run before the connections are closed; none for PostgreSQL.
const BEFORE_CLOSE: Option<&str> = None;

const CLOCK: &str = "SELECT clock_timestamp()";

/// End of a query that locks the rows that it returns.
const LOCK_ROWS: &str = "FOR UPDATE";

/// True if a parameter can be an array. The text of an SQL statement is then the same for any number
/// of values, and the statement is prepared once.
const HAS_ARRAYS: bool = true;

/// Appends the condition that a column is one of these secret keys, after the name of the column.
fn push_keys(statement: &mut QueryBuilder<Db>, keys: &[SecretKey]) {
    let keys: Vec<_> = keys.iter().map(SecretKey::as_str).collect();
    statement.push(" = ANY(").push_bind(keys).push(")");
}

/// Query for the size of the database in bytes.
const DATABASE_SIZE: &str = "SELECT pg_database_size(current_database()) AS count";

/// Default maximum number of connections for requests.
pub(in super::super) const CONNECTIONS: u32 = 12;

/// Default size of the cache of encrypted records, in bytes.
pub(in super::super) const CACHE_BYTES: u64 = 24 << 20;

/// Settings of every session, unless the URL sets them.
///
/// The timeouts release the locks of a node that stalled or vanished. A node waits longer for its
/// own statements than the server does, so that the error of the server arrives first. The wait for
/// a lock is shorter than the wait for a connection, so that writes that wait for one lock do not
/// keep other writes from getting a connection.
const SESSION_SETTINGS: [(&str, &str); 9] = [
    // `plan_cache_mode` and `jit` are set for the statement that resolves an environment. By
    // default, the server would plan this statement again each time that the statement is run for a
    // user, and JIT-compile it because of its estimated cost. Planning takes ten times as long as
    // running it, compiling fifty times.
    ("plan_cache_mode", "force_generic_plan"),
    // A plan is kept with its connection. A plan that was made while a table was small would
    // otherwise scan the table after it has grown, until the server updates its statistics.
    ("enable_seqscan", "off"),
    ("jit", "off"),
    ("lock_timeout", "1500ms"),
    ("statement_timeout", "9s"),
    ("idle_in_transaction_session_timeout", "5s"),
    ("tcp_keepalives_idle", "10"),
    ("tcp_keepalives_interval", "5"),
    ("tcp_user_timeout", "10s"),
];

/// Settings of the session that migrates the tables, in addition to [`SESSION_SETTINGS`].
/// Statements have no timeout, because the migration of a large table can take a long time. The
/// lock timeout is shorter than that of requests, because requests to other nodes wait behind the
/// migration. Whole tables may be scanned.
const MIGRATION_SETTINGS: &str = "SELECT set_config('lock_timeout', '1s', FALSE),
    set_config('statement_timeout', '0', FALSE), set_config('enable_seqscan', 'on', FALSE)";

/// Maximum number of times that a migration is tried if another session holds a lock, such as a
/// node that migrates or a backup. All tries together take about a minute.
const MAX_MIGRATION_TRIES: u32 = 20;

/// Time between two tries of a migration, during which requests to other nodes continue.
const MIGRATION_RETRY_DELAY: Duration = Duration::from_secs(2);

/// Time without use after which a connection is checked with a ping before it is used again.
const PING_AFTER_IDLE: Duration = Duration::from_secs(1);

/// `FROM` clause for the secrets of an inheritance chain, with one index lookup per environment.
/// `OFFSET 0` prevents the query planner from merging the subquery, which would scan all secrets.
macro_rules! secrets_of_chain {
    ($condition:literal) => {
        concat!(
            "FROM chain c CROSS JOIN LATERAL
                 (SELECT * FROM secrets s WHERE s.environment_id = c.id ",
            $condition,
            " OFFSET 0) s"
        )
    };
}

mod changes;
mod pooler;
mod secret_writes;
mod servers;
mod transactions;
pub(crate) mod url;

#[cfg_attr(
    feature = "sqlite",
    expect(clippy::duplicate_mod, reason = "the tables are written once for both databases")
)]
#[path = "tables/mod.rs"]
mod tables;

use changes::{Follower, Pruning};
use servers::{Servers, Watch};
pub use tables::SqlStore;
use tables::{CurrentPools, Pools, schema};

/// Migrates the database, if needed, and opens it. Fails if the URL leads to a connection pooler
/// that does not keep sessions.
pub async fn open(url: &str, options: StoreOptions) -> StoreResult<SqlStore> {
    let servers = Servers::parse(url)?;
    let primary = servers.primary().await?;
    pooler::refuse_transaction_mode(&primary.options).await?;
    migrate_server(&primary.options).await?;
    let current = CurrentPools::new(pools(&primary.options, options));
    let watch = servers.watch(primary, current.clone(), options);
    let held = StoreGuard {
        _watch: watch,
        pruning: Some(Pruning::start(current.clone(), options.timeouts)),
    };
    Ok(SqlStore::new(current, options.timeouts, held))
}

/// Opens the database without migrating it. The tables must have the schema of this version.
pub async fn open_migrated(url: &str, options: StoreOptions) -> StoreResult<SqlStore> {
    let primary = Servers::parse(url)?.primary().await?;
    pooler::refuse_transaction_mode(&primary.options).await?;
    let options = StoreOptions { cache_bytes: Some(0), ..options };
    let current = CurrentPools::new(pools(&primary.options, options));
    Ok(SqlStore::new(current, options.timeouts, StoreGuard::default()))
}

/// Creates pools of connections to a server, with an empty cache. They connect at their first use.
fn pools(server: &PgConnectOptions, options: StoreOptions) -> Pools {
    let timeouts = options.timeouts;
    let connections = options.connections.unwrap_or(CONNECTIONS);
    let create = |connections: u32, acquire, opened: &Arc<AtomicU64>| {
        let pool = pool(connections.max(1), acquire, timeouts.ping, server, opened);
        pool.connect_lazy_with(server.clone())
    };
    let opened = Arc::default();
    // Reads have connections of their own: writes wait for locks.
    let readers = create(connections - connections / 2, timeouts.acquire, &Arc::default());
    let writers = create(connections / 2, timeouts.acquire, &Arc::default());
    let audit = create(AUDIT_READERS, timeouts.acquire, &Arc::default());
    let reserved = create(RESERVED, timeouts.ping, &opened);
    let cache_bytes = options.cache_bytes.unwrap_or(CACHE_BYTES);
    let cache = (cache_bytes > 0).then(|| Arc::new(Cache::new(cache_bytes)));
    Pools::new([readers, audit, writers, reserved]).cached(cache, Follower::new(opened))
}

/// Creates a connection pool that sets up each session, checks connections that were idle, and
/// replaces connections that do not respond within `ping`. Counts the connections in `opened`.
fn pool(
    connections: u32,
    acquire: Duration,
    ping: Duration,
    server: &PgConnectOptions,
    opened: &Arc<AtomicU64>,
) -> PoolOptions<Db> {
    let (setup, opened) = (session_setup(server), Arc::clone(opened));
    PoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(acquire)
        .test_before_acquire(false)
        .after_connect(move |connection: &mut PgConnection, _| {
            let setup = AssertSqlSafe(setup.clone());
            opened.fetch_add(1, Ordering::SeqCst);
            Box::pin(async move { sqlx::raw_sql(setup).execute(connection).await.map(drop) })
        })
        .before_acquire(move |connection: &mut PgConnection, meta| {
            Box::pin(async move {
                if meta.idle_for <= PING_AFTER_IDLE {
                    return Ok(true);
                }
                let answer = tokio::time::timeout(ping / 2, connection.ping()).await;
                answer.unwrap_or(Err(sqlx::Error::PoolTimedOut)).map(|()| true)
            })
        })
}

/// Returns the SQL statement that sets up a session. The settings are not sent as connection
/// parameters, because connection poolers in session mode refuse or ignore such parameters.
fn session_setup(server: &PgConnectOptions) -> String {
    let given = server.get_options().unwrap_or_default();
    let missing = SESSION_SETTINGS.iter().filter(|(name, _)| !given.contains(name));
    let calls = missing.map(|(name, value)| format!("set_config('{name}', '{value}', FALSE)"));
    format!("SELECT {}", calls.collect::<Vec<_>>().join(", "))
}

/// Migrates the database to the schema of this program. Waits at most about a minute for locks of
/// other sessions, such as another node that migrates.
pub async fn migrate(url: &str) -> StoreResult<()> {
    let primary = Servers::parse(url)?.primary().await?;
    pooler::refuse_transaction_mode(&primary.options).await?;
    migrate_server(&primary.options).await
}

async fn migrate_server(server: &PgConnectOptions) -> StoreResult<()> {
    let opening = |error| error::not_opened(error, passes);
    let mut tries = 0;
    loop {
        tries += 1;
        let mut connection = server.connect().await.map_err(opening)?;
        for settings in [session_setup(server), MIGRATION_SETTINGS.to_owned()] {
            let setup = sqlx::raw_sql(AssertSqlSafe(settings)).execute(&mut connection).await;
            setup.map_err(opening)?;
        }
        let migrated = schema::migrate(&mut connection).await;
        // After a failure the session still holds the advisory lock; closing the session releases it.
        connection.close().await.ok();
        match migrated {
            Err(error) if tries < MAX_MIGRATION_TRIES && is_locked(&error) => {
                tracing::warn!("another session holds a lock: the migration is tried again");
                sleep(MIGRATION_RETRY_DELAY).await;
            }
            Err(error) => return Err(error::not_migrated(error, passes)),
            Ok(supported) => return supported,
        }
    }
}

/// True if a migration failed because another session held a lock for too long
/// (`lock_not_available`), or because of a deadlock.
fn is_locked(error: &MigrateError) -> bool {
    let (MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _)) = error else {
        return false;
    };
    let code = cause.as_database_error().and_then(DatabaseError::code);
    code.is_some_and(|code| ["55P03", "40P01"].contains(&&*code))
}

/// Returns the state of the database tables. Changes nothing. Fails like [`open`] if the URL leads
/// to a connection pooler that does not keep sessions.
pub async fn inspect(url: &str) -> StoreResult<SchemaState> {
    let primary = Servers::parse(url)?.primary().await?;
    pooler::refuse_transaction_mode(&primary.options).await?;
    let connection = primary.options.connect().await;
    let mut connection = connection.map_err(|error| error::not_opened(error, passes))?;
    let state = schema::state(&mut connection).await;
    connection.close().await.ok();
    state
}

/// True for the error code (SQLSTATE) of a failure that may be temporary: connection (08),
/// transaction conflict (40), resources (53), operator intervention (57), lock not available
/// (55P03), transaction idle for too long (25P03), read-only server (25006).
fn passes(code: &str) -> bool {
    ["08", "40", "53", "57"].iter().any(|class| code.starts_with(class))
        || matches!(code, "55P03" | "25P03" | "25006")
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests;
