//! Database servers that the test runner starts as targets of rotations.

use url::Url;

use crate::crypto::Plaintext;
use crate::model::rotations::{DatabaseKind, SslMode};
use crate::ports::rotator::Target;

/// SQL dialect of a database server. The test runner starts one server for each dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    MariaDb,
    /// MySQL; optional, because it is not available on every machine.
    MySql,
}

impl Dialect {
    /// Returns the dialects of all servers; MySQL only if it is available.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mysql = variable(Self::MySql.variable()).map(|_| Self::MySql);
        [Self::Postgres, Self::MariaDb].into_iter().chain(mysql).collect()
    }

    /// Returns the server with this dialect: its default database, with the credentials of the
    /// administrator.
    ///
    /// # Panics
    ///
    /// Panics if the test runner has not started the server.
    #[must_use]
    pub fn target(self) -> Target {
        let url = variable(self.variable()).unwrap_or_else(|| {
            panic!("{} is not set: use ./tests/run, which starts the server", self.variable())
        });
        let url = Url::parse(&url).unwrap();
        let authority = variable("SECRETS_TEST_TARGET_CA").unwrap();
        Target {
            kind: self.kind(),
            host: url.host_str().unwrap().to_owned(),
            port: url.port().unwrap(),
            database: url.path().trim_start_matches('/').to_owned(),
            admin_username: url.username().to_owned(),
            admin_password: Plaintext::new(url.password().unwrap().to_owned()).unwrap(),
            ssl_mode: SslMode::VerifyFull,
            ca_certificate: Some(std::fs::read_to_string(authority).unwrap()),
            proxy: None,
        }
    }

    fn kind(self) -> DatabaseKind {
        match self {
            Self::Postgres => DatabaseKind::POSTGRESQL,
            Self::MariaDb | Self::MySql => DatabaseKind::MYSQL,
        }
    }

    fn variable(self) -> &'static str {
        match self {
            Self::Postgres => "SECRETS_TEST_TARGET_POSTGRES_URL",
            Self::MariaDb => "SECRETS_TEST_TARGET_MARIADB_URL",
            Self::MySql => "SECRETS_TEST_TARGET_MYSQL_URL",
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "tests are configured by environment variables only")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
