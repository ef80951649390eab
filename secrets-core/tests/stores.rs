//! Runs the conformance tests of the store contract against every store.
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
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod sqlite {
    use std::sync::Arc;

    use secrets_core::store::{Store, sql};
    use secrets_core::testing::sqlite::create_database;
    use secrets_core::testing::{folder, patient};
    use tempfile::TempDir;

    async fn open() -> (Arc<dyn Store>, TempDir) {
        let folder = TempDir::new_in(folder()).unwrap();
        let path = folder.path().join("secrets.db");
        create_database(&path).await;
        let store = sql::sqlite::open(&path, patient()).await.unwrap();
        (Arc::new(store), folder)
    }

    secrets_core::store_conformance!(open);
}

#[cfg(feature = "postgres")]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod postgres {
    use std::sync::Arc;

    use secrets_core::store::Store;
    use secrets_core::store::sql::postgres;
    use secrets_core::testing::patient;
    use secrets_core::testing::postgres::TestDatabase;

    async fn open() -> (Arc<dyn Store>, TestDatabase) {
        let database = TestDatabase::create().await;
        let store = postgres::open(&database.url(), patient()).await.unwrap();
        (Arc::new(store), database)
    }

    secrets_core::store_conformance!(open);
}
