//! Store that never responds.

use async_trait::async_trait;

use crate::model::Time;
use crate::store::{Reads, Store, StoreResult, Tx};

/// Store whose calls never end, for tests of cancelled operations.
#[derive(Debug, Clone, Copy)]
pub struct StuckStore;

#[async_trait]
impl Store for StuckStore {
    async fn read(&self) -> StoreResult<Box<dyn Reads>> {
        std::future::pending().await
    }

    async fn begin(&self) -> StoreResult<Box<dyn Tx>> {
        std::future::pending().await
    }

    async fn ping(&self) -> StoreResult<Option<Time>> {
        std::future::pending().await
    }
}
