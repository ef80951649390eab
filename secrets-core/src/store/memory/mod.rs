//! The reference store: keeps all records in memory and loses them when the process ends.
//!
//! All tables together are one value, which consists of persistent maps and is cheap to copy. A
//! transaction copies the value at its first change and changes the copy; a commit replaces the
//! committed value by the copy, and a rollback drops the copy. Transactions run one after the
//! other. Readers use the last committed value and never wait.

mod audit;
mod device_logins;
mod environments;
mod instance;
mod invitations;
mod keys;
mod outbox;
mod permissions;
mod projects;
mod rotations;
mod scans;
mod secrets;
mod sessions;
mod state;
mod teams;
mod tokens;
mod users;
mod webhooks;

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use futures_util::lock::{Mutex, OwnedMutexGuard};

use self::state::State;
use super::{Reads, Store, StoreResult, Tx};
use crate::model::Time;

/// A store that keeps records in memory. Clones of a store share the same records.
#[derive(Clone, Default)]
pub struct MemoryStore {
    committed: Committed,
    writer: Arc<Mutex<()>>,
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn read(&self) -> StoreResult<Box<dyn Reads>> {
        Ok(Box::new(Session(self.committed.clone())))
    }

    async fn begin(&self) -> StoreResult<Box<dyn Tx>> {
        let writer = Arc::clone(&self.writer).lock_owned().await;
        let state = self.committed.state();
        Ok(Box::new(Session(Pending { state, committed: self.committed.clone(), _writer: writer })))
    }

    fn is_exclusive(&self) -> bool {
        true
    }

    async fn ping(&self) -> StoreResult<Option<Time>> {
        Ok(None)
    }
}

/// A reader or a transaction of the store. Both have the same read methods: a reader reads the last
/// committed state, a transaction reads its own state.
struct Session<S>(S);

/// Source of the records that a [`Session`] reads: the last committed state of the store, or the
/// state of a transaction.
trait Snapshot: Send {
    fn state(&self) -> Arc<State>;
}

/// Last committed state of the store.
#[derive(Clone, Default)]
struct Committed(Arc<RwLock<Arc<State>>>);

/// State of a transaction that is not committed yet.
struct Pending {
    state: Arc<State>,
    committed: Committed,
    /// Write lock of the store. It is released when the transaction is committed or dropped.
    _writer: OwnedMutexGuard<()>,
}

impl Snapshot for Committed {
    fn state(&self) -> Arc<State> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Snapshot for Pending {
    fn state(&self) -> Arc<State> {
        Arc::clone(&self.state)
    }
}

impl<S: Snapshot> Session<S> {
    fn state(&self) -> Arc<State> {
        self.0.state()
    }
}

impl Session<Pending> {
    fn state_mut(&mut self) -> &mut State {
        Arc::make_mut(&mut self.0.state)
    }
}

#[async_trait]
impl Tx for Session<Pending> {
    async fn commit(self: Box<Self>) -> StoreResult<()> {
        let Pending { state, committed, _writer } = self.0;
        *committed.0.write().unwrap_or_else(PoisonError::into_inner) = state;
        Ok(())
    }

    async fn roll_back(self: Box<Self>) -> StoreResult<()> {
        Ok(())
    }
}
