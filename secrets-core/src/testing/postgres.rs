//! Separate PostgreSQL database for each test.

use std::thread;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};

use crate::crypto::random;
use crate::store::sql;

/// Environment variable with the URL of a server and a user who may create databases.
pub const SERVER: &str = "SECRETS_TEST_POSTGRES_URL";

/// Empty database with all tables, dropped together with this value.
///
/// The database is a copy of a template, which the first test creates for the current migrations.
/// Test runners start one process per test, so the template is kept on the server.
#[derive(Debug)]
pub struct TestDatabase {
    server: PgConnectOptions,
    name: String,
}

impl TestDatabase {
    /// Creates the database.
    ///
    /// # Panics
    ///
    /// Panics without a server: a test that cannot run must not pass.
    pub async fn create() -> Self {
        let server = server();
        let mut connection = server.connect().await.unwrap();
        let template = template(&server, &mut connection).await;
        let name = format!("secrets_test_{:016x}", u64::from_be_bytes(random()));
        run(&mut connection, format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
        connection.close().await.unwrap();
        Self { server, name }
    }

    /// URL of the database.
    #[must_use]
    pub fn url(&self) -> String {
        url(&self.server, &self.name)
    }
}

impl Drop for TestDatabase {
    /// Drops the database and waits for the server, on a separate thread because the runtime's
    /// thread must not block.
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        let dropping = thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut connection = server.connect().await.unwrap();
                run(&mut connection, format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
            });
        });
        // A database that cannot be dropped is no reason to fail a test, which may be failing
        // already.
        dropping.join().ok();
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
    let fingerprint = sql::fingerprint();
    let name = format!("secrets_template_{:016x}", u64::from_be_bytes(fingerprint));
    if exists(connection, &name).await {
        return name;
    }
    // Session-level lock: other tests wait here, and then find the finished template.
    sqlx::query("SELECT pg_advisory_lock($1)")
        .bind(i64::from_be_bytes(fingerprint))
        .execute(&mut *connection)
        .await
        .unwrap();
    if !exists(connection, &name).await {
        // Use another name until the template is complete.
        let unfinished = format!("{name}_unfinished");
        run(connection, format!("DROP DATABASE IF EXISTS {unfinished} WITH (FORCE)")).await;
        run(connection, format!("CREATE DATABASE {unfinished}")).await;
        sql::postgres::migrate(&url(server, &unfinished)).await.unwrap();
        run(connection, format!("ALTER DATABASE {unfinished} RENAME TO {name}")).await;
    }
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
