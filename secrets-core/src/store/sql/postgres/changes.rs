//! Changes of cached records that any node has committed.
//!
//! Triggers insert each change into the table `changed_counters`, in the transaction of the change.
//! Before a reader uses the cache, the [`Follower`] queries the changes that were committed since
//! its last query, and the snapshot of the new query: the set of transactions that are visible to
//! it. One query serves all readers that wait. So a reader gets no old version of a record that any
//! node changed before the reader started, and differences between the clocks of the nodes have no
//! effect.

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::{Either, select};
use sqlx::pool::Pool;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::super::cache::{Cache, CacheView};
use super::tables::pooled::{Pooled, Waits};
use super::tables::{CurrentPools, Pools, failed};
use super::transactions::WriteQueue;
use super::{Db, error};
use crate::store::{StoreResult, Timeouts};

/// Query for the changes that are visible now and were not visible in the snapshot $1. Returns the
/// server, identified by its start time; the snapshot of this query; true if changes that were not
/// visible in $1 may have been deleted; and the numbers of the changed counters.
///
/// Transactions that were not visible in $1 are those that began later (IDs from its `xmax`) and
/// those that were running (its list of IDs). The query does not search all IDs from `xmin`, the
/// oldest running transaction, because a transaction that runs for hours keeps this ID low.
const CHANGES: &str = "
    WITH last AS MATERIALIZED (
        SELECT snapshot, pg_snapshot_xmax(snapshot) AS xmax,
            ARRAY(SELECT pg_snapshot_xip(snapshot)) AS running
        FROM (SELECT CAST($1 AS PG_SNAPSHOT)) AS given (snapshot))
    SELECT
        CASE WHEN NOT pg_is_in_recovery()
            THEN CAST(pg_postmaster_start_time() AS TEXT) END AS server,
        CAST(pg_current_snapshot() AS TEXT) AS snapshot,
        EXISTS (SELECT 1 FROM changed_counters_horizon h, last
                WHERE NOT pg_visible_in_snapshot(h.xid, last.snapshot)) AS is_behind,
        (SELECT string_agg(CAST(counter AS TEXT), ',') FROM (
            SELECT counter FROM changed_counters WHERE xid >= (SELECT xmax FROM last)
            UNION
            SELECT counter FROM changed_counters WHERE xid = ANY (ARRAY(
                SELECT unnest(running) FROM last))) AS changed) AS counters";

/// Statement that deletes old changes: those that were visible when the statement last ran on this
/// server. If it last ran on another server, or never, it deletes all visible changes. Only one
/// node runs the statement at a time, because it locks the row of the table
/// `changed_counters_horizon`.
const PRUNE: &str = "
    WITH moved AS (
        INSERT INTO changed_counters_horizon AS h
            (id, server, xid, snapshot, next_xid, next_snapshot)
        SELECT 1, CAST(pg_postmaster_start_time() AS TEXT), pg_current_xact_id(),
            pg_current_snapshot(), pg_current_xact_id(), pg_current_snapshot()
        WHERE EXISTS (SELECT 1 FROM changed_counters) OR EXISTS (
            SELECT 1 FROM changed_counters_horizon
            WHERE server <> CAST(pg_postmaster_start_time() AS TEXT))
        ON CONFLICT (id) DO UPDATE SET
            xid = CASE WHEN h.server = excluded.server THEN h.next_xid ELSE excluded.xid END,
            snapshot =
                CASE WHEN h.server = excluded.server THEN h.next_snapshot ELSE excluded.snapshot END,
            next_xid = excluded.next_xid, next_snapshot = excluded.next_snapshot,
            server = excluded.server
        RETURNING snapshot, xid = next_xid AS is_new)
    DELETE FROM changed_counters c USING moved
    WHERE is_new OR pg_visible_in_snapshot(c.xid, moved.snapshot)";

/// Interval between two deletions of old changes. A change is deleted after one to two intervals.
const PRUNE_INTERVAL: Duration = Duration::from_secs(10);

/// Source of the changes of cached records. Each set of connection pools has its own, because
/// another server has other transactions.
#[derive(Default)]
pub(super) struct Follower {
    /// Number of connections that were opened for the queries.
    opened: Arc<AtomicU64>,
    /// Server and snapshot of the last query; `None` before the first one. Locked while a query
    /// runs.
    last: Mutex<Option<Seen>>,
    /// Last query that has ended.
    ended: watch::Sender<Ended>,
    /// Number of queries that have begun.
    begun: AtomicU64,
}

struct Seen {
    server: String,
    /// Number of connections that had been opened for the queries at that time. If the number has
    /// changed, the server may have crashed, and may have assigned the IDs of lost transactions
    /// again.
    opened: u64,
    snapshot: String,
}

#[derive(Debug, Clone, Copy, Default)]
struct Ended {
    number: u64,
    /// Number of the update of the cache; `None` if the query failed.
    update: Option<u64>,
}

impl Ended {
    fn view(self, cache: &Arc<Cache>) -> StoreResult<CacheView> {
        let update = self
            .update
            .ok_or_else(|| error::unavailable("the changes of cached records could not be read"))?;
        Ok(cache.view_of(update))
    }
}

impl Follower {
    /// Creates a follower whose queries use connections that are counted in `opened`.
    pub(super) fn new(opened: Arc<AtomicU64>) -> Self {
        Self { opened, ..Self::default() }
    }

    /// Returns a view of the cache that shows the database at a time after this call. Waits for a
    /// query that begins after this call; of all readers that wait at the same time, one runs the
    /// query.
    pub(super) async fn view(
        &self,
        cache: &Arc<Cache>,
        pool: (&Pool<Db>, &Waits),
        limit: Duration,
    ) -> StoreResult<CacheView> {
        let wanted = self.begun.load(Ordering::SeqCst) + 1;
        let mut ended = self.ended.subscribe();
        let mut last = {
            let ended = async {
                let ended = ended.wait_for(|ended| ended.number >= wanted).await;
                // Waiting does not fail, because the sender lives as long as this value.
                ended.map_or_else(|_| Ended::default(), |ended| *ended)
            };
            match select(pin!(ended), pin!(self.last.lock())).await {
                Either::Left((ended, _)) => return ended.view(cache),
                Either::Right((last, _)) => last,
            }
        };
        // Another reader may have run the query while this one waited for the lock.
        let newest = *self.ended.borrow();
        if newest.number >= wanted {
            return newest.view(cache);
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let update = cache.changes().begin_update();
        let updated = self.query(&mut last, cache, pool, limit).await;
        let ended = Ended { number, update: updated.is_ok().then_some(update) };
        self.ended.send_replace(ended);
        updated.and_then(|()| ended.view(cache))
    }

    /// Queries the changes since the last query, and adds them to the changes of the cache.
    async fn query(
        &self,
        last: &mut Option<Seen>,
        cache: &Cache,
        pool: (&Pool<Db>, &Waits),
        limit: Duration,
    ) -> StoreResult<()> {
        let mut pooled = Pooled::acquire(pool, limit).await?;
        let opened = self.opened.load(Ordering::SeqCst);
        let (connection, limit) = pooled.parts();
        let snapshot = last.as_ref().map(|seen| seen.snapshot.as_str());
        let statement = sqlx::query_as(CHANGES).bind(snapshot);
        let row = async { statement.fetch_one(connection).await.map_err(failed) };
        let (server, snapshot, is_behind, counters): Row = limit.apply(row).await?;
        let server =
            server.ok_or_else(|| error::unavailable("the database server is a standby"))?;
        let changes = cache.changes();
        let is_other =
            |seen: &Seen| (seen.server.as_str(), seen.opened) != (server.as_str(), opened);
        if is_behind || last.as_ref().is_none_or(is_other) {
            changes.add_all();
        } else if let Some(counters) = counters {
            let numbers = counters.split(',').map(str::parse).collect::<Result<Vec<_>, _>>();
            match numbers {
                Ok(numbers) => changes.add_committed(numbers.into_iter()),
                Err(_) => changes.add_all(),
            }
        }
        *last = Some(Seen { server, opened, snapshot });
        Ok(())
    }
}

/// Row that the query [`CHANGES`] returns: server, snapshot, whether changes may have been deleted,
/// and numbers of the changed counters.
type Row = (Option<String>, String, bool, Option<String>);

/// Background task that deletes old changes. The task ends when this value is dropped.
pub(super) struct Pruning(JoinHandle<()>);

impl Pruning {
    /// Starts the task that deletes old changes.
    pub(super) fn start(current: CurrentPools, timeouts: Timeouts) -> Self {
        Self(tokio::spawn(async move {
            loop {
                sleep(PRUNE_INTERVAL).await;
                if let Err(error) = prune(&current.get(), timeouts).await {
                    tracing::warn!(%error, "old changes of cached records were not deleted");
                }
            }
        }))
    }

    /// Ends the task that deletes old changes.
    pub(super) fn stop(&self) {
        self.0.abort();
    }
}

impl Drop for Pruning {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn prune(pools: &Pools, timeouts: Timeouts) -> StoreResult<()> {
    let mut pooled = WriteQueue::acquire(pools, timeouts.acquire, timeouts.write).await?;
    let (connection, limit) = pooled.parts();
    let deleted = sqlx::query(PRUNE).execute(connection);
    limit.apply(async { deleted.await.map_err(failed) }).await.map(drop)
}
