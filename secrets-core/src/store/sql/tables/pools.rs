//! Connection pools of a store.

use std::sync::{Arc, PoisonError, RwLock};

use sqlx::pool::Pool;

use super::super::super::cache::Cache;
use super::pooled::Waits;
use super::{Db, Follower, WriteQueue};

/// Connection pools of a store: for reads, for queries of the audit log, for writes, and for health
/// checks.
pub(in super::super) struct Pools {
    pub(in super::super) readers: Pool<Db>,
    /// Connections for queries of the audit log
    /// ([`Store::read_audit_log`](crate::store::Store::read_audit_log)).
    pub(in super::super) audit: Pool<Db>,
    pub(in super::super) writers: Pool<Db>,
    /// Queue of the transactions that wait for a connection of the pool for writes.
    pub(in super::super) queue: Arc<WriteQueue>,
    /// Connections for health checks ([`Store::ping`](crate::store::Store::ping)), and for the
    /// queries of the [`Follower`], of which one runs at a time. They must not wait for the
    /// statements of requests.
    pub(in super::super) reserved: Pool<Db>,
    /// Statistics of the waits for connections: for reads, for queries of the audit log, for
    /// writes, and for health checks, in this order.
    waits: [Waits; 4],
    /// Cache of records that readers have loaded through these pools; `None` if nothing is cached.
    pub(in super::super) cache: Option<Arc<Cache>>,
    /// Source of the committed changes of cached records.
    pub(in super::super) follower: Follower,
}

/// Connection pools that a store uses now. All pools are replaced together when another server
/// becomes the primary, so that statements that wait for the old server use no connections to the
/// new one.
#[derive(Clone)]
pub(in super::super) struct CurrentPools(pub(in super::super) Arc<RwLock<Arc<Pools>>>);

impl Pools {
    /// Creates pools from those for reads, for queries of the audit log, for writes and for health
    /// checks.
    pub(in super::super) fn new([readers, audit, writers, reserved]: [Pool<Db>; 4]) -> Self {
        let queue = Arc::new(WriteQueue::new(writers.options().get_max_connections()));
        let (waits, cache, follower) = Default::default();
        Self { readers, audit, writers, queue, reserved, waits, cache, follower }
    }

    /// Sets the cache of the records that readers load, and the source of the changes of these
    /// records.
    pub(in super::super) fn cached(self, cache: Option<Arc<Cache>>, follower: Follower) -> Self {
        Self { cache, follower, ..self }
    }

    pub(super) fn reading(&self) -> (&Pool<Db>, &Waits) {
        (&self.readers, &self.waits[0])
    }

    pub(super) fn reading_audit_log(&self) -> (&Pool<Db>, &Waits) {
        (&self.audit, &self.waits[1])
    }

    pub(in super::super) fn writing(&self) -> (&Pool<Db>, &Waits) {
        (&self.writers, &self.waits[2])
    }

    pub(super) fn pinging(&self) -> (&Pool<Db>, &Waits) {
        (&self.reserved, &self.waits[3])
    }
}

impl CurrentPools {
    pub(in super::super) fn new(pools: Pools) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(pools))))
    }

    pub(in super::super) fn get(&self) -> Arc<Pools> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}
