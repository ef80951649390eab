//! A PostgreSQL database of one's own for each test.

use std::thread;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};

use crate::crypto::random;
use crate::store::sql;

/// The variable that names a server and a user who may make databases.
pub const SERVER: &str = "SECRETS_TEST_POSTGRES_URL";

/// A database with all tables and nothing in them, gone when this is dropped.
///
/// It is a copy of a template that is made once for each state of the migrations, by whichever
/// test comes first: test runners start a process for each test.
#[derive(Debug)]
pub struct TestDatabase {
    server: PgConnectOptions,
    name: String,
}

impl TestDatabase {
    /// Makes it.
    ///
    /// # Panics
    ///
    /// Without a server: a test that cannot run has not passed.
    pub async fn create() -> Self {
        let server = server();
        let mut connection = server.connect().await.unwrap();
        let template = template(&server, &mut connection).await;
        let name = format!("secrets_test_{:016x}", u64::from_be_bytes(random()));
        run(&mut connection, format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
        connection.close().await.unwrap();
        Self { server, name }
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        url(&self.server, &self.name)
    }
}

impl Drop for TestDatabase {
    /// Waits for the server, on a thread of its own as the runtime's may not.
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
        // A database that stays is no reason to fail a test that may be failing already.
        dropping.join().ok();
    }
}

#[expect(clippy::disallowed_methods, reason = "tests have no configuration but this")]
fn server() -> PgConnectOptions {
    let url = std::env::var(SERVER).unwrap_or_else(|_| {
        panic!("{SERVER} names no PostgreSQL server: use ./tests/run, which starts one")
    });
    url.parse().unwrap()
}

async fn template(server: &PgConnectOptions, connection: &mut PgConnection) -> String {
    let fingerprint = sql::fingerprint();
    let name = format!("secrets_template_{:016x}", u64::from_be_bytes(fingerprint));
    if exists(connection, &name).await {
        return name;
    }
    // Held by the session: others wait here, then find the template made.
    sqlx::query("SELECT pg_advisory_lock($1)")
        .bind(i64::from_be_bytes(fingerprint))
        .execute(&mut *connection)
        .await
        .unwrap();
    if !exists(connection, &name).await {
        // Under another name until it is whole.
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
