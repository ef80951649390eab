use super::*;

/// Existing tables whose new indexes are built within a second: they have one row for each project.
const SMALL: [&str; 1] = ["projects"];

/// Returns the statements of a migration, without comments.
fn statements(migration: &str) -> Vec<String> {
    let lines = migration.lines().filter(|line| !line.trim_start().starts_with("--"));
    let text = lines.collect::<Vec<_>>().join("\n");
    let statements = text.split(';').map(|statement| statement.trim().to_owned());
    statements.filter(|statement| !statement.is_empty()).collect()
}

/// True if programs that do not have the migration can run during and after the migration: it only
/// adds tables, rows, indexes of these tables or of tables in [`SMALL`], and columns that are empty
/// or have a constant default. An index of a large existing table, or another default, would delay
/// writes. A foreign key would prevent deletions.
fn is_expansion(migration: &str) -> bool {
    let mut created = Vec::new();
    statements(migration).iter().all(|statement| {
        let words: Vec<_> = statement.split_whitespace().collect();
        match words[..] {
            ["CREATE", "TABLE", table, ..] => {
                created.push(table.to_owned());
                !statement.contains("REFERENCES")
            }
            ["CREATE", "INDEX", _, "ON", table, ..] => {
                created.contains(&table.to_owned()) || SMALL.contains(&table)
            }
            ["INSERT", "INTO", ..] => true,
            ["ALTER", "TABLE", _, "ADD", "COLUMN", ref column @ ..] => {
                let is_required = column.contains(&"NOT") && !column.contains(&"DEFAULT");
                let others = ["UNIQUE", "REFERENCES", "ADD", "DROP", "ALTER", "CHECK"];
                let has_others = column.iter().any(|word| others.contains(word));
                !is_required && !has_others && !statement.contains('(')
            }
            _ => false,
        }
    })
}

#[test]
fn additions_that_earlier_programs_do_not_notice_are_expansions() {
    for (migration, expected) in [
        ("-- DROP TABLE\nCREATE TABLE new (id UUID NOT NULL UNIQUE);", true),
        ("CREATE TABLE new (id UUID);\nCREATE INDEX ids ON new (id)", true),
        ("INSERT INTO new VALUES (1);", true),
        ("ALTER TABLE teams ADD COLUMN new TEXT;", true),
        ("ALTER TABLE teams ADD COLUMN new BIGINT NOT NULL DEFAULT 0", true),
        ("ALTER TABLE teams ADD COLUMN new BIGINT NOT NULL", false),
        ("ALTER TABLE teams ADD COLUMN new UUID DEFAULT gen_random_uuid()", false),
        ("ALTER TABLE teams ADD COLUMN a TEXT NOT NULL DEFAULT '', ADD COLUMN b TEXT", false),
        ("ALTER TABLE teams ADD COLUMN new BIGINT, DROP COLUMN name", false),
        ("ALTER TABLE teams ADD COLUMN new TEXT UNIQUE", false),
        ("ALTER TABLE teams RENAME COLUMN name TO title", false),
        ("CREATE TABLE new (team UUID REFERENCES teams (id))", false),
        ("CREATE INDEX new ON secrets (version)", false),
        ("CREATE INDEX new ON projects (name)", true),
        ("CREATE UNIQUE INDEX new ON teams (name)", false),
        ("CREATE TABLE new (id UUID); DROP TABLE teams", false),
        ("UPDATE teams SET name = ''", false),
    ] {
        assert_eq!(is_expansion(migration), expected, "{migration}");
    }
}

#[test]
fn a_migration_that_is_no_expansion_states_the_oldest_version_that_can_use_the_tables() {
    assert_eq!(HISTORY[28].0, "schema compatibility");
    for (name, text) in &HISTORY[28..] {
        let states = |text: &String| text.starts_with("UPDATE schema_compatibility SET ");
        assert!(is_expansion(text) || statements(text).iter().any(states), "{name}");
    }
}

#[cfg(all(feature = "testing", feature = "sqlite"))]
#[tokio::test]
async fn the_oldest_version_in_the_database_is_that_of_the_program() {
    use sqlx::{Connection, SqliteConnection};

    let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
    run(Dialect::Sqlite, &mut connection).await.unwrap();

    let statement = "SELECT oldest_version FROM schema_compatibility";
    let stored: i64 = sqlx::query_scalar(statement).fetch_one(&mut connection).await.unwrap();

    assert_eq!(stored, OLDEST_VERSION);
}

#[cfg(all(feature = "testing", feature = "postgres"))]
mod postgres {
    use std::time::Duration;

    use sqlx::{Connection, PgConnection};
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::store::sql::postgres::{inspect, migrate};
    use crate::store::{StoreError, StoreResult};
    use crate::testing::postgres::TestDatabase;

    async fn connect(database: &TestDatabase) -> PgConnection {
        PgConnection::connect(&database.url()).await.unwrap()
    }

    async fn execute(connection: &mut PgConnection, text: &'static str) {
        sqlx::raw_sql(text).execute(connection).await.unwrap();
    }

    fn message(refused: StoreResult<impl std::fmt::Debug>) -> String {
        match refused {
            Err(StoreError::Corrupt(cause)) => cause.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn nodes_may_start_together() {
        let database = TestDatabase::create().await;
        execute(&mut connect(&database).await, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
            .await;
        let url = database.url();

        let (one, other) = tokio::join!(migrate(&url), migrate(&url));

        one.unwrap();
        other.unwrap();
        assert_eq!(inspect(&url).await.unwrap(), SchemaState::Current);
    }

    #[tokio::test]
    async fn tables_of_a_later_version_are_used_if_they_support_this_version() {
        let database = TestDatabase::create().await;
        let url = database.url();
        let mut connection = connect(&database).await;
        let later = "INSERT INTO _sqlx_migrations VALUES (99, 'later', now(), TRUE, '', 0)";
        execute(&mut connection, later).await;

        migrate(&url).await.unwrap();

        assert_eq!(inspect(&url).await.unwrap(), SchemaState::Later { version: 99 });
        execute(&mut connection, "UPDATE schema_compatibility SET oldest_version = 99").await;
        let refused = message(migrate(&url).await);
        assert!(refused.contains("for programs of schema version 99 or later"), "{refused}");
        message(inspect(&url).await);
        execute(&mut connection, "DELETE FROM schema_compatibility").await;
        message(inspect(&url).await);
    }

    #[tokio::test]
    async fn a_changed_migration_is_refused() {
        let database = TestDatabase::create().await;
        let mut connection = connect(&database).await;
        execute(&mut connection, "UPDATE _sqlx_migrations SET checksum = '' WHERE version = 7")
            .await;

        // Each call takes the lock for migrations: a call that fails must release it.
        for _ in 0..2 {
            let message = message(migrate(&database.url()).await);
            assert!(message.contains("migration 7"), "{message}");
        }
    }

    #[tokio::test]
    async fn requests_continue_while_a_migration_waits_for_a_table() {
        let database = TestDatabase::create().await;
        let mut connection = connect(&database).await;
        execute(&mut connection, "DROP SCHEMA public CASCADE; CREATE SCHEMA public").await;
        // The next migration adds a column to the table `tokens`.
        let earlier = migrator(Dialect::Postgres);
        earlier.run_direct(Some(25), &mut connection, false).await.unwrap();
        let state = SchemaState::Older { version: 25, is_compatible: false };
        assert_eq!(inspect(&database.url()).await.unwrap(), state);
        // Holds the same lock as a backup with `pg_dump`.
        let mut backup = connect(&database).await;
        execute(&mut backup, "BEGIN; LOCK TABLE tokens IN ACCESS SHARE MODE").await;
        let url = database.url();
        let migration = tokio::spawn(async move { migrate(&url).await });

        for _ in 0..10 {
            let begin = Instant::now();
            execute(&mut connection, "SELECT 1 FROM tokens").await;
            assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
            sleep(Duration::from_millis(200)).await;
        }
        assert!(!migration.is_finished(), "the migration does not wait");
        execute(&mut backup, "COMMIT").await;

        migration.await.unwrap().unwrap();
        assert_eq!(inspect(&database.url()).await.unwrap(), SchemaState::Current);
    }
}
