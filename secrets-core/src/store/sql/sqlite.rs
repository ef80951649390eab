//! The tables in a file, which one process owns.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf, absolute};
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
    // SQLite takes `:memory:` and `file:…` for something else than a file of that name.
    let path = &absolute(path).map_err(|cause| cannot("find", path, &cause))?;
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

/// Brings the tables in a file up to date.
pub async fn migrate(path: &Path) -> StoreResult<()> {
    open(path).await.map(drop)
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

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use sqlx::{AssertSqlSafe, Row};
    use tempfile::TempDir;

    use super::tables::{rotations, sight};
    use super::*;
    use crate::caller::Principal;
    use crate::error::Cause;
    use crate::store::{SecretRecord, Store, StoreError};
    use crate::testing::fixtures::{World, secret};
    use crate::testing::folder;

    async fn opened() -> (SqlStore, TempDir) {
        let folder = TempDir::new_in(folder()).unwrap();
        (open(&folder.path().join("secrets.db")).await.unwrap(), folder)
    }

    fn unavailable<T>(result: StoreResult<T>) -> Cause {
        match result {
            Err(StoreError::Unavailable(cause)) => cause,
            Err(other) => panic!("{other:?}"),
            Ok(_) => panic!("it is available"),
        }
    }

    #[tokio::test]
    async fn a_look_scans_no_secrets() {
        let (store, _folder) = opened().await;

        for text in [sight::KEY, sight::ALL] {
            let explained = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {text}")));
            let rows = explained.fetch_all(&store.readers).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();

            assert!(plan.iter().any(|step| step.starts_with("SEARCH s USING INDEX")), "{plan:#?}");
            assert!(!plan.iter().any(|step| step.starts_with("SCAN s")), "{plan:#?}");
        }
    }

    #[tokio::test]
    async fn work_is_found_along_its_index() {
        let (store, _folder) = opened().await;

        let text = format!("EXPLAIN QUERY PLAN {}", rotations::WORK);
        let rows = sqlx::query(AssertSqlSafe(text)).fetch_all(&store.readers).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();

        assert!(plan[0].starts_with("SEARCH rotations USING INDEX rotations_work"), "{plan:#?}");
        assert!(!plan.iter().any(|step| step == "USE TEMP B-TREE FOR ORDER BY"), "{plan:#?}");
    }

    #[tokio::test]
    async fn a_secret_whose_project_has_no_key_is_a_sample_without_one() {
        let (store, _folder) = opened().await;
        let world = World::build(&store).await;
        let held = secret(&world.staging, "KEY");
        let mut tx = store.begin().await.unwrap();
        tx.insert_secrets(std::slice::from_ref(&held)).await.unwrap();
        tx.commit().await.unwrap();
        sqlx::query("DELETE FROM project_keys").execute(&store.writers).await.unwrap();

        let found = store.read().await.unwrap().sample(held.id).await.unwrap().unwrap();

        assert_eq!((found.secret, found.key), (held, None));
    }

    #[tokio::test]
    async fn a_second_process_is_refused_with_the_lock_named() {
        let (store, folder) = opened().await;
        let path = folder.path().join("secrets.db");

        let cause = unavailable(open(&path).await).to_string();
        assert!(cause.contains("secrets.db.lock"), "{cause}");

        drop(store);
        open(&path).await.unwrap();
    }

    #[tokio::test]
    async fn what_is_committed_survives_a_loss_of_power() {
        let (store, _folder) = opened().await;

        let synchronous = sqlx::query_scalar::<_, i64>("PRAGMA synchronous");
        let journal = sqlx::query_scalar::<_, String>("PRAGMA journal_mode");

        // FULL: each commit waits for the disk.
        assert_eq!(synchronous.fetch_one(&store.writers).await.unwrap(), 2);
        assert_eq!(journal.fetch_one(&store.writers).await.unwrap(), "wal");
    }

    #[tokio::test]
    async fn the_files_are_their_owners_alone() {
        let (store, folder) = opened().await;
        World::build(&store).await;
        store.ping().await.unwrap();

        for name in ["secrets.db", "secrets.db-wal", "secrets.db-shm", "secrets.db.lock"] {
            let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }

    #[tokio::test]
    async fn writing_goes_on_when_there_is_room_again() {
        let (store, _folder) = opened().await;
        let world = World::build(&store).await;
        let secrets: Vec<SecretRecord> =
            (0..500).map(|number| secret(&world.staging, &format!("K{number}"))).collect();
        sqlx::query("PRAGMA max_page_count = 1").execute(&store.writers).await.unwrap();

        let mut tx = store.begin().await.unwrap();
        unavailable(tx.insert_secrets(&secrets).await);
        drop(tx);
        sqlx::query("PRAGMA max_page_count = 1000000").execute(&store.writers).await.unwrap();
        let mut tx = store.begin().await.unwrap();
        tx.insert_secrets(&secrets).await.unwrap();
        tx.commit().await.unwrap();

        let mut reads = store.read().await.unwrap();
        assert_eq!(reads.count_secrets(world.staging.id).await.unwrap(), 500);
    }

    #[tokio::test]
    async fn writing_goes_on_when_the_database_ended_a_transaction() {
        let (store, _folder) = opened().await;
        let mut tx = store.writers.begin_with(BEGIN).await.unwrap();

        // As SQLite does by itself in the worst cases of a full disk.
        sqlx::raw_sql("ROLLBACK").execute(&mut *tx).await.unwrap();
        drop(tx);

        World::build(&store).await;
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_named_and_not_quoted() {
        let (store, _folder) = opened().await;
        let world = World::build(&store).await;
        let mut tx = store.begin().await.unwrap();
        tx.insert_secrets(&[secret(&world.staging, "KEY")]).await.unwrap();
        tx.commit().await.unwrap();
        let spoil = "UPDATE secrets SET created_at = 'kvc_not_a_time'";
        sqlx::query(spoil).execute(&store.writers).await.unwrap();

        let mut reads = store.read().await.unwrap();
        let path = crate::access::EnvironmentPath::new(world.project.id, world.staging.id);
        let wanted = crate::store::Wanted::All;
        let seen = reads.sight(&path, Principal::User(world.owner.id), wanted).await;

        let Err(StoreError::Broken(cause)) = seen else { panic!("{seen:?}") };
        let cause = format!("{cause:?} {cause}");
        assert!(cause.contains("secrets.created_at of "), "{cause}");
        assert!(!cause.contains("kvc_"), "{cause}");
    }
}
