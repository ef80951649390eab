//! Real database servers for tests of rotations, started by the test runner.
//!
//! The servers log every statement, and the test runner searches their logs and data for secret
//! values. Statements that contain a secret value must therefore be run with
//! [`Session::run_unlogged`].

mod session;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

pub use secrets_core::testing::targets::Dialect;
pub use session::{Rows, Session};

/// Database server, with the credentials of its administrator.
#[derive(Clone)]
pub struct Target {
    /// SQL dialect of the server.
    pub dialect: Dialect,
    /// Loopback address of the server. The server also listens on `127.0.0.2`, `127.0.0.3` and
    /// `127.0.0.4`.
    pub host: String,
    /// Port of the server, the same on all its addresses.
    pub port: u16,
    /// User name of the administrator.
    pub user: String,
    /// Password of the administrator.
    pub password: String,
    /// PEM certificate of the certificate authority that signed the server's certificate. The
    /// server's certificate is valid for `localhost` and for all addresses of the server except
    /// `127.0.0.4`.
    pub authority: String,
}

/// Database for one test, deleted when this value is dropped. It has the table `things (id, name)`
/// with one row, `(1, 'one')`.
pub struct TargetDatabase {
    /// Server on which the database is.
    pub target: Target,
    /// Name of the database.
    pub name: String,
}

impl Target {
    /// Returns the PostgreSQL server.
    ///
    /// # Panics
    ///
    /// Panics if the test runner has not started the server.
    #[must_use]
    pub fn postgres() -> Self {
        Self::new(Dialect::Postgres)
    }

    /// Returns all database servers; MySQL only if it is available.
    ///
    /// # Panics
    ///
    /// Panics if the test runner has not started PostgreSQL and MariaDB.
    #[must_use]
    pub fn all() -> Vec<Self> {
        Dialect::all().into_iter().map(Self::new).collect()
    }

    fn new(dialect: Dialect) -> Self {
        let target = dialect.target();
        Self {
            dialect,
            host: target.host,
            port: target.port,
            user: target.admin_username,
            password: target.admin_password.reveal().to_owned(),
            authority: target.ca_certificate.unwrap(),
        }
    }

    /// Creates a database for one test on this server.
    pub async fn database(&self) -> TargetDatabase {
        let random = u64::from_be_bytes(secrets_core::crypto::random());
        let name = format!("rotation_test_{random:016x}");
        self.run(&format!("CREATE DATABASE {name}")).await;
        let database = TargetDatabase { target: self.clone(), name };
        let mut session = database.admin().await;
        for statement in [
            "CREATE TABLE things (id integer PRIMARY KEY, name varchar(100) NOT NULL)",
            "INSERT INTO things VALUES (1, 'one')",
        ] {
            session.run(statement).await.unwrap();
        }
        database
    }

    /// Runs an SQL statement as the administrator, in the default database of the server. Returns
    /// the rows of the result.
    pub async fn run(&self, statement: &str) -> Rows {
        self.admin().await.run(statement).await.unwrap()
    }

    /// Opens a session of the administrator in the default database of the server.
    pub async fn admin(&self) -> Session {
        Session::open(self, None, &self.user, &self.password).await.unwrap()
    }

    /// Returns true if the server accepts this password for this user. Connects over TLS and
    /// verifies the server's certificate.
    ///
    /// # Panics
    ///
    /// Panics if the login fails for a reason other than a wrong password or a locked account.
    pub async fn logs_in(&self, user: &str, password: &str) -> bool {
        match Session::open(self, None, user, password).await {
            Ok(_) => true,
            Err(code) => {
                // Wrong password (PostgreSQL, MySQL and MariaDB); locked account (PostgreSQL,
                // MySQL, MariaDB).
                let refused = ["28P01", "1045", "28000", "3118", "4151"];
                assert!(refused.contains(&&*code), "{user} cannot log in: {code}");
                false
            }
        }
    }

    /// Ends all sessions of a database user.
    pub async fn end_sessions(&self, user: &str) {
        let mut admin = self.admin().await;
        let sessions = match self.dialect {
            Dialect::Postgres => format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{user}'"
            ),
            Dialect::MariaDb | Dialect::MySql => {
                format!("SELECT id FROM information_schema.processlist WHERE user = '{user}'")
            }
        };
        let sessions = admin.run(&sessions).await.unwrap();
        if self.dialect != Dialect::Postgres {
            for id in sessions.into_iter().flatten().flatten() {
                // The session may have ended by itself.
                admin.run(&format!("KILL {id}")).await.ok();
            }
        }
    }

    /// Returns the content of the server's log, which contains the statements of all tests.
    #[must_use]
    pub fn log(&self) -> String {
        let folder = variable("SECRETS_TEST_LOGS").unwrap();
        let bytes = fs::read(Path::new(&folder).join(log_name(self.dialect))).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl TargetDatabase {
    /// Opens a session of the administrator in this database.
    pub async fn admin(&self) -> Session {
        self.session(&self.target.user, &self.target.password).await.unwrap()
    }

    /// Opens a session of a user in this database, over TLS with a verified certificate. The error
    /// is the server's error code, or its error message if there is no code.
    pub async fn session(&self, user: &str, password: &str) -> Result<Session, String> {
        Session::open(&self.target, Some(&self.name), user, password).await
    }
}

impl Drop for TargetDatabase {
    /// Deletes the database. Uses a separate thread, because the threads of the test's tokio
    /// runtime must not block.
    fn drop(&mut self) {
        let (target, name) = (self.target.clone(), self.name.clone());
        let dropping = thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut admin = target.admin().await;
                if target.dialect == Dialect::Postgres {
                    admin.run(&format!("DROP DATABASE {name} WITH (FORCE)")).await.unwrap();
                } else {
                    // Limits the wait if another session locks a table.
                    admin.run("SET lock_wait_timeout = 5").await.unwrap();
                    admin.run(&format!("DROP DATABASE {name}")).await.unwrap();
                }
            });
        });
        // Ignore errors: the test may be failing already, and a remaining database does no harm.
        dropping.join().ok();
    }
}

/// Returns the name of the log file of the server with this dialect.
fn log_name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "target-postgres.log",
        Dialect::MariaDb => "target-mariadb.log",
        Dialect::MySql => "target-mysql.log",
    }
}

/// Returns the folder that contains the data folders of the database servers. The operating system
/// user that runs the servers can read the folder.
///
/// # Panics
///
/// Panics if the test runner has not started the servers.
#[must_use]
pub fn servers() -> PathBuf {
    let authority = variable("SECRETS_TEST_TARGET_CA");
    let authority =
        authority.unwrap_or_else(|| panic!("use ./tests/run, which starts the servers"));
    Path::new(&authority).parent().unwrap().to_owned()
}

#[expect(clippy::disallowed_methods, reason = "the only configuration of the tests")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canary;

    /// Creates a database user with this password, and returns the user name. The server does not
    /// log the SQL statement, because it contains the password.
    async fn user(target: &Target, password: &str) -> String {
        let name = format!("user_{:016x}", u64::from_be_bytes(secrets_core::crypto::random()));
        let statement = match target.dialect {
            Dialect::Postgres => format!("CREATE ROLE {name} LOGIN PASSWORD '{password}'"),
            _ => format!("CREATE USER {name}@'%' IDENTIFIED BY '{password}'"),
        };
        target.admin().await.run_unlogged(&statement).await.unwrap();
        name
    }

    #[tokio::test]
    async fn a_target_accepts_only_the_right_password() {
        for target in Target::all() {
            let user = user(&target, &canary("target")).await;

            assert!(target.logs_in(&user, &canary("target")).await);
            assert!(!target.logs_in(&user, &canary("other")).await);
            assert!(!target.logs_in("nobody_is_called_so", &canary("target")).await);
        }
    }

    #[tokio::test]
    async fn a_target_logs_statements_but_those_that_hold_a_password() {
        for target in Target::all() {
            let user = user(&target, &canary("target")).await;
            target.run(&format!("SELECT '{user} is here'")).await;

            assert!(target.log().contains(&format!("{user} is here")));
            assert!(!target.log().contains(&canary("target")));
        }
    }

    #[tokio::test]
    async fn a_database_has_a_row_that_its_administrator_reads() {
        for target in Target::all() {
            let database = target.database().await;

            let rows = database.admin().await.run("SELECT * FROM things").await.unwrap();

            assert_eq!(rows, [[Some("1".into()), Some("one".into())]]);
        }
    }

    #[tokio::test]
    async fn a_database_is_gone_when_it_is_dropped() {
        for target in Target::all() {
            let database = target.database().await;
            let name = database.name.clone();
            let _held = database.admin().await;

            drop(database);

            let question = "SELECT count(*) FROM information_schema.schemata WHERE schema_name";
            let question = match target.dialect {
                Dialect::Postgres => "SELECT count(*) FROM pg_database WHERE datname",
                _ => question,
            };
            let count = target.run(&format!("{question} = '{name}'")).await;
            assert_eq!(count, [[Some("0".into())]]);
        }
    }

    #[tokio::test]
    async fn a_session_ends_when_it_is_ended() {
        for target in Target::all() {
            let user = user(&target, &canary("target")).await;
            let mut session = Session::open(&target, None, &user, &canary("target")).await.unwrap();
            session.run("SELECT 1").await.unwrap();

            target.end_sessions(&user).await;

            session.run("SELECT 1").await.unwrap_err();
        }
    }

    #[tokio::test]
    async fn a_certificate_does_not_name_every_address() {
        for target in Target::all() {
            for (host, named) in [("localhost", true), ("127.0.0.3", true), ("127.0.0.4", false)] {
                let there = Target { host: host.to_owned(), ..target.clone() };
                let opened = Session::open(&there, None, &target.user, &target.password).await;
                assert_eq!(opened.is_ok(), named, "{host}");
            }
        }
    }
}
