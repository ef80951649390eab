//! Kinds of stores with which the integration tests run.

use std::any::Any;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use secrets_core::store::sql::{postgres, sqlite};
use secrets_core::store::{MemoryStore, Store};
use secrets_core::testing::postgres::TestDatabase;
use secrets_core::testing::sqlite::create_database;
use secrets_core::testing::{folder, patient};
use tempfile::TempDir;

/// Kind of store with which a test runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Store in memory, which is the reference implementation.
    Memory,
    /// SQLite file in a temporary folder.
    Sqlite,
    /// Empty database on the PostgreSQL server that the test runner has started.
    Postgres,
}

/// Open store of a test, with a guard that keeps its data until the end of the test.
pub struct OpenedStore {
    /// Open store.
    pub store: Arc<dyn Store>,
    /// Path of the SQLite file or URL of the PostgreSQL database; empty for a store in memory.
    pub location: String,
    /// Guard that keeps the data. Dropping it deletes the SQLite file, or lets another test use the
    /// PostgreSQL database.
    pub guard: Box<dyn Any + Send + Sync>,
}

/// Temporary folder. When it is dropped, its files are searched for secret values in plain text,
/// and the test fails if one is found.
struct Searched(TempDir);

impl Kind {
    /// Opens an empty store of this kind.
    pub async fn open(self) -> OpenedStore {
        let (location, guard): (_, Box<dyn Any + Send + Sync>) = match self {
            Self::Memory => (String::new(), Box::new(())),
            Self::Sqlite => {
                let folder = Searched(TempDir::new_in(folder()).unwrap());
                let path = folder.0.path().join("secrets.db");
                create_database(&path).await;
                (path.display().to_string(), Box::new(folder))
            }
            Self::Postgres => {
                let database = TestDatabase::create().await;
                (database.url(), Box::new(database))
            }
        };
        OpenedStore { store: self.at(&location).await, location, guard }
    }

    /// Opens the store at this path or URL. For a store in memory, ignores the location and creates
    /// an empty store.
    pub(crate) async fn at(self, location: &str) -> Arc<dyn Store> {
        match self {
            Self::Memory => Arc::new(MemoryStore::new()),
            Self::Sqlite => Arc::new(sqlite::open(Path::new(location), patient()).await.unwrap()),
            Self::Postgres => {
                // Longer than in production, because many writers may wait for one lock.
                let separator = if location.contains('?') { '&' } else { '?' };
                let url = format!("{location}{separator}options[lock_timeout]=60s");
                Arc::new(postgres::open(&url, patient()).await.unwrap())
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

/// True if the file contains the first characters of the values of tests, followed by three more
/// characters of a value: four characters alone occur by chance in a large file of encrypted data.
fn holds_value(path: &Path) -> bool {
    let bytes = fs::read(path).unwrap_or_default();
    let is_character = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    memchr::memmem::find_iter(&bytes, b"kvc_").any(|start| {
        let next = bytes.get(start + 4..start + 7);
        next.is_some_and(|next| next.iter().all(is_character))
    })
}

#[test]
fn values_are_found_and_random_bytes_are_not() {
    let folder = TempDir::new_in(folder()).unwrap();
    let path = folder.path().join("file");
    for (bytes, expected) in [
        (b"\0\0kvc_abc".as_slice(), true),
        (b"kvc_a\0bkvc_a-9", true),
        (b"kvc_ab", false),
        (b"kvc_ab\0", false),
        (b"kvc", false),
    ] {
        fs::write(&path, bytes).unwrap();
        assert_eq!(holds_value(&path), expected, "{bytes:?}");
    }
}
