//! Database triggers that report the records that a transaction changes, so that the cache does not
//! return old versions of them.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use sqlx::pool::Pool;
use sqlx::{AssertSqlSafe, Sqlite, SqliteConnection};

use super::super::cache::{Cache, CacheView, Changes, WATCHED};
use super::tables::pooled::Waits;
use crate::store::StoreResult;

/// Temporary table into which the triggers insert the index of a change counter of [`Changes`] for
/// each change. A hook of the connection is called for each insert; the trigger then deletes the
/// row, so that the table stays empty.
const TABLE: &str = "changed_counters";

/// Source of the changes of cached records. No query is needed: the connection that writes reports
/// its changes itself.
#[derive(Default)]
pub(super) struct Follower;

impl Follower {
    /// Returns a view of the cache that shows the database now.
    #[expect(clippy::unused_async, reason = "on PostgreSQL, it asks the database")]
    pub(super) async fn view(
        &self,
        cache: &Arc<Cache>,
        _: (&Pool<Sqlite>, &Waits),
        _: Duration,
    ) -> StoreResult<CacheView> {
        Ok(cache.view())
    }
}

/// Installs the triggers and the hook that report the changes made on a connection. All writes must
/// use this connection, one transaction after the other. Must be called after the migrations, which
/// must run without the triggers.
pub(super) async fn watch(
    connection: &mut SqliteConnection,
    changes: Arc<Changes>,
) -> sqlx::Result<()> {
    sqlx::raw_sql(AssertSqlSafe(triggers())).execute(&mut *connection).await?;
    connection.lock_handle().await?.set_update_hook(move |change| {
        if change.table == TABLE {
            changes.add(change.rowid);
        }
    });
    Ok(())
}

/// Returns the SQL statements that create the triggers. The triggers also run for rows that are
/// deleted because of a foreign key.
fn triggers() -> String {
    let mut text = format!("CREATE TEMP TABLE {TABLE} (counter INTEGER PRIMARY KEY);");
    for (table, column) in WATCHED {
        for (event, rows) in
            [("INSERT", &["NEW"][..]), ("DELETE", &["OLD"]), ("UPDATE", &["OLD", "NEW"])]
        {
            let mut body = String::new();
            for row in rows {
                let counter = counter(row, column);
                // The row is deleted immediately. Otherwise, the next insertion of the same row
                // would conflict with it, and the outer statement would determine the resolution of
                // the conflict.
                let _ = write!(
                    body,
                    "INSERT INTO {TABLE} VALUES ({counter});
                     DELETE FROM {TABLE} WHERE counter = {counter};"
                );
            }
            let _ = write!(
                text,
                "CREATE TEMP TRIGGER watch_{table}_{event} AFTER {event} ON main.{table}
                 BEGIN {body} END;"
            );
        }
    }
    text
}

/// Returns the SQL expression for the index of an ID's change counter: the last three hexadecimal
/// digits of the ID.
fn counter(row: &str, column: &str) -> String {
    let digit =
        |place| format!("instr('123456789ABCDEF', substr(hex({row}.{column}), {place}, 1))");
    format!("256 * {} + 16 * {} + {}", digit(30), digit(31), digit(32))
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use std::collections::BTreeSet;

    use tempfile::TempDir;

    use super::super::super::cache::{NOT_CACHED, WATCHED};
    use super::super::open;
    use crate::store::StoreOptions;
    use crate::testing::folder;

    #[tokio::test]
    async fn every_table_is_watched_or_not_cached() {
        let folder = TempDir::new_in(folder()).unwrap();
        let path = folder.path().join("secrets.db");
        let store = open(&path, StoreOptions::default()).await.unwrap();

        let tables = "SELECT name FROM sqlite_master WHERE type = 'table'";
        let tables: Vec<String> =
            sqlx::query_scalar(tables).fetch_all(&store.pools().readers).await.unwrap();

        let watched = WATCHED.map(|(table, _)| table);
        let known: BTreeSet<_> = watched.into_iter().chain(NOT_CACHED).collect();
        assert_eq!(tables.iter().map(String::as_str).collect::<BTreeSet<_>>(), known);
    }
}
