//! The servers of a database, of which one accepts writes: the primary.
//!
//! When a standby is promoted, the store switches to the new primary automatically. A task checks
//! every server twice a second. If several servers accept writes, the one with the highest timeline
//! is the primary: PostgreSQL begins a new timeline at each promotion, so an old primary that was
//! cut off from the other servers has a lower timeline.

use std::mem;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::future::{join_all, join4};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow};
use sqlx::{ConnectOptions as _, Row as _};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::tables::{CurrentPools, Pools};
use super::{error, passes, pools, url};
use crate::store::{StoreOptions, StoreResult};

/// Interval between two checks of the servers.
const INTERVAL: Duration = Duration::from_millis(500);

/// Maximum duration of the check of one server: connecting, if necessary, and its response.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// Query that returns whether a server accepts writes, and its timeline: a number that increases
/// when another server becomes the primary, read from the first eight digits of the name of a
/// write-ahead log file.
const STATE: &str = "
    SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off',
        CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END";

/// Connection options of each server in the URL of a database.
pub(super) struct Servers(Vec<PgConnectOptions>);

/// The primary: the server that accepts writes.
pub(super) struct Primary {
    pub(super) options: PgConnectOptions,
    index: usize,
    timeline: u32,
}

/// Background task that detects a change of the primary. The task ends when this value is dropped.
pub(super) struct Watch(JoinHandle<()>);

/// A server, with the connection that is used to check it.
struct Probe {
    options: PgConnectOptions,
    connection: Option<PgConnection>,
}

impl Servers {
    /// Parses the URL of a database with one or several hosts.
    pub(super) fn parse(url: &str) -> StoreResult<Self> {
        let urls = url::split(url).map_err(|rule| error::broken(format!("the URL {rule}")))?;
        let options = urls.iter().map(|url| connect_options(url)).collect::<StoreResult<_>>()?;
        Ok(Self(options))
    }

    /// Returns the server that accepts writes. If the URL names only one server, returns that
    /// server without a check.
    pub(super) async fn primary(&self) -> StoreResult<Primary> {
        if let [options] = &self.0[..] {
            return Ok(Primary { options: options.clone(), index: 0, timeline: 0 });
        }
        let mut probes = self.probes();
        let (index, timeline) = newest(&mut probes).await.ok_or_else(|| {
            error::unavailable("cannot open the database: none of its hosts accepts writes")
        })?;
        Ok(Primary { options: self.0[index].clone(), index, timeline })
    }

    /// Starts the background task that replaces the connection pools when another server becomes
    /// the primary. Returns `None` if the URL names only one server.
    pub(super) fn watch(
        self,
        primary: Primary,
        current: CurrentPools,
        options: StoreOptions,
    ) -> Option<Watch> {
        (self.0.len() > 1).then(|| Watch(tokio::spawn(follow(self, primary, current, options))))
    }

    fn probes(&self) -> Vec<Probe> {
        let probe =
            |options: &PgConnectOptions| Probe { options: options.clone(), connection: None };
        self.0.iter().map(probe).collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn connect_options(url: &str) -> StoreResult<PgConnectOptions> {
    let options: PgConnectOptions =
        url.parse().map_err(|error| error::not_opened(error, passes))?;
    // Not sent, because connection poolers refuse the parameter, and no column is a floating-point
    // number.
    let options = options.extra_float_digits(None);
    Ok(match options.get_application_name() {
        Some(_) => options,
        None => options.application_name("secrets"),
    })
}

async fn follow(
    servers: Servers,
    mut primary: Primary,
    current: CurrentPools,
    options: StoreOptions,
) {
    let mut probes = servers.probes();
    loop {
        sleep(INTERVAL).await;
        // A server with a lower timeline than the last primary may not have all commits.
        let found = newest(&mut probes).await;
        let Some((index, timeline)) = found.filter(|(_, timeline)| *timeline >= primary.timeline)
        else {
            continue;
        };
        primary.timeline = timeline;
        if index == primary.index {
            continue;
        }
        primary = Primary { options: servers.0[index].clone(), index, timeline };
        let (host, port) = (primary.options.get_host(), primary.options.get_port());
        tracing::warn!(host, port, timeline, "another database server has become the primary");
        tokio::spawn(close(replace(&current, pools(&primary.options, options))));
    }
}

/// Replaces the connection pools, and returns the pools that were in use before.
fn replace(current: &CurrentPools, pools: Pools) -> Arc<Pools> {
    let mut current = current.0.write().unwrap_or_else(PoisonError::into_inner);
    mem::replace(&mut *current, Arc::new(pools))
}

/// Closes all connections of the pools. Connections in use are closed when their statements have
/// ended.
async fn close(pools: Arc<Pools>) {
    join4(
        pools.readers.close(),
        pools.audit.close(),
        pools.writers.close(),
        pools.reserved.close(),
    )
    .await;
}

/// Checks all servers, and returns the index and the timeline of the primary; `None` if no server
/// accepts writes. If several servers have the highest timeline, returns the first of them.
async fn newest(probes: &mut [Probe]) -> Option<(usize, u32)> {
    let timelines = join_all(probes.iter_mut().map(Probe::timeline)).await;
    let found = timelines.into_iter().enumerate().rev();
    found.filter_map(|(index, timeline)| Some((index, timeline?))).max_by_key(|found| found.1)
}

impl Probe {
    /// Returns the timeline of the server; `None` if the server does not accept writes.
    async fn timeline(&mut self) -> Option<u32> {
        let connection = self.connection.take();
        let asked = timeout(PROBE_TIMEOUT, async {
            let mut connection = match connection {
                Some(connection) => connection,
                None => self.options.connect().await?,
            };
            let row = sqlx::raw_sql(STATE).fetch_one(&mut connection).await?;
            Ok::<_, sqlx::Error>((connection, row))
        });
        let answer = asked.await.unwrap_or(Err(sqlx::Error::PoolTimedOut));
        let answer = answer.inspect_err(|error| {
            let (host, port) = (self.options.get_host(), self.options.get_port());
            tracing::debug!(host, port, %error, "a database server does not answer");
        });
        // After a failure, the connection is closed.
        let (connection, row) = answer.ok()?;
        self.connection = Some(connection);
        read_timeline(&row)
    }
}

fn read_timeline(row: &PgRow) -> Option<u32> {
    let accepts_writes: bool = row.try_get(0).ok()?;
    let timeline: String = row.try_get(1).ok()?;
    u32::from_str_radix(&timeline, 16).ok().filter(|_| accepts_writes)
}
