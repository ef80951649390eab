//! Opening a store by its URL.

use std::fmt;
use std::path::Path;
#[cfg(feature = "sqlite")]
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "postgres")]
use zeroize::Zeroizing;

#[cfg(any(feature = "sqlite", feature = "postgres"))]
use super::sql;
use super::{MemoryStore, Store, StoreError, StoreResult};

/// Location of a store, parsed from a URL: `memory:`, `sqlite://PATH` or
/// `postgres://USER:PASSWORD@HOST/DATABASE`.
#[derive(Clone)]
pub enum Location {
    /// Memory of this process. The data is lost when the process ends.
    Memory,
    /// SQLite database file, used by one process at a time. Created if it does not exist.
    #[cfg(feature = "sqlite")]
    Sqlite(PathBuf),
    /// URL of a PostgreSQL database, which several nodes may share. The URL may name several hosts,
    /// of which one accepts writes at a time.
    #[cfg(feature = "postgres")]
    Postgres(Zeroizing<String>),
}

/// Options of a store on an SQL database. A store in memory has no options.
#[derive(Debug, Clone, Copy, Default)]
pub struct StoreOptions {
    /// Maximum number of connections for requests. PostgreSQL: 12 by default, at least 2, half of
    /// them for writes. SQLite: connections for reads, 4 by default. Not included: one connection
    /// for queries of the audit log; two for health checks and (on PostgreSQL) queries for changes
    /// of cached records; on SQLite also one for writes and one for checkpoints.
    pub connections: Option<u32>,
    /// Size of the cache of encrypted records, in bytes: 24 MiB by default, 0 for no cache.
    pub cache_bytes: Option<u64>,
    /// Timeouts of waits and SQL statements.
    pub timeouts: Timeouts,
}

impl StoreOptions {
    /// Returns these options; those that are not set have the default for a store at this location.
    #[must_use]
    pub fn or_defaults(self, location: &Location) -> Self {
        let (connections, cache_bytes) = match location {
            Location::Memory => (0, 0),
            #[cfg(feature = "sqlite")]
            Location::Sqlite(_) => (sql::sqlite::READERS, sql::sqlite::CACHE_BYTES),
            #[cfg(feature = "postgres")]
            Location::Postgres(_) => (sql::postgres::CONNECTIONS, sql::postgres::CACHE_BYTES),
        };
        Self {
            connections: self.connections.or(Some(connections)),
            cache_bytes: self.cache_bytes.or(Some(cache_bytes)),
            ..self
        }
    }
}

/// Timeouts of a store on an SQL database. A call that reaches a timeout fails with `Unavailable`,
/// and its connection is closed.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// Maximum time that a call waits for a free connection.
    pub acquire: Duration,
    /// Maximum duration of an SQL statement outside of a transaction.
    pub read: Duration,
    /// Maximum duration of an SQL statement in a transaction.
    pub write: Duration,
    /// Maximum duration of a health check.
    pub ping: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            acquire: Duration::from_secs(2),
            read: Duration::from_secs(4),
            write: Duration::from_secs(10),
            ping: Duration::from_secs(1),
        }
    }
}

/// State of the database tables (schema) compared with this version of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaState {
    /// The SQLite database file does not exist, or the store is in memory.
    Missing,
    /// The database has no tables.
    Empty,
    /// An earlier version of the program created the tables. Opening the store migrates them.
    Older {
        /// Number of the last migration that has run.
        version: i64,
        /// True if programs of that version can use the tables after the migration, so that they need
        /// not be stopped for it.
        is_compatible: bool,
    },
    /// The tables have the schema of this version of the program.
    Current,
    /// A later version of the program migrated the tables, and this version can use them.
    Later {
        /// Number of the last migration that has run.
        version: i64,
    },
}

/// Returns the state of the tables in the database at a location. Changes and creates nothing.
/// Fails if a later version of the program migrated the tables so that this version cannot use them.
pub async fn inspect(location: &Location) -> StoreResult<SchemaState> {
    match location {
        Location::Memory => Ok(SchemaState::Missing),
        #[cfg(feature = "sqlite")]
        Location::Sqlite(path) => sql::sqlite::inspect(path).await,
        #[cfg(feature = "postgres")]
        Location::Postgres(url) => sql::postgres::inspect(url).await,
    }
}

/// Copies an SQLite database, which may be in use, to a new file. Fails if the file exists. The
/// copy contains everything committed before the call. Fails for other kinds of store.
#[cfg_attr(not(feature = "sqlite"), expect(unused_variables, reason = "no store is a file"))]
pub async fn backup(location: &Location, copy: &Path) -> StoreResult<()> {
    match location {
        #[cfg(feature = "sqlite")]
        Location::Sqlite(path) => sql::sqlite::backup(path, copy).await,
        _ => Err(StoreError::Unavailable(
            "only SQLite databases can be copied: use pg_dump for PostgreSQL".into(),
        )),
    }
}

/// Opens the store at a location with the default options. Creates the database tables, or migrates
/// older ones.
pub async fn open(location: &Location) -> StoreResult<Arc<dyn Store>> {
    open_with(location, StoreOptions::default()).await
}

/// Opens the store at a location with the given options. Creates the database tables, or migrates
/// older ones.
#[cfg_attr(
    not(any(feature = "sqlite", feature = "postgres")),
    expect(unused_variables, reason = "the store in memory has no options")
)]
pub async fn open_with(location: &Location, options: StoreOptions) -> StoreResult<Arc<dyn Store>> {
    Ok(match location {
        Location::Memory => Arc::new(MemoryStore::new()),
        #[cfg(feature = "sqlite")]
        Location::Sqlite(path) => Arc::new(sql::sqlite::open(path, options).await?),
        #[cfg(feature = "postgres")]
        Location::Postgres(url) => Arc::new(sql::postgres::open(url, options).await?),
    })
}

/// Opens the store at a location while another process may be using it. The tables must have the
/// schema of this version of the program. An SQLite database is neither created nor migrated; other
/// stores are opened as by [`open`]. The only permitted writes are requests to the service that
/// runs in the other process, such as
/// [`request_project_keys`](super::KeyWrites::request_project_keys).
pub async fn open_shared(location: &Location) -> StoreResult<Arc<dyn Store>> {
    match location {
        #[cfg(feature = "sqlite")]
        Location::Sqlite(path) => {
            Ok(Arc::new(sql::sqlite::open_shared(path, StoreOptions::default())))
        }
        _ => open(location).await,
    }
}

/// Opens the store at a location for reading, while another process may be using it. Creates and
/// changes nothing, not even a file: the tables must have the schema of this version. Writes to an
/// SQLite database fail.
pub async fn open_read_only(location: &Location) -> StoreResult<Arc<dyn Store>> {
    Ok(match location {
        Location::Memory => Arc::new(MemoryStore::new()),
        #[cfg(feature = "sqlite")]
        Location::Sqlite(path) => {
            Arc::new(sql::sqlite::open_read_only(path, StoreOptions::default())?)
        }
        #[cfg(feature = "postgres")]
        Location::Postgres(url) => {
            Arc::new(sql::postgres::open_migrated(url, StoreOptions::default()).await?)
        }
    })
}

/// True if the store can be used by only one process at a time, and another process is using it.
/// Creates nothing.
pub fn is_in_use(location: &Location) -> StoreResult<bool> {
    match location {
        #[cfg(feature = "sqlite")]
        Location::Sqlite(path) => sql::sqlite::is_in_use(path),
        _ => Ok(false),
    }
}

impl Location {
    /// True if only one process can use the store at a time. When such a process starts, every
    /// delivery and rotation that is still reserved was reserved by an earlier process, which has
    /// ended.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => false,
            _ => true,
        }
    }
}

impl FromStr for Location {
    type Err = &'static str;

    /// Parses the URL of a store. The error names the violated rule and never repeats the URL,
    /// which may contain a password.
    fn from_str(url: &str) -> Result<Self, &'static str> {
        #[cfg(feature = "sqlite")]
        if let Some(path) = url.strip_prefix("sqlite://") {
            return match path {
                "" => Err("must name a file: sqlite://PATH"),
                path if path.contains('?') => Err("must be sqlite://PATH, without parameters"),
                path => Ok(Self::Sqlite(PathBuf::from(path))),
            };
        }
        match url.split_once(':') {
            Some(("memory", "")) => Ok(Self::Memory),
            #[cfg(feature = "postgres")]
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
                sql::postgres::url::split(url)?;
                Ok(Self::Postgres(Zeroizing::new(url.to_owned())))
            }
            _ => Err("must be sqlite://PATH, postgres://USER:PASSWORD@HOST/DATABASE or memory:"),
        }
    }
}

/// Formats only the kind of store, because the URL may contain a password.
impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "Memory",
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => "Sqlite(…)",
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => "Postgres(…)",
        })
    }
}
