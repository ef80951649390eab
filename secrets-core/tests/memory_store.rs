//! The memory store keeps every rule of the contract.
#![cfg(feature = "testing")]

use std::future::{Ready, ready};
use std::sync::Arc;

use secrets_core::store::{MemoryStore, Store};

fn open() -> Ready<(Arc<dyn Store>, ())> {
    ready((Arc::new(MemoryStore::new()), ()))
}

secrets_core::store_conformance!(open);
