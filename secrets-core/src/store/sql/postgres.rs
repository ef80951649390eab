//! The tables on a PostgreSQL server, shared by any number of nodes.

use std::time::Duration;

use sqlx::pool::PoolOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection};

use super::{error, migrations};
use crate::store::StoreResult;

type Db = sqlx::Postgres;

/// Nothing beside the connections.
type Held = ();

const BEGIN: &str = "BEGIN";

const CLOCK: &str = "SELECT clock_timestamp()";

/// How long to wait for a connection.
const PATIENCE: Duration = Duration::from_secs(2);

/// A connection that was idle longer is asked whether it still is one.
const TRUSTED: Duration = Duration::from_secs(1);

/// Link by link, which OFFSET 0 keeps the planner from undoing: it would scan all secrets.
macro_rules! secrets_of_chain {
    ($condition:literal) => {
        concat!(
            "FROM chain c CROSS JOIN LATERAL
                 (SELECT * FROM secrets s WHERE s.environment_id = c.id ",
            $condition,
            " OFFSET 0) s"
        )
    };
}

#[cfg_attr(
    feature = "sqlite",
    expect(clippy::duplicate_mod, reason = "the tables are written once for both databases")
)]
#[path = "tables/mod.rs"]
mod tables;

pub use tables::SqlStore;

/// How a store uses its server.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How many connections it holds at most.
    pub connections: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { connections: 8 }
    }
}

/// Brings the tables of a database up to date, then opens it.
pub async fn open(url: &str, options: Options) -> StoreResult<SqlStore> {
    migrate(url).await?;
    let pool = PoolOptions::<Db>::new()
        .max_connections(options.connections)
        .acquire_timeout(PATIENCE)
        .test_before_acquire(false)
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                if meta.idle_for > TRUSTED {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
        .connect_lazy_with(connect_options(url)?);
    Ok(SqlStore::new(pool.clone(), pool, ()))
}

/// Brings the tables of a database up to date. Nodes that start together wait for each other.
pub async fn migrate(url: &str) -> StoreResult<()> {
    let connecting = connect_options(url)?;
    let mut connection =
        connecting.connect().await.map_err(|error| error::not_opened(error, passes))?;
    let migrated = migrations::run(&mut connection).await;
    // After a failure the lock is still held, and ends with the session.
    connection.close().await.ok();
    migrated.map_err(|error| error::not_migrated(error, passes))
}

fn connect_options(url: &str) -> StoreResult<PgConnectOptions> {
    let options: PgConnectOptions =
        url.parse().map_err(|error| error::not_opened(error, passes))?;
    // The estimated cost of a look at all secrets passes the threshold of just-in-time compilation,
    // which takes fifty times as long as the look.
    Ok(options.options([("jit", "off")]).application_name("secrets"))
}

/// Whether a failure may be over soon, by its SQLSTATE: connection (08), conflict of transactions
/// (40), resources (53), intervention (57), a lock not granted, a server that takes no writes now.
fn passes(code: &str) -> bool {
    ["08", "40", "53", "57"].iter().any(|class| code.starts_with(class))
        || matches!(code, "55P03" | "25006")
}
