//! Stores on which the sequences run.

use std::sync::Arc;

use secrets_core::store::{MemoryStore, Store};

/// An empty store that two nodes use.
pub(crate) trait Stores: Sized {
    /// Creates the store.
    async fn create() -> Self;

    /// Opens the store for two nodes. No other node may use it at the same time.
    async fn open(&mut self) -> [Arc<dyn Store>; 2];
}

pub(crate) struct Memory(Arc<MemoryStore>);

impl Stores for Memory {
    async fn create() -> Self {
        Self(Arc::new(MemoryStore::new()))
    }

    async fn open(&mut self) -> [Arc<dyn Store>; 2] {
        [Arc::clone(&self.0) as Arc<dyn Store>, Arc::clone(&self.0) as Arc<dyn Store>]
    }
}

#[cfg(feature = "sqlite")]
pub(crate) struct Sqlite(tempfile::TempDir);

#[cfg(feature = "sqlite")]
impl Stores for Sqlite {
    async fn create() -> Self {
        Self(tempfile::TempDir::new_in(secrets_core::testing::folder()).unwrap())
    }

    /// Opens the file once: SQLite belongs to one process, whose nodes share it.
    async fn open(&mut self) -> [Arc<dyn Store>; 2] {
        let path = self.0.path().join("secrets.db");
        let options = secrets_core::testing::patient();
        let store = secrets_core::store::sql::sqlite::open(&path, options).await.unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        [Arc::clone(&store), store]
    }
}

#[cfg(feature = "postgres")]
pub(crate) struct Postgres(secrets_core::testing::postgres::TestDatabase);

#[cfg(feature = "postgres")]
impl Stores for Postgres {
    async fn create() -> Self {
        Self(secrets_core::testing::postgres::TestDatabase::create().await)
    }

    async fn open(&mut self) -> [Arc<dyn Store>; 2] {
        let mut stores: Vec<Arc<dyn Store>> = Vec::new();
        for _ in 0..2 {
            let options = secrets_core::testing::patient();
            let store = secrets_core::store::sql::postgres::open(&self.0.url(), options).await;
            stores.push(Arc::new(store.unwrap()));
        }
        stores.try_into().unwrap_or_else(|_| panic!("two stores"))
    }
}
