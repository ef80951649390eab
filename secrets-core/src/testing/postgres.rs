//! Separate PostgreSQL databases for tests: one for each running test.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};

use crate::store::sql;

/// Name of the environment variable with the URL of a PostgreSQL server. Its user must be allowed
/// to create databases.
pub const SERVER: &str = "SECRETS_TEST_POSTGRES_URL";

/// Empty database with all tables, reserved (leased) for one test as long as this value exists.
///
/// Creating a database takes longer than most tests, so databases are reused: the next test that
/// leases a database deletes the rows of the last test. A database whose tables were changed is
/// created again.
///
/// The databases are copies of a template, which the first test creates for the current migrations.
/// Test runners start a process for each test, so a lease is a lock on the server.
#[derive(Debug)]
pub struct TestDatabase {
    server: PgConnectOptions,
    name: String,
    /// Session on the server that holds the advisory lock of the database.
    _lease: PgConnection,
}

/// Maximum number of test databases in use at the same time.
const DATABASES: i32 = 200;

/// SQLSTATE of an access to a missing table.
const UNDEFINED_TABLE: &str = "42P01";

/// SQL query that returns one digest of the definitions of all tables, triggers and functions, of
/// the list of migrations and of the oldest program version that may use the tables. A test that
/// changes one of them changes the digest.
const DEFINITIONS: &str = "
    SELECT md5(string_agg(definition, ',' ORDER BY definition)) FROM (
        SELECT concat_ws(' ', 'relation', oid) FROM pg_class
            WHERE relnamespace = 'public'::regnamespace
        UNION ALL SELECT concat_ws(' ', 'column', attrelid, attnum, attname, attnotnull)
            FROM pg_attribute WHERE attrelid >= 16384
        UNION ALL SELECT concat_ws(' ', 'trigger', oid, tgenabled) FROM pg_trigger
        UNION ALL SELECT concat_ws(' ', 'constraint', oid) FROM pg_constraint
        UNION ALL SELECT concat_ws(' ', 'function', oid) FROM pg_proc
            WHERE pronamespace = 'public'::regnamespace
        UNION ALL SELECT concat_ws(' ', 'migration', version, success, checksum) FROM _sqlx_migrations
        UNION ALL SELECT concat_ws(' ', 'compatibility', oldest_version) FROM schema_compatibility
    ) AS all_definitions (definition)";

/// SQL statements that delete the rows of all tables, except those that describe the tables. They
/// set the session's replication role to replica, so that triggers and foreign keys are not
/// enforced.
const EMPTY: &str = "
    SET session_replication_role = replica;
    DO $$
    DECLARE name regclass; filled boolean;
    BEGIN
        FOR name IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
            AND relname NOT IN ('_sqlx_migrations', 'schema_compatibility') AND pg_relation_size(oid) > 0
        LOOP
            IF pg_relation_size(name) > 1000000 THEN
                EXECUTE format('TRUNCATE %s CASCADE', name);
            ELSE
                EXECUTE format('DELETE FROM %s', name);
            END IF;
        END LOOP;
    END $$";

impl TestDatabase {
    /// Leases a test database.
    ///
    /// # Panics
    ///
    /// Panics if no server is available: a test that cannot run must not pass.
    pub async fn create() -> Self {
        let server = server();
        let mut lease = server.connect().await.unwrap();
        let template = template(&server, &mut lease).await;
        let number: i32 = sqlx::query_scalar(
            "SELECT number FROM generate_series(1, $1) AS number
             WHERE pg_try_advisory_lock(hashtext($2), number) LIMIT 1",
        )
        .bind(DATABASES)
        .bind(&template)
        .fetch_one(&mut lease)
        .await
        .unwrap();
        let name = format!("{template}_{number}");
        if !is_usable(&server, &mut lease, &template, &name).await {
            run(&mut lease, format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
            run(&mut lease, format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
        }
        Self { server, name, _lease: lease }
    }

    /// Returns the URL of the database.
    #[must_use]
    pub fn url(&self) -> String {
        url(&self.server, &self.name)
    }
}

/// Empties a test database, if it exists and still has the tables of the template. Ends the
/// sessions that the previous test left open. Returns false if the database cannot be used.
async fn is_usable(
    server: &PgConnectOptions,
    lease: &mut PgConnection,
    template: &str,
    name: &str,
) -> bool {
    if !exists(lease, name).await {
        return false;
    }
    sqlx::query("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1")
        .bind(name)
        .execute(&mut *lease)
        .await
        .unwrap();
    let expected: Option<String> = sqlx::query_scalar(
        "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = $1",
    )
    .bind(template)
    .fetch_one(lease)
    .await
    .unwrap();
    let mut connection = server.clone().database(name).connect().await.unwrap();
    let usable = definitions(&mut connection).await == expected;
    if usable {
        run(&mut connection, EMPTY.to_owned()).await;
    }
    connection.close().await.unwrap();
    usable
}

/// Returns the digest of the definitions in the database; `None` if one of the tables that describe
/// the schema is missing.
async fn definitions(connection: &mut PgConnection) -> Option<String> {
    match sqlx::query_scalar(DEFINITIONS).fetch_one(connection).await {
        Ok(digest) => Some(digest),
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some(UNDEFINED_TABLE) => {
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[expect(clippy::disallowed_methods, reason = "tests are configured by environment variables only")]
fn server() -> PgConnectOptions {
    let url = std::env::var(SERVER).unwrap_or_else(|_| {
        panic!("{SERVER} is not set to a PostgreSQL server; run the tests with ./tests/run, which starts one")
    });
    url.parse().unwrap()
}

async fn template(server: &PgConnectOptions, connection: &mut PgConnection) -> String {
    // The comment on a template is a digest by this query, so a changed query needs a new template.
    let mut hasher = DefaultHasher::new();
    (sql::fingerprint(), DEFINITIONS).hash(&mut hasher);
    let id = hasher.finish();
    let name = format!("secrets_template_{id:016x}");
    if exists(connection, &name).await {
        return name;
    }
    // Other tests wait here, and then find the finished template.
    let lock = id.cast_signed();
    run(connection, format!("SELECT pg_advisory_lock({lock})")).await;
    if !exists(connection, &name).await {
        // The template has another name until it is complete.
        let unfinished = format!("{name}_unfinished");
        run(connection, format!("DROP DATABASE IF EXISTS {unfinished} WITH (FORCE)")).await;
        run(connection, format!("CREATE DATABASE {unfinished}")).await;
        sql::postgres::migrate(&url(server, &unfinished)).await.unwrap();
        let mut inside = server.clone().database(&unfinished).connect().await.unwrap();
        let definitions = definitions(&mut inside).await.unwrap();
        inside.close().await.unwrap();
        run(connection, format!("COMMENT ON DATABASE {unfinished} IS '{definitions}'")).await;
        run(connection, format!("ALTER DATABASE {unfinished} RENAME TO {name}")).await;
    }
    run(connection, format!("SELECT pg_advisory_unlock({lock})")).await;
    name
}

async fn exists(connection: &mut PgConnection, database: &str) -> bool {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)")
        .bind(database)
        .fetch_one(connection)
        .await
        .unwrap()
}

async fn run(connection: &mut PgConnection, statement: String) {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(connection).await.unwrap();
}

fn url(server: &PgConnectOptions, database: &str) -> String {
    server.clone().database(database).to_url_lossy().into()
}
