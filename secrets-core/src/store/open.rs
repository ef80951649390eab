//! Opening a store by its URL.

use std::fmt;
#[cfg(feature = "sqlite")]
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

#[cfg(feature = "postgres")]
use zeroize::Zeroizing;

use super::{MemoryStore, Store, StoreResult};

/// Location of a store, parsed from a URL: `memory:`, `sqlite://PATH` or
/// `postgres://USER:PASSWORD@HOST/DATABASE`.
#[derive(Clone)]
pub enum Location {
    /// Memory of this process. The data is lost when the process ends.
    Memory,
    /// SQLite database file, used by one process at a time. Created if it does not exist.
    #[cfg(feature = "sqlite")]
    Sqlite(PathBuf),
    /// URL of a PostgreSQL database, which several nodes may share.
    #[cfg(feature = "postgres")]
    Postgres(Zeroizing<String>),
}

/// Opens the store at a location. Creates or migrates the database tables.
pub async fn open(location: &Location) -> StoreResult<Arc<dyn Store>> {
    Ok(match location {
        Location::Memory => Arc::new(MemoryStore::new()),
        #[cfg(feature = "sqlite")]
        Location::Sqlite(path) => Arc::new(super::sql::sqlite::open(path).await?),
        #[cfg(feature = "postgres")]
        Location::Postgres(url) => {
            use super::sql::postgres;
            Arc::new(postgres::open(url, postgres::Options::default()).await?)
        }
    })
}

impl Location {
    /// True if only one process can use the store at a time, so that all claims and leases found at
    /// startup belong to a process that has ended.
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

    /// Parses a URL. The error names the violated rule and never repeats the URL, which may contain
    /// a password.
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
                Ok(Self::Postgres(Zeroizing::new(url.to_owned())))
            }
            _ => Err("must be sqlite://PATH, postgres://USER:PASSWORD@HOST/DATABASE or memory:"),
        }
    }
}

/// Shows only the kind of store, because the URL may contain a password.
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
