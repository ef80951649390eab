//! Every store keeps every rule of the contract.
#![cfg(feature = "testing")]

mod memory {
    use std::sync::Arc;

    use secrets_core::store::{MemoryStore, Store};

    async fn open() -> (Arc<dyn Store>, ()) {
        (Arc::new(MemoryStore::new()), ())
    }

    secrets_core::store_conformance!(open);
}

#[cfg(feature = "sqlite")]
#[expect(clippy::unwrap_used, reason = "a test stops where it fails")]
mod sqlite {
    use std::sync::Arc;

    use secrets_core::store::{Store, sql};
    use tempfile::TempDir;

    async fn open() -> (Arc<dyn Store>, TempDir) {
        let folder = TempDir::new().unwrap();
        let store = sql::sqlite::open(&folder.path().join("secrets.db")).await.unwrap();
        (Arc::new(store), folder)
    }

    secrets_core::store_conformance!(open);
}

#[cfg(feature = "postgres")]
#[expect(clippy::unwrap_used, reason = "a test stops where it fails")]
mod postgres {
    use std::sync::Arc;

    use secrets_core::store::{Store, sql};
    use secrets_core::testing::postgres::TestDatabase;

    async fn open() -> (Arc<dyn Store>, TestDatabase) {
        let database = TestDatabase::create().await;
        let store =
            sql::postgres::open(&database.url(), sql::postgres::Options::default()).await.unwrap();
        (Arc::new(store), database)
    }

    secrets_core::store_conformance!(open);
}
