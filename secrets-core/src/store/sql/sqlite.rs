//! Store in an SQLite file that only one process may use at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;
use std::time::Duration;

use sqlx::pool::PoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, QueryBuilder};

use super::cache::Cache;
use super::migrations::Dialect;
use super::{AUDIT_READERS, RESERVED, error};
use crate::model::SecretKey;
use crate::store::{SchemaState, StoreOptions, StoreResult};

type Db = sqlx::Sqlite;

const DIALECT: Dialect = Dialect::Sqlite;

/// Background task and lock file of a store, kept as long as the store is in use.
#[derive(Default)]
struct StoreGuard {
    /// Task that makes checkpoints; `None` if this process does not own the database.
    checkpoints: Option<Checkpoints>,
    /// Lock file; `None` if this process does not own the database.
    _lock: Option<File>,
}

impl StoreGuard {
    /// Ends the background tasks, before the connections are closed.
    async fn stop(&self) {
        if let Some(checkpoints) = &self.checkpoints {
            checkpoints.stop().await;
        }
    }
}

/// Query that is true if migrations have run on the database.
const HAS_TABLES: &str =
    "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = '_sqlx_migrations')";

/// SQL statement to run before the connections are closed. It moves the content of the `-wal` file
/// to the database file.
const BEFORE_CLOSE: Option<&str> = Some("PRAGMA wal_checkpoint(TRUNCATE)");

/// Query with which a health check reads the database. It returns no time, because SQLite has no
/// server clock.
const CLOCK: &str = "SELECT (SELECT NULL FROM instance)";

/// End of a query that locks the rows that it returns; empty, because SQLite has one writer at a
/// time.
const LOCK_ROWS: &str = "";

/// True if a parameter can be an array. SQLite has none: the text of an SQL statement contains a
/// parameter for each value.
const HAS_ARRAYS: bool = false;

/// Appends the condition that a column is one of these secret keys, after the name of the column.
fn push_keys(statement: &mut QueryBuilder<Db>, keys: &[SecretKey]) {
    statement.push(" IN (");
    let mut list = statement.separated(", ");
    for key in keys {
        list.push_bind(key.as_str());
    }
    statement.push(")");
}

/// Query for the size of the database in bytes.
const DATABASE_SIZE: &str =
    "SELECT page_count * page_size AS count FROM pragma_page_count(), pragma_page_size()";

/// Default number of connections for reads. There is one more connection, for writes.
pub(in super::super) const READERS: u32 = 4;

/// Default size of the cache of encrypted records, in bytes.
pub(in super::super) const CACHE_BYTES: u64 = 24 << 20;

/// Maximum time to wait for locks of other processes, such as a backup.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// `FROM` clause for the secrets of an inheritance chain. `CROSS JOIN` makes SQLite keep this join
/// order; with a plain join, it would scan all secrets to find those of a few environments.
macro_rules! secrets_of_chain {
    ($condition:literal) => {
        concat!("FROM chain c CROSS JOIN secrets s WHERE s.environment_id = c.id ", $condition)
    };
}

mod backup;
mod changes;
mod checkpoints;
mod secret_writes;
#[path = "tables/mod.rs"]
mod tables;
mod transactions;

pub use backup::{Restore, backup};
use changes::Follower;
use checkpoints::Checkpoints;
pub use tables::SqlStore;
use tables::{CurrentPools, Pools, schema};

/// Opens a database file: creates it if it does not exist, and migrates its tables.
///
/// The file `PATH.lock` is locked for this process until the store is dropped.
pub async fn open(path: &Path, options: StoreOptions) -> StoreResult<SqlStore> {
    let timeouts = options.timeouts;
    // SQLite treats `:memory:` and `file:…` as something other than a file name; an absolute path
    // is always a file.
    let path = &absolute(path).map_err(|cause| cannot("find", path, &cause))?;
    let lock = lock(path)?;
    create_private(path).map_err(|cause| cannot("create", path, &cause))?;
    let connecting = SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        // Truncates a `-wal` file that has become larger than 64 MiB.
        .pragma("journal_size_limit", "67108864")
        .busy_timeout(BUSY_TIMEOUT)
        .row_buffer_size(256);
    // FULL: a committed transaction survives a loss of power.
    let writing = connecting
        .clone()
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        // Overwrites the bytes of deleted and replaced rows with zeros in the pages that are written
        // anyway, among them destroyed project keys.
        .pragma("secure_delete", "FAST")
        .pragma("wal_autocheckpoint", checkpoints::COMMIT_PAGES)
        // Keeps the temporary table of `changes` in memory, so that it needs no file.
        .pragma("temp_store", "memory");
    migrate_schema(&writing).await?;
    let cache_bytes = options.cache_bytes.unwrap_or(CACHE_BYTES);
    let cache = (cache_bytes > 0).then(|| Arc::new(Cache::new(cache_bytes)));
    let changes = cache.as_ref().map(|cache| Arc::clone(cache.changes()));
    let writers = pool(1, timeouts.acquire)
        .after_connect(move |connection, _| {
            let changes = changes.clone();
            Box::pin(async {
                match changes {
                    Some(changes) => changes::watch(connection, changes).await,
                    None => Ok(()),
                }
            })
        })
        // SQLite rolls back by itself when the disk is full, but for sqlx, the connection is still
        // in a transaction: such a connection is replaced.
        .before_acquire(|connection, _| Box::pin(async { Ok(!connection.is_in_transaction()) }))
        .connect_with(writing.clone())
        .await
        .map_err(|error| error::not_opened(error, passes))?;
    let reading = connecting.read_only(true);
    let readers = pool(options.connections.unwrap_or(READERS), timeouts.acquire)
        .connect_lazy_with(reading.clone());
    let audit = pool(AUDIT_READERS, timeouts.acquire).connect_lazy_with(reading.clone());
    let reserved = pool(RESERVED, timeouts.ping).connect_lazy_with(reading);
    let pools = Pools::new([readers, audit, writers, reserved]).cached(cache, Follower);
    let checkpoints = Some(Checkpoints::start(writing, beside(path, "-wal")));
    let held = StoreGuard { checkpoints, _lock: Some(lock) };
    Ok(SqlStore::new(CurrentPools::new(pools), timeouts, held))
}

/// Opens a database file without a cache, while another process may own it. The tables must have
/// the schema of this version of the program. Only tables whose records the owner does not cache
/// may be changed.
pub fn open_shared(path: &Path, options: StoreOptions) -> SqlStore {
    let timeouts = options.timeouts;
    let connecting = SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .synchronous(SqliteSynchronous::Full);
    let writers = pool(1, timeouts.acquire).connect_lazy_with(connecting.clone());
    let reading = connecting.read_only(true);
    let readers = pool(1, timeouts.acquire).connect_lazy_with(reading.clone());
    let audit = pool(AUDIT_READERS, timeouts.acquire).connect_lazy_with(reading.clone());
    let reserved = pool(RESERVED, timeouts.ping).connect_lazy_with(reading);
    let pools = Pools::new([readers, audit, writers, reserved]);
    SqlStore::new(CurrentPools::new(pools), timeouts, StoreGuard::default())
}

/// Opens a database file for reading, without a cache, while another process may own it. The tables
/// must have the schema of this version. Creates and changes no file.
pub fn open_read_only(path: &Path, options: StoreOptions) -> StoreResult<SqlStore> {
    let timeouts = options.timeouts;
    let (connecting, lock) = read_only(path)?;
    let pool =
        |connections, acquire| pool(connections, acquire).connect_lazy_with(connecting.clone());
    let pools = Pools::new([
        pool(READERS, timeouts.acquire),
        pool(AUDIT_READERS, timeouts.acquire),
        // Pool for writes. Every write fails, because the connection is read-only.
        pool(1, timeouts.acquire),
        pool(RESERVED, timeouts.ping),
    ]);
    let held = StoreGuard { checkpoints: None, _lock: lock };
    Ok(SqlStore::new(CurrentPools::new(pools), timeouts, held))
}

/// True if another process uses the database file.
pub fn is_in_use(path: &Path) -> StoreResult<bool> {
    let path = &absolute(path).map_err(|cause| cannot("find", path, &cause))?;
    Ok(matches!(lock_existing(path)?, Existing::Busy))
}

/// Returns options to connect to a database file for reading, and its lock if no other process
/// holds it.
///
/// Even a reader creates the files `-wal` and `-shm` if they are missing, and leaves them behind.
/// Without a `-wal` file, no process uses the database and the main file is complete: such a file
/// is opened as immutable, and the lock keeps a service from starting meanwhile.
fn read_only(path: &Path) -> StoreResult<(SqliteConnectOptions, Option<File>)> {
    let path = &absolute(path).map_err(|cause| cannot("find", path, &cause))?;
    let lock = lock_existing(path)?;
    let is_complete = !beside(path, "-wal").exists() && !matches!(lock, Existing::Busy);
    let options = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .immutable(is_complete)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT);
    let held = if let Existing::Acquired(lock) = lock { Some(lock) } else { None };
    Ok((options, held))
}

/// Creates a database file with all tables and without rows, and does not wait for the disk.
#[cfg(feature = "testing")]
pub(crate) async fn create_for_tests(path: &Path) -> StoreResult<()> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Off);
    migrate_schema(&options).await
}

async fn migrate_schema(options: &SqliteConnectOptions) -> StoreResult<()> {
    let opening = |error| error::not_opened(error, passes);
    let mut connection = options.connect().await.map_err(opening)?;
    let migrated = schema::migrate(&mut connection).await;
    connection.close().await.map_err(opening)?;
    migrated.map_err(|error| error::not_migrated(error, passes))?
}

/// Returns the state of the tables in a database file. Changes and creates nothing.
pub async fn inspect(path: &Path) -> StoreResult<SchemaState> {
    let opening = |error| error::not_opened(error, passes);
    let path = &absolute(path).map_err(|cause| cannot("find", path, &cause))?;
    if !path.exists() {
        return Ok(SchemaState::Missing);
    }
    let (options, _held) = read_only(path)?;
    let mut connection = options.connect().await.map_err(opening)?;
    let state = schema::state(&mut connection).await;
    connection.close().await.map_err(opening)?;
    state
}

/// Migrates a database file to the schema of this program.
pub async fn migrate(path: &Path) -> StoreResult<()> {
    open(path, StoreOptions::default()).await.map(drop)
}

/// Creates a connection pool that keeps its connections open, because a new connection reads the
/// whole schema again.
fn pool(connections: u32, acquire: Duration) -> PoolOptions<Db> {
    PoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(acquire)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
}

/// Result of locking a database whose lock file may not exist.
enum Existing {
    /// The lock file does not exist: no process has opened the database for writing.
    Missing,
    /// This process holds the lock now.
    Acquired(File),
    /// Another process holds the lock.
    Busy,
}

/// Locks a database for this process if the lock file exists. Does not create the file.
fn lock_existing(path: &Path) -> StoreResult<Existing> {
    let lock_path = beside(path, ".lock");
    let lock = match File::open(&lock_path) {
        Ok(lock) => lock,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(Existing::Missing),
        Err(cause) => return Err(cannot("open", &lock_path, &cause)),
    };
    match lock.try_lock() {
        Ok(()) => Ok(Existing::Acquired(lock)),
        Err(TryLockError::WouldBlock) => Ok(Existing::Busy),
        Err(TryLockError::Error(cause)) => Err(cannot("lock", &lock_path, &cause)),
    }
}

/// Returns the path of a file beside the database file, with this suffix.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(end);
    PathBuf::from(path)
}

fn lock(path: &Path) -> StoreResult<File> {
    let lock_path = beside(path, ".lock");
    let lock = private()
        .truncate(false)
        .open(&lock_path)
        .map_err(|cause| cannot("open", &lock_path, &cause))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(error::unavailable(format!(
            "another process uses the database {}: it holds {}",
            path.display(),
            lock_path.display()
        ))),
        Err(TryLockError::Error(cause)) => Err(cannot("lock", &lock_path, &cause)),
    }
}

/// Creates the file so that only its owner can access it. SQLite gives the files that it creates
/// next to it the same permissions.
fn create_private(path: &Path) -> std::io::Result<()> {
    private().truncate(false).open(path).map(drop)
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn cannot(act: &str, path: &Path, cause: &std::io::Error) -> crate::store::StoreError {
    error::unavailable(format!("cannot {act} {}: {cause}", path.display()))
}

/// True for the result code of a failure that may be temporary: busy, locked, out of memory, I/O
/// error, disk full, or cannot open.
fn passes(code: &str) -> bool {
    code.parse::<i32>().is_ok_and(|code| matches!(code & 0xff, 5 | 6 | 7 | 10 | 13 | 14))
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests;
