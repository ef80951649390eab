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
    let columns = "SELECT name FROM pragma_table_info('environments')";
    let columns: Vec<String> = sqlx::query_scalar(columns).fetch_all(&mut *connection).await?;
    sqlx::raw_sql(AssertSqlSafe(triggers(&columns))).execute(&mut *connection).await?;
    connection.lock_handle().await?.set_update_hook(move |change| {
        if change.table == TABLE {
            changes.add(change.rowid);
        }
    });
    Ok(())
}

/// Columns of `environments` that no cached record contains. Each write of secrets updates them
/// several times.
const UNCACHED: [&str; 4] = ["size", "history_size", "manifest", "manifest_revision"];

/// Returns the SQL statements that create the triggers. The triggers also run for rows that are
/// deleted because of a foreign key. `environments` are the columns of the table `environments`.
fn triggers(environments: &[String]) -> String {
    let mut text = format!("CREATE TEMP TABLE {TABLE} (counter INTEGER PRIMARY KEY);");
    let cached: Vec<_> =
        environments.iter().filter(|name| !UNCACHED.contains(&name.as_str())).cloned().collect();
    let of_cached = format!("UPDATE OF {}", cached.join(", "));
    for (table, column) in WATCHED {
        let update = if table == "environments" { &of_cached } else { "UPDATE" };
        let moved = format!("UPDATE OF {column}");
        let events = [
            ("inserted", "INSERT", "NEW"),
            ("deleted", "DELETE", "OLD"),
            ("updated", update, "NEW"),
            // The old record has another ID only if this column is updated.
            ("moved", &moved, "OLD"),
        ];
        for (name, event, row) in events {
            let counter = counter(row, column);
            // The row is deleted immediately. Otherwise, the next insertion of the same row would
            // conflict with it, and the outer statement would determine the resolution of the
            // conflict.
            let _ = write!(
                text,
                "CREATE TEMP TRIGGER {table}_{name} AFTER {event} ON main.{table} BEGIN
                     INSERT INTO {TABLE} VALUES ({counter});
                     DELETE FROM {TABLE};
                 END;"
            );
        }
    }
    text
}

/// Returns the SQL expression for the index of an ID's change counter: the last 12 bits of the ID.
/// `hex` converts its last two bytes to four digits, of which the last three count.
fn counter(row: &str, column: &str) -> String {
    let digits = format!("hex(substr({row}.{column}, 15))");
    let digit = |place| format!("instr('123456789ABCDEF', substr({digits}, {place}, 1))");
    format!("256 * {} + 16 * {} + {}", digit(2), digit(3), digit(4))
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use std::collections::BTreeSet;

    use sqlx::AssertSqlSafe;
    use tempfile::TempDir;
    use uuid::Uuid;

    use super::super::super::cache::{NOT_CACHED, WATCHED};
    use super::super::open;
    use super::super::tables::resolve;
    use super::UNCACHED;
    use crate::store::{Store, StoreOptions};
    use crate::testing::fixtures::{World, secret};
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

    #[tokio::test]
    async fn a_change_of_a_cached_column_is_reported() {
        let folder = TempDir::new_in(folder()).unwrap();
        let path = folder.path().join("secrets.db");
        let store = open(&path, StoreOptions::default()).await.unwrap();
        let world = World::build(&store).await;
        let pools = store.pools();
        let changes = pools.cache.as_ref().unwrap().changes();
        let [development, staging, production] =
            [&world.development, &world.staging, &world.production].map(|of| of.id.uuid());
        let one = secret(&world.staging, "ONE");
        let mut tx = store.begin().await.unwrap();
        tx.touch_environment(one.environment, 1).await.unwrap();
        tx.insert_secrets(&[one]).await.unwrap();
        tx.commit().await.unwrap();
        let columns = "SELECT name FROM pragma_table_info('environments')";
        let columns: Vec<String> =
            sqlx::query_scalar(columns).fetch_all(&pools.readers).await.unwrap();
        let of_environment = |column: &String| {
            let is_cached = resolve::ALL.contains(&format!("e.{column}"));
            let ids = [development, staging, production];
            let reported = if is_cached { ids.to_vec() } else { Vec::new() };
            (format!("UPDATE environments SET {column} = {column}"), reported)
        };
        let mut cases: Vec<_> = columns.iter().map(of_environment).collect();
        let uncached = cases.iter().filter(|(_, reported)| reported.is_empty()).count();
        assert_eq!(uncached, UNCACHED.len());
        let moved = format!("UPDATE secrets SET environment_id = X'{}'", production.simple());
        cases.push((moved, vec![staging, production]));

        for (text, ids) in cases {
            changes.begin();
            sqlx::raw_sql(AssertSqlSafe(text.clone())).execute(&pools.writers).await.unwrap();

            let number = |id: &Uuid| u16::try_from(id.as_u128() % 4096).unwrap();
            assert_eq!(changes.pending(), ids.iter().map(number).collect(), "{text}");
        }
    }
}
