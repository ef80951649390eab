//! Backups of an SQLite database file: making a copy, and replacing the database by a copy.

use std::fs::{self, File};
use std::path::{Path, PathBuf, absolute};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use super::{BUSY_TIMEOUT, cannot, error, inspect, lock, passes, private};
use crate::store::{Location, SchemaState, StoreResult};

/// Suffixes of the files that SQLite and the service create next to a database file.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", ".lock"];

/// Copies a database, which may be in use, to a new file. Fails if the file exists. The copy
/// contains everything committed before the call.
pub async fn backup(path: &Path, copy: &Path) -> StoreResult<()> {
    let opening = |error| error::not_opened(error, passes);
    let options =
        SqliteConnectOptions::new().filename(path).busy_timeout(BUSY_TIMEOUT).read_only(true);
    let mut connection = options.connect().await.map_err(opening)?;
    let copy = absolute(copy).map_err(|cause| cannot("find", copy, &cause))?;
    let Some(name) = copy.to_str() else {
        return Err(error::unavailable("the path of the backup must be Unicode text"));
    };
    // Reserves the name with private permissions. `VACUUM INTO` writes only to an empty file.
    private().create_new(true).open(&copy).map_err(|cause| cannot("create", &copy, &cause))?;
    let copied = sqlx::query("VACUUM INTO $1").bind(name).execute(&mut connection).await;
    connection.close().await.ok();
    // The copy must survive a loss of power from now on.
    let synced = copied.map_err(opening).and_then(|_| sync(&copy));
    synced.inspect_err(|_| drop(fs::remove_file(&copy)))
}

/// A prepared restore of a backup: a copy of the backup exists next to the database that it will
/// replace, and no other process can open the database. Dropping this value removes the copy.
#[derive(Debug)]
pub struct Restore {
    database: PathBuf,
    copy: PathBuf,
    /// Path under which the previous database is kept after the restore.
    kept: PathBuf,
    _lock: File,
}

impl Restore {
    /// Copies a backup next to the SQLite database at a location, and checks the copy's structure.
    /// Changes nothing else. Fails if a process uses the database, if the backup is not a database
    /// of this service, or if the database that an earlier restore kept still exists.
    pub async fn prepare(location: &Location, backup: &Path) -> StoreResult<Self> {
        let Location::Sqlite(path) = location else {
            return Err(error::unavailable(
                "only SQLite databases can be restored: use pg_restore for PostgreSQL",
            ));
        };
        let database = absolute(path).map_err(|cause| cannot("find", path, &cause))?;
        let shown = backup.display();
        match inspect(backup).await? {
            SchemaState::Missing => {
                return Err(error::unavailable(format!("{shown} does not exist")));
            }
            SchemaState::Empty => {
                return Err(error::unavailable(format!(
                    "{shown} is not a database of this service"
                )));
            }
            SchemaState::Older { .. } | SchemaState::Current | SchemaState::Later { .. } => {}
        }
        let lock = lock(&database)?;
        let kept = beside(&database, ".before-restore");
        if kept.exists() {
            let text = format!("{} exists, from an earlier restore: move it away", kept.display());
            return Err(error::unavailable(text));
        }
        let wal = beside(&database, "-wal");
        if !database.exists() && wal.exists() {
            let text = format!("{} exists without its database: move it away", wal.display());
            return Err(error::unavailable(text));
        }
        let copy = beside(&database, ".restore");
        let restore = Self { database, copy, kept, _lock: lock };
        restore.remove_copy();
        self::backup(backup, &restore.copy).await?;
        restore.check().await?;
        Ok(restore)
    }

    /// Returns the location of the copy, so that it can be checked further. A store opened there
    /// must be closed before [`finish`](Self::finish) is called.
    #[must_use]
    pub fn location(&self) -> Location {
        Location::Sqlite(self.copy.clone())
    }

    /// Replaces the database by the copy, in one atomic step. Returns the path under which the
    /// previous database is kept, if there was one.
    pub async fn finish(self) -> StoreResult<Option<PathBuf>> {
        checkpoint(&self.copy).await?;
        sync(&self.copy)?;
        let has_earlier = self.database.exists();
        if has_earlier {
            // The `-wal` file of the earlier database must not be applied to the copy.
            checkpoint(&self.database).await?;
            fs::hard_link(&self.database, &self.kept)
                .map_err(|cause| cannot("create", &self.kept, &cause))?;
        }
        fs::rename(&self.copy, &self.database)
            .map_err(|cause| cannot("replace", &self.database, &cause))?;
        if let Some(folder) = self.database.parent() {
            sync(folder)?;
        }
        Ok(has_earlier.then(|| self.kept.clone()))
    }

    async fn check(&self) -> StoreResult<()> {
        let opening = |error| error::not_opened(error, passes);
        let options = SqliteConnectOptions::new().filename(&self.copy).read_only(true);
        let mut connection = options.connect().await.map_err(opening)?;
        let result = sqlx::query_scalar::<_, String>("PRAGMA integrity_check(1)");
        let result = result.fetch_one(&mut connection).await.map_err(opening)?;
        connection.close().await.map_err(opening)?;
        if result == "ok" {
            return Ok(());
        }
        Err(error::unavailable(format!("the backup is damaged: {result}")))
    }

    fn remove_copy(&self) {
        let companions = COMPANIONS.map(|suffix| beside(&self.copy, suffix));
        for file in companions.iter().chain([&self.copy]) {
            // Usually, the file does not exist.
            drop(fs::remove_file(file));
        }
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        self.remove_copy();
    }
}

/// Moves the content of the `-wal` file into the database file, and removes the `-wal` file.
async fn checkpoint(database: &Path) -> StoreResult<()> {
    let opening = |error| error::not_opened(error, passes);
    let options = SqliteConnectOptions::new().filename(database).busy_timeout(BUSY_TIMEOUT);
    let mut connection = options.connect().await.map_err(opening)?;
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
        .execute(&mut connection)
        .await
        .map_err(opening)?;
    connection.close().await.map_err(opening)?;
    let wal = beside(database, "-wal");
    if fs::metadata(&wal).is_ok_and(|file| file.len() > 0) {
        let text = format!("{} cannot be merged into the database", wal.display());
        return Err(error::unavailable(text));
    }
    for suffix in ["-wal", "-shm"] {
        drop(fs::remove_file(beside(database, suffix)));
    }
    Ok(())
}

fn sync(path: &Path) -> StoreResult<()> {
    let synced = File::open(path).and_then(|file| file.sync_all());
    synced.map_err(|cause| cannot("sync", path, &cause))
}

/// Returns the path with `suffix` appended to the file name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
