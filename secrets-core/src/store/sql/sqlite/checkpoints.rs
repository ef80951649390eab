//! Checkpoints: a background task that copies the `-wal` file into the database file.
//!
//! By default, SQLite makes a checkpoint in the commit after which the `-wal` file has 1,000 pages,
//! and all reads and writes wait for it: with large imports, tens of milliseconds each time. The
//! task makes checkpoints on a connection of its own, and no request waits for them. So only a few
//! pages are left to copy when a commit makes a checkpoint. After that, SQLite overwrites the
//! `-wal` file from its beginning.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use sqlx::Sqlite;
use sqlx::pool::Pool;
use sqlx::sqlite::SqliteConnectOptions;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::pool;

/// Interval between two checkpoints, if the `-wal` file was changed.
const INTERVAL: Duration = Duration::from_millis(200);

/// Timeout of the wait for the connection, of a checkpoint, and of closing the connection.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Size of the `-wal` file, in pages of 4 KiB, from which each commit makes a checkpoint.
pub(super) const COMMIT_PAGES: &str = "4000";

/// Checkpoint of the committed pages. It does not wait for readers and writers, and they do not
/// wait for it.
const CHECKPOINT: &str = "PRAGMA wal_checkpoint(PASSIVE)";

/// Background task that makes checkpoints. The task ends when this value is dropped.
pub(super) struct Checkpoints {
    task: JoinHandle<()>,
    connection: Pool<Sqlite>,
}

impl Checkpoints {
    /// Starts the task that makes checkpoints. `wal` is the path of the `-wal` file.
    pub(super) fn start(options: SqliteConnectOptions, wal: PathBuf) -> Self {
        let connection = pool(1, TIMEOUT).connect_lazy_with(options);
        let task = tokio::spawn(run(connection.clone(), wal));
        Self { task, connection }
    }

    /// Ends the task that makes checkpoints, and closes its connection.
    pub(super) async fn stop(&self) {
        self.task.abort();
        timeout(TIMEOUT, self.connection.close()).await.ok();
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn run(connection: Pool<Sqlite>, wal: PathBuf) {
    let mut copied = None;
    loop {
        sleep(INTERVAL).await;
        let changed = fs::metadata(&wal).and_then(|wal| wal.modified()).ok();
        if changed == copied {
            continue;
        }
        match timeout(TIMEOUT, sqlx::raw_sql(CHECKPOINT).execute(&connection)).await {
            Ok(Ok(_)) => copied = changed,
            Ok(Err(error)) => tracing::debug!(%error, "a checkpoint failed"),
            Err(_) => tracing::debug!("a checkpoint reached its timeout"),
        }
    }
}
