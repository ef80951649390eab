//! Schema of the database: its state, its migration, and the versions that can use it.

use sqlx::migrate::MigrateError;

use super::super::super::{error, migrations};
use super::super::{DIALECT, HAS_TABLES, passes};
use super::{Connection, broken, failed};
use crate::store::{SchemaState, StoreResult};

/// Returns the state of the database tables. Changes nothing. Fails if a later version of the
/// program migrated the tables so that this version cannot use them.
pub(in super::super) async fn state(connection: &mut Connection) -> StoreResult<SchemaState> {
    let has_tables = sqlx::query_scalar(HAS_TABLES).fetch_one(&mut *connection).await;
    if !has_tables.map_err(failed)? {
        return Ok(SchemaState::Empty);
    }
    let state = migrations::state(connection).await;
    let state = state.map_err(|error| error::not_migrated(error, passes))?;
    if let SchemaState::Later { version } = state {
        must_support_this_version(connection, version).await?;
    }
    Ok(state)
}

/// Runs the migrations that have not run yet. The outer result is an error if a migration fails;
/// the inner result is an error if [`state`] fails.
pub(in super::super) async fn migrate(
    connection: &mut Connection,
) -> Result<StoreResult<()>, MigrateError> {
    migrations::run(DIALECT, connection).await?;
    Ok(state(connection).await.map(drop))
}

/// Fails if programs of this version cannot use tables that have a later version.
async fn must_support_this_version(connection: &mut Connection, version: i64) -> StoreResult<()> {
    let statement = "SELECT oldest_version FROM schema_compatibility";
    let oldest = sqlx::query_scalar(statement).fetch_optional(connection).await;
    let (oldest, latest): (Option<i64>, _) =
        (oldest.map_err(failed)?, migrations::latest_version());
    match oldest {
        Some(oldest) if oldest <= latest => Ok(()),
        Some(oldest) => Err(broken(format!(
            "a later version of the program migrated the database: its schema version is {version}, \
             for programs of schema version {oldest} or later; this program has {latest}"
        ))),
        None => Err(broken("the table schema_compatibility is empty")),
    }
}
