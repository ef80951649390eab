//! Changes of cached records that any node has committed.
//!
//! Triggers insert each change into the table `changed_counters`, in the transaction of the change.
//! Before a reader uses the cache, the [`Follower`] asks the database for the changes that were
//! committed since its last query, and for the snapshot of this query: the transactions that it saw.
//! One query serves all readers that wait. So the cache returns no record that was changed before
//! the reader started, on whatever node, and the clocks of the nodes do not matter.

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
use tokio::time::{sleep, timeout};

use super::super::cache::{Cache, View};
use super::tables::pooled::{Pooled, Waits};
use super::tables::{CurrentPools, Pools, failed};
use super::{Db, error};
use crate::store::StoreResult;

/// Query for the changes that are visible now and were not visible in the snapshot $1. Returns the
/// server, the snapshot of this query, whether changes that were not visible in $1 may have been
/// deleted, and the numbers of the changed counters.
///
/// The server is named by its start and its timeline, because transactions of another server, or of
/// a promoted one, may have the same numbers.
const CHANGES: &str = "
    SELECT
        CAST(pg_postmaster_start_time() AS TEXT)
            || left(pg_walfile_name(pg_current_wal_lsn()), 8) AS server,
        CAST(pg_current_snapshot() AS TEXT) AS snapshot,
        EXISTS (SELECT 1 FROM changed_counters_horizon
                WHERE xid > pg_snapshot_xmin(CAST($1 AS PG_SNAPSHOT))) AS is_behind,
        (SELECT string_agg(DISTINCT CAST(counter AS TEXT), ',') FROM changed_counters
         WHERE xid >= pg_snapshot_xmin(CAST($1 AS PG_SNAPSHOT))
             AND NOT pg_visible_in_snapshot(xid, CAST($1 AS PG_SNAPSHOT))) AS counters";

/// Statement that deletes the changes of the transactions before $1, and records $1 as the horizon:
/// a node whose last snapshot is older does not know all deleted changes. Returns the first
/// transaction that may still run. Also deletes changes, and replaces a horizon, of transactions
/// that this server has not begun yet: a dump of another server contains such numbers.
const PRUNE: &str = "
    WITH next AS (SELECT pg_snapshot_xmax(pg_current_snapshot()) AS xid),
    deleted AS (
        DELETE FROM changed_counters USING next
        WHERE CAST($1 AS XID8) IS NOT NULL
            AND (changed_counters.xid < CAST($1 AS XID8) OR changed_counters.xid > next.xid)
        RETURNING 1),
    moved AS (
        INSERT INTO changed_counters_horizon (id, xid)
        SELECT 1, CAST($1 AS XID8) WHERE EXISTS (SELECT 1 FROM deleted)
        ON CONFLICT (id) DO UPDATE SET xid =
            CASE WHEN changed_counters_horizon.xid > (SELECT xid FROM next) THEN excluded.xid
            ELSE greatest(changed_counters_horizon.xid, excluded.xid) END)
    SELECT CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT)";

/// Interval between two deletions of old changes. A change is deleted after one to two intervals.
const PRUNE_INTERVAL: Duration = Duration::from_secs(30);

/// Timeout of the deletion of old changes.
const PRUNE_TIMEOUT: Duration = Duration::from_secs(10);

/// Source of the changes of cached records. Each set of connection pools has its own, because the
/// pools of another server see other transactions.
#[derive(Default)]
pub(super) struct Follower {
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
    snapshot: String,
}

#[derive(Debug, Clone, Copy, Default)]
struct Ended {
    number: u64,
    /// Number of the update of the cache; `None` if the query failed.
    update: Option<u64>,
}

impl Ended {
    fn view(self, cache: &Arc<Cache>) -> StoreResult<View> {
        let update = self.update.ok_or_else(|| error::unavailable("the changes are not known"))?;
        Ok(cache.view_of(update))
    }
}

impl Follower {
    /// Returns a view of the cache, of a moment after this call. Waits for a query that begins after
    /// this call; of all readers that wait at the same time, one runs the query.
    pub(super) async fn view(
        &self,
        cache: &Arc<Cache>,
        pool: (&Pool<Db>, &Waits),
        limit: Duration,
    ) -> StoreResult<View> {
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
        let updated = query(&mut last, cache, pool, limit).await;
        let ended = Ended { number, update: updated.is_ok().then_some(update) };
        self.ended.send_replace(ended);
        updated.and_then(|()| ended.view(cache))
    }
}

/// Asks the database for the changes since the last query, and adds them to those of the cache.
async fn query(
    last: &mut Option<Seen>,
    cache: &Cache,
    pool: (&Pool<Db>, &Waits),
    limit: Duration,
) -> StoreResult<()> {
    let mut pooled = Pooled::acquire(pool, limit).await?;
    let (connection, limit) = pooled.parts();
    let snapshot = last.as_ref().map(|seen| seen.snapshot.as_str());
    let statement = sqlx::query_as(CHANGES).bind(snapshot);
    let row = async { statement.fetch_one(connection).await.map_err(failed) };
    let (server, snapshot, is_behind, counters): (String, String, bool, Option<String>) =
        limit.apply(row).await?;
    let changes = cache.changes();
    if is_behind || last.as_ref().is_none_or(|seen| seen.server != server) {
        changes.add_all();
    } else if let Some(counters) = counters {
        let numbers = counters.split(',').map(str::parse).collect::<Result<Vec<_>, _>>();
        match numbers {
            Ok(numbers) => changes.add_committed(numbers.into_iter()),
            Err(_) => changes.add_all(),
        }
    }
    *last = Some(Seen { server, snapshot });
    Ok(())
}

/// Background task that deletes old changes. The task ends when this value is dropped.
pub(super) struct Pruning(JoinHandle<()>);

impl Pruning {
    /// Starts the task.
    pub(super) fn start(current: CurrentPools) -> Self {
        Self(tokio::spawn(async move {
            let mut horizon = None;
            loop {
                sleep(PRUNE_INTERVAL).await;
                horizon = prune(&current.get(), horizon).await;
            }
        }))
    }
}

impl Drop for Pruning {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Deletes the changes of the transactions before the horizon. Returns the next horizon; `None` if
/// the database does not respond.
async fn prune(pools: &Pools, horizon: Option<String>) -> Option<String> {
    let statement = sqlx::query_scalar(PRUNE).bind(horizon).fetch_one(&pools.writers);
    let pruned = timeout(PRUNE_TIMEOUT, statement).await;
    let pruned = pruned.unwrap_or(Err(sqlx::Error::PoolTimedOut));
    pruned
        .inspect_err(
            |error| tracing::debug!(%error, "old changes of cached records were not deleted"),
        )
        .ok()
}
