//! The stores that tests run on.

use std::any::Any;
use std::sync::Arc;

use secrets_core::store::{MemoryStore, Store};

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
pub(crate) struct Held {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) guard: Box<dyn Any + Send + Sync>,
}

impl Kind {
    pub(crate) async fn open(self) -> Held {
        match self {
            Self::Memory => Held { store: Arc::new(MemoryStore::new()), guard: Box::new(()) },
            Self::Sqlite | Self::Postgres => todo!(),
        }
    }
}
