//! The stores that tests run on.

use std::any::Any;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use secrets_core::store::sql::{postgres, sqlite};
use secrets_core::store::{MemoryStore, Store};
use secrets_core::testing::postgres::TestDatabase;
use tempfile::TempDir;

/// Which store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The reference.
    Memory,
    /// A file in a folder of its own.
    Sqlite,
    /// A database of its own on the server that the test runner started.
    Postgres,
}

/// A store, and what keeps it there until the test ends.
pub struct Held {
    /// The store.
    pub store: Arc<dyn Store>,
    /// Where its data are, for SQL: a path or a URL.
    pub location: String,
    /// What keeps it there.
    pub guard: Box<dyn Any + Send + Sync>,
}

/// A folder in which, when the test ends, no value is found.
struct Searched(TempDir);

impl Kind {
    /// An empty store of this kind.
    pub async fn open(self) -> Held {
        match self {
            Self::Memory => {
                let (location, guard) = (String::new(), Box::new(()));
                Held { store: Arc::new(MemoryStore::new()), location, guard }
            }
            Self::Sqlite => {
                let folder = Searched(tempfile::tempdir().unwrap());
                let path = folder.0.path().join("secrets.db");
                let store = Arc::new(sqlite::open(&path).await.unwrap());
                Held { store, location: path.display().to_string(), guard: Box::new(folder) }
            }
            Self::Postgres => {
                let database = TestDatabase::create().await;
                let options = postgres::Options::default();
                let store = Arc::new(postgres::open(&database.url(), options).await.unwrap());
                Held { store, location: database.url(), guard: Box::new(database) }
            }
        }
    }
}

impl Held {
    /// The same records in a store that was opened again; in memory there is nothing to open.
    pub(crate) async fn again(
        kind: Kind,
        store: &Arc<dyn Store>,
        location: &str,
    ) -> Arc<dyn Store> {
        match kind {
            Kind::Memory => Arc::clone(store),
            Kind::Sqlite => Arc::new(sqlite::open(Path::new(location)).await.unwrap()),
            Kind::Postgres => {
                let options = postgres::Options::default();
                Arc::new(postgres::open(location, options).await.unwrap())
            }
        }
    }
}

impl Drop for Searched {
    fn drop(&mut self) {
        for file in fs::read_dir(self.0.path()).into_iter().flatten().flatten() {
            let found = holds_value(&file.path());
            assert!(!found || std::thread::panicking(), "a value is in {}", file.path().display());
        }
    }
}

fn holds_value(path: &Path) -> bool {
    let bytes = fs::read(path).unwrap_or_default();
    bytes.windows(4).any(|window| window == b"kvc_")
}
