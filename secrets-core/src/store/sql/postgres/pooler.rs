//! Refusal of connection poolers that do not keep sessions.
//!
//! The service needs sessions: settings for timeouts, prepared statements, and the lock that is
//! held during migrations. A pooler in transaction mode (PgBouncer's `pool_mode = transaction`)
//! gives each transaction any connection to the server. The failures would appear later, under
//! load, as missing prepared statements or as locks that are never released.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::time::timeout;

use super::{error, passes};
use crate::store::{StoreError, StoreResult};

/// Query for the ID of the server process that runs the query. Sent without preparing the
/// statement, because a pooler may lose prepared statements.
const BACKEND: &str = "SELECT pg_backend_pid()";

/// SQLSTATE of a protocol violation. PgBouncer returns this code for requests that it does not
/// support.
const PROTOCOL_VIOLATION: &str = "08P01";

/// Maximum duration of the check for a pooler.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

const REFUSAL: &str = "cannot open the database: a connection pooler in transaction mode does not keep \
    settings and prepared statements of sessions; connect to PostgreSQL directly, or set `pool_mode = session`";

/// Fails if the URL leads to a pooler that does not keep sessions: if two sessions share a server
/// process, or if a session changes its server process.
pub(super) async fn refuse_transaction_mode(server: &PgConnectOptions) -> StoreResult<()> {
    let sessions = async {
        let (mut one, mut other) = (server.connect().await?, server.connect().await?);
        let keeps = keeps_sessions(&mut one, &mut other).await;
        one.close().await.ok();
        other.close().await.ok();
        keeps
    };
    match timeout(CHECK_TIMEOUT, sessions).await {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => Err(error::broken(REFUSAL)),
        Ok(Err(error)) => Err(refused(error)),
        Err(_) => Err(error::unavailable("timeout while connecting to the database")),
    }
}

async fn keeps_sessions(
    one: &mut PgConnection,
    other: &mut PgConnection,
) -> Result<bool, sqlx::Error> {
    let own = backend(one).await?;
    if backend(one).await? != own {
        return Ok(false);
    }
    // In transaction mode, the pooler assigns the process of the first session, which is free now,
    // to the transaction of the other session. If it has several processes, the first session gets
    // another process instead.
    let mut transaction = other.begin().await?;
    let is_shared = backend(&mut transaction).await? == own;
    let is_kept = backend(one).await? == own;
    transaction.rollback().await?;
    Ok(!is_shared && is_kept && backend(one).await? == own)
}

async fn backend(connection: &mut PgConnection) -> Result<i32, sqlx::Error> {
    sqlx::Row::try_get(&sqlx::raw_sql(BACKEND).fetch_one(connection).await?, 0)
}

/// Converts an error of the check. An example is PgBouncer in statement mode, which refuses
/// transactions.
fn refused(error: sqlx::Error) -> StoreError {
    let is_pooler = error.as_database_error().is_some_and(|error| {
        error.code().as_deref() == Some(PROTOCOL_VIOLATION)
            && error.message().contains("statement pooling")
    });
    if is_pooler { error::broken(REFUSAL) } else { error::not_opened(error, passes) }
}
