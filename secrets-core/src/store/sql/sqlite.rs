//! Store in an SQLite file, owned by one process.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;
use std::time::Duration;

use sqlx::pool::PoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _};

use super::cache::{self, Cache};
use super::{RESERVED, error, migrations};
use crate::store::{SchemaState, StoreOptions, StoreResult};

type Db = sqlx::Sqlite;

/// Resource to keep open together with the connections: the lock file, if this process owns the
/// database.
type StoreGuard = Option<File>;

/// Takes the database's write lock at the start of a transaction, so that no transaction fails
/// later because it cannot get the lock.
const BEGIN: &str = "BEGIN IMMEDIATE";

/// Query that checks that migrations have run.
const HAS_TABLES: &str =
    "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = '_sqlx_migrations')";

/// Statement to run before the connections are closed. It moves the content of the `-wal` file to the
/// database file.
const BEFORE_CLOSE: Option<&str> = Some("PRAGMA wal_checkpoint(TRUNCATE)");

/// Query that checks that the database can be read. It returns no time, because SQLite has no
/// server clock.
const CLOCK: &str = "SELECT (SELECT NULL FROM instance)";

/// Query for the size of the database in bytes.
const DATABASE_SIZE: &str =
    "SELECT page_count * page_size AS count FROM pragma_page_count(), pragma_page_size()";

/// Default number of read connections, besides the single write connection.
const READERS: u32 = 4;

/// Timeout for locks of other processes, such as a backup.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// `FROM` clause for the secrets of an inheritance chain. With `CROSS JOIN`, SQLite keeps this join
/// order; a plain join would scan all secrets to find those of a few links.
macro_rules! secrets_of_chain {
    ($condition:literal) => {
        concat!("FROM chain c CROSS JOIN secrets s WHERE s.environment_id = c.id ", $condition)
    };
}

mod backup;
mod changes;
#[path = "tables/mod.rs"]
mod tables;

pub use backup::{Restore, backup};
pub use tables::SqlStore;
use tables::{CurrentPools, Pools};

/// Opens a database file. Creates it if it does not exist, and migrates it.
///
/// The file is locked for this process through `PATH.lock` until the store is dropped.
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
        // The `-wal` file does not stay as large as it once was.
        .pragma("journal_size_limit", "67108864")
        .busy_timeout(BUSY_TIMEOUT)
        .row_buffer_size(256);
    // FULL: a committed transaction survives a loss of power.
    let writing = connecting
        .clone()
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        // For the table of `changes`, so that it needs no file.
        .pragma("temp_store", "memory");
    migrate_schema(&writing).await?;
    let cache_bytes = options.cache_bytes.unwrap_or(cache::DEFAULT_BYTES);
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
        // SQLite rolls back by itself when the disk is full, but sqlx still believes that the
        // connection is in a transaction: such a connection is replaced.
        .before_acquire(|connection, _| Box::pin(async { Ok(!connection.is_in_transaction()) }))
        .connect_with(writing)
        .await
        .map_err(|error| error::not_opened(error, passes))?;
    let reading = connecting.read_only(true);
    let readers = pool(options.connections.unwrap_or(READERS), timeouts.acquire)
        .connect_lazy_with(reading.clone());
    let reserved = pool(RESERVED, timeouts.ping).connect_lazy_with(reading);
    let pools = Pools::new(readers, writers, reserved);
    Ok(SqlStore::new(CurrentPools::new(pools), timeouts, cache, Some(lock)))
}

/// Opens a database file without a cache, while another process may own it. The tables must be
/// those of this version. Only tables that the owner does not cache may be changed.
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
    let reserved = pool(RESERVED, timeouts.ping).connect_lazy_with(reading);
    let pools = Pools::new(readers, writers, reserved);
    SqlStore::new(CurrentPools::new(pools), timeouts, None, None)
}

async fn migrate_schema(options: &SqliteConnectOptions) -> StoreResult<()> {
    let opening = |error| error::not_opened(error, passes);
    let mut connection = options.connect().await.map_err(opening)?;
    let migrated = migrations::run(&mut connection).await;
    connection.close().await.map_err(opening)?;
    migrated.map_err(|error| error::not_migrated(error, passes))
}

/// Returns the state of the tables in a database file. Changes and creates nothing.
pub async fn inspect(path: &Path) -> StoreResult<SchemaState> {
    let opening = |error| error::not_opened(error, passes);
    let path = &absolute(path).map_err(|cause| cannot("find", path, &cause))?;
    if !path.exists() {
        return Ok(SchemaState::Missing);
    }
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let connection = options.connect().await.map_err(opening)?;
    tables::schema_state(connection).await
}

/// Migrates a database file.
pub async fn migrate(path: &Path) -> StoreResult<()> {
    open(path, StoreOptions::default()).await.map(drop)
}

/// Creates a pool that keeps its connections open: opening one reads the whole schema again.
fn pool(connections: u32, acquire: Duration) -> PoolOptions<Db> {
    PoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(acquire)
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

/// Creates the file with private permissions. SQLite gives the files it creates next to it the same
/// mode.
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

/// Returns true for the result code of a failure that may be temporary. The primary codes are:
/// busy, locked, out of memory, I/O error, disk full, cannot open.
fn passes(code: &str) -> bool {
    code.parse::<i32>().is_ok_and(|code| matches!(code & 0xff, 5 | 6 | 7 | 10 | 13 | 14))
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::slice::from_ref;

    use sqlx::{AssertSqlSafe, Row};
    use tempfile::TempDir;

    use super::tables::{audit, due, resolve, secrets, tokens};
    use super::*;
    use crate::model::{Cause, Principal};
    use crate::store::{SecretRecord, Store, StoreError};
    use crate::testing::fixtures::{World, next_version, sealed, secret};
    use crate::testing::folder;

    async fn opened() -> (SqlStore, TempDir) {
        let folder = TempDir::new_in(folder()).unwrap();
        (open(&folder.path().join("secrets.db"), StoreOptions::default()).await.unwrap(), folder)
    }

    fn unavailable<T>(result: StoreResult<T>) -> Cause {
        match result {
            Err(StoreError::Unavailable(cause)) => cause,
            Err(other) => panic!("{other:?}"),
            Ok(_) => panic!("it is available"),
        }
    }

    #[tokio::test]
    async fn resolving_an_environment_scans_no_secrets() {
        let (store, _folder) = opened().await;

        for text in [resolve::KEY, resolve::ALL] {
            let explained = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {text}")));
            let rows = explained.fetch_all(&store.pools().readers).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();

            assert!(plan.iter().any(|step| step.starts_with("SEARCH s USING INDEX")), "{plan:#?}");
            assert!(!plan.iter().any(|step| step.starts_with("SCAN s")), "{plan:#?}");
        }
    }

    #[tokio::test]
    async fn a_replacement_scans_no_table() {
        let (store, _folder) = opened().await;
        let world = World::build(&store).await;
        let next = ["ONE", "TWO"].map(|key| next_version(&secret(&world.staging, key)));

        for write in secrets::REPLACE {
            let text = (write.statement)(&next).into_string();
            let explained = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {text}")));
            let rows = explained.fetch_all(&store.pools().writers).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();

            // The new versions, and their sums.
            let is_small = |step: &String| {
                ["next", "CONSTANT ROWS", "growth"].iter().any(|part| step.contains(part))
            };
            let mut scans = plan.iter().filter(|step| step.starts_with("SCAN"));
            assert!(scans.all(is_small), "{plan:#?}");
            assert!(plan.iter().any(|step| step.starts_with("SEARCH")), "{plan:#?}");
        }
    }

    #[tokio::test]
    async fn due_rows_are_found_along_their_index() {
        let (store, _folder) = opened().await;

        for (text, index) in [
            (due::WORK, "SEARCH r USING INDEX rotations_work"),
            (due::WORK_AFTER, "SEARCH r USING INDEX rotations_work"),
            (tokens::EXPIRING_TOKENS, "SEARCH k USING INDEX tokens_expiry"),
        ] {
            let explained = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {text}")));
            let rows = explained.fetch_all(&store.pools().readers).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();

            assert!(plan[0].starts_with(index), "{plan:#?}");
            assert!(!plan.iter().any(|step| step == "USE TEMP B-TREE FOR ORDER BY"), "{plan:#?}");
        }
    }

    #[tokio::test]
    async fn new_entries_are_found_along_their_index() {
        let (store, _folder) = opened().await;
        let of_a_team = format!("SELECT * FROM audit_log WHERE team_id = $1{}$2", audit::UNSEALED);
        let of_none = format!("SELECT * FROM audit_log WHERE team_id IS NULL{}$1", audit::UNSEALED);

        for (text, count) in [(audit::UNSEALED_TEAMS, 3), (&of_a_team, 1), (&of_none, 1)] {
            let text = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {text}"));
            let rows = sqlx::query(text).fetch_all(&store.pools().readers).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();

            let searches: Vec<_> = plan.iter().filter(|step| step.starts_with("SEARCH")).collect();
            let indexes = ["INDEX audit_log_unsealed", "(team_id=? AND position=?)"];
            let is_short = |step: &&String| indexes.iter().any(|index| step.contains(index));
            assert!(searches.len() == count && searches.iter().all(is_short), "{plan:#?}");
        }
    }

    #[tokio::test]
    async fn a_secret_whose_project_has_no_key_is_a_sample_without_one() {
        let (store, _folder) = opened().await;
        let world = World::build(&store).await;
        let held = secret(&world.staging, "KEY");
        let mut tx = store.begin().await.unwrap();
        tx.insert_secrets(from_ref(&held)).await.unwrap();
        tx.commit().await.unwrap();
        sqlx::query("DELETE FROM project_keys").execute(&store.pools().writers).await.unwrap();

        let found = store.read().await.unwrap().sample(held.id).await.unwrap().unwrap();

        assert_eq!((found.secret, found.key), (held, None));
    }

    #[tokio::test]
    async fn the_migration_counts_the_sizes_of_existing_secrets() {
        let (store, _folder) = opened().await;
        let world = World::build(&store).await;
        let first = SecretRecord {
            description: Some(sealed(b"description")),
            ..secret(&world.staging, "KEY")
        };
        let mut tx = store.begin().await.unwrap();
        tx.insert_secrets(&[first.clone(), secret(&world.staging, "OTHER")]).await.unwrap();
        tx.replace_secrets(from_ref(&next_version(&first))).await.unwrap();
        tx.commit().await.unwrap();
        let counters = async || {
            let mut reads = store.read().await.unwrap();
            reads.environment_counters(world.staging.id).await.unwrap()
        };
        let counted = counters().await;
        let forget = "UPDATE environments SET size = 0, history_size = 0;
                      UPDATE secret_versions SET environment_id = NULL";
        sqlx::raw_sql(forget).execute(&store.pools().writers).await.unwrap();
        assert_ne!(counters().await, counted);

        let migration = include_str!("../../../migrations/0017_environment_sizes.sql");
        for statement in migration.split(';').filter(|text| text.contains("UPDATE ")) {
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&store.pools().writers).await.unwrap();
        }

        assert_eq!(counters().await, counted);
    }

    #[tokio::test]
    async fn a_second_process_is_refused_with_the_lock_named() {
        let (store, folder) = opened().await;
        let path = folder.path().join("secrets.db");

        let cause = unavailable(open(&path, StoreOptions::default()).await).to_string();
        assert!(cause.contains("secrets.db.lock"), "{cause}");

        drop(store);
        open(&path, StoreOptions::default()).await.unwrap();
    }

    #[tokio::test]
    async fn a_commit_survives_a_loss_of_power() {
        let (store, _folder) = opened().await;

        let synchronous = sqlx::query_scalar::<_, i64>("PRAGMA synchronous");
        let journal = sqlx::query_scalar::<_, String>("PRAGMA journal_mode");

        // FULL: each commit waits for the disk.
        assert_eq!(synchronous.fetch_one(&store.pools().writers).await.unwrap(), 2);
        assert_eq!(journal.fetch_one(&store.pools().writers).await.unwrap(), "wal");
    }

    #[tokio::test]
    async fn only_the_owner_can_access_the_files() {
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
        sqlx::query("PRAGMA max_page_count = 1").execute(&store.pools().writers).await.unwrap();

        let mut tx = store.begin().await.unwrap();
        unavailable(tx.insert_secrets(&secrets).await);
        drop(tx);
        sqlx::query("PRAGMA max_page_count = 1000000")
            .execute(&store.pools().writers)
            .await
            .unwrap();
        let mut tx = store.begin().await.unwrap();
        tx.insert_secrets(&secrets).await.unwrap();
        tx.commit().await.unwrap();

        let mut reads = store.read().await.unwrap();
        assert_eq!(reads.count_secrets(world.staging.id).await.unwrap(), 500);
    }

    #[tokio::test]
    async fn writing_goes_on_when_the_database_ended_a_transaction() {
        let (store, _folder) = opened().await;
        let mut tx = store.pools().writers.begin_with(BEGIN).await.unwrap();

        // SQLite does this by itself in the worst cases of a full disk.
        sqlx::raw_sql("ROLLBACK").execute(&mut *tx).await.unwrap();
        drop(tx);

        World::build(&store).await;
    }

    #[tokio::test]
    async fn an_unreadable_row_is_named_and_not_quoted() {
        let (store, _folder) = opened().await;
        let world = World::build(&store).await;
        let mut tx = store.begin().await.unwrap();
        tx.insert_secrets(&[secret(&world.staging, "KEY")]).await.unwrap();
        tx.commit().await.unwrap();
        let spoil = "UPDATE secrets SET created_at = 'kvc_not_a_time'";
        sqlx::query(spoil).execute(&store.pools().writers).await.unwrap();

        let mut reads = store.read().await.unwrap();
        let path = crate::model::EnvironmentPath::new(world.project.id, world.staging.id);
        let wanted = crate::store::Selection::All;
        let seen = reads.resolve_environment(&path, Principal::User(world.owner.id), wanted).await;

        let Err(StoreError::Corrupt(cause)) = seen else { panic!("{seen:?}") };
        let cause = format!("{cause:?} {cause}");
        assert!(cause.contains("secrets.created_at of "), "{cause}");
        assert!(!cause.contains("kvc_"), "{cause}");
    }
}
