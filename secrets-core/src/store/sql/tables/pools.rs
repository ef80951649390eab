//! Connection pools of a store.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use sqlx::pool::Pool;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::super::super::cache::Cache;
use super::pooled::{Pooled, Waits};
use super::{Db, Follower, error};
use crate::store::StoreResult;

/// Connection pools of a store: for reads, for writes, and reserved for health checks.
pub(in super::super) struct Pools {
    pub(in super::super) readers: Pool<Db>,
    /// Connection for [`Store::read_audit_log`](crate::store::Store::read_audit_log).
    pub(in super::super) audit: Pool<Db>,
    pub(in super::super) writers: Pool<Db>,
    /// Permits for the transactions of [`Store::begin`]: one fewer than the connections in the pool
    /// for writes, but at least one. [`Store::insert_audit_batch`] needs no permit,
    /// only a connection.
    ///
    /// [`Store::begin`]: crate::store::Store::begin
    /// [`Store::insert_audit_batch`]: crate::store::Store::insert_audit_batch
    pub(super) turns: Arc<Semaphore>,
    /// Connections for health checks ([`Store::ping`](crate::store::Store::ping)), and for the
    /// queries of the [`Follower`], of which one runs at a time. They must not wait for the
    /// statements of requests.
    pub(in super::super) reserved: Pool<Db>,
    /// Statistics of the waits for connections of these pools, in the same order.
    waits: [Waits; 4],
    /// Cache of records that readers have loaded through these pools; `None` if nothing is cached.
    pub(super) cache: Option<Arc<Cache>>,
    /// Source of the changes that other processes have made to cached records.
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
        let turns = writers.options().get_max_connections().saturating_sub(1).max(1);
        let turns = Arc::new(Semaphore::new(turns as usize));
        let (waits, cache, follower) = Default::default();
        Self { readers, audit, writers, turns, reserved, waits, cache, follower }
    }

    /// Returns the pools with a cache for what readers load, and with the source of its changes.
    pub(in super::super) fn cached(self, cache: Option<Arc<Cache>>, follower: Follower) -> Self {
        Self { cache, follower, ..self }
    }

    /// Acquires a connection for a transaction whose SQL statements have this timeout, after the
    /// transactions that began to wait before.
    pub(in super::super) async fn writing_in_turn(
        &self,
        acquire: Duration,
        limit: Duration,
    ) -> StoreResult<Pooled> {
        let turn = timeout(acquire, Arc::clone(&self.turns).acquire_owned());
        let turn = turn.await.ok().and_then(Result::ok);
        let turn = turn.ok_or_else(|| error::unavailable("too many writes are waiting"))?;
        Pooled::acquire_in_turn(self.writing(), limit, turn).await
    }

    pub(super) fn reading(&self) -> (&Pool<Db>, &Waits) {
        (&self.readers, &self.waits[0])
    }

    pub(super) fn reading_audit_log(&self) -> (&Pool<Db>, &Waits) {
        (&self.audit, &self.waits[1])
    }

    pub(super) fn writing(&self) -> (&Pool<Db>, &Waits) {
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
