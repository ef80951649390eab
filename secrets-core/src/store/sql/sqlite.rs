//! The tables in a file, which one process owns.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::Connection;
use sqlx::pool::PoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

use super::{error, migrations};
use crate::store::StoreResult;

type Db = sqlx::Sqlite;

/// The lock file.
type Held = File;

/// Takes the write lock at once, so that no transaction fails half-way for want of it.
const BEGIN: &str = "BEGIN IMMEDIATE";

/// A file has no clock; this only looks whether it can be read.
const CLOCK: &str = "SELECT (SELECT NULL FROM instance)";

/// How many read at a time, beside the one who writes.
const READERS: u32 = 4;

/// How long to wait for one's turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// Joined crosswise, as SQLite keeps that order: a plain join scans all secrets for a few links.
macro_rules! secrets_of_chain {
    ($condition:literal) => {
        concat!("FROM chain c CROSS JOIN secrets s WHERE s.environment_id = c.id ", $condition)
    };
}

#[path = "tables/mod.rs"]
mod tables;

pub use tables::SqlStore;

/// Opens the database in a file, made if it is missing, and brings its tables up to date.
///
/// The file is this process's alone until the store is dropped: `PATH.lock` is locked meanwhile.
pub async fn open(path: &Path) -> StoreResult<SqlStore> {
    let lock = lock(path)?;
    create_private(path).map_err(|cause| cannot("create", path, &cause))?;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .busy_timeout(PATIENCE)
        .row_buffer_size(256);
    // FULL: what was answered survives a loss of power.
    let writing =
        options.clone().journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
    let writers = pool(1)
        // SQLite undoes a transaction by itself when the disk is full, and sqlx believes ever
        // after that it is inside: such a connection is replaced.
        .before_acquire(|connection, _| Box::pin(async { Ok(!connection.is_in_transaction()) }))
        .connect_with(writing)
        .await
        .map_err(|error| error::not_opened(error, passes))?;
    let mut connection =
        writers.acquire().await.map_err(|error| error::not_opened(error, passes))?;
    migrations::run(&mut *connection).await.map_err(|error| error::not_migrated(error, passes))?;
    drop(connection);
    let readers = pool(READERS).connect_lazy_with(options.read_only(true));
    Ok(SqlStore::new(readers, writers, lock))
}

/// A pool whose connections stay: opening one means reading the whole schema again.
fn pool(connections: u32) -> PoolOptions<Db> {
    PoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(PATIENCE)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
}

fn lock(path: &Path) -> StoreResult<File> {
    let mut lock_path = path.as_os_str().to_owned();
    lock_path.push(".lock");
    let lock_path = PathBuf::from(lock_path);
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

/// SQLite gives the files it makes beside a database the same mode.
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

/// Whether a failure may be over soon, by its primary result code: busy, locked, no memory, I/O,
/// full, cannot open.
fn passes(code: &str) -> bool {
    code.parse::<i32>().is_ok_and(|code| matches!(code & 0xff, 5 | 6 | 7 | 10 | 13 | 14))
}
