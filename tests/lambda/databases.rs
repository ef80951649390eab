//! Databases whose users the Lambda function rotates, and access to them for checks.

use std::fs;

use async_trait::async_trait;
use secrets_core::crypto::{Plaintext, random};
use secrets_core::model::rotations::{DatabaseKind, SslMode};
use secrets_core::ports::rotator::{Login, Proxy, Target};
use secrets_core::rotators::lambda::{AwsInvoker, Invoker};
use secrets_core::testing::rotators::{Seen, Witness};
use secrets_tests::{LambdaEndpoint, SHARED_SECRET};
use serde_json::json;

const REGION: &str = "eu-central-1";

/// Witness that inspects a database with SQL statements. It sends them to the function `looks` of
/// the local Lambda server.
pub(crate) struct Looking {
    invoker: AwsInvoker,
    target: Target,
}

/// Kind of database server that the test runner starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Postgres,
    MariaDb,
    /// MySQL; optional, because it is not available on every machine.
    MySql,
}

impl Kind {
    /// Returns the available kinds of database servers.
    pub(crate) fn all() -> Vec<Self> {
        let mysql = variable(Self::MySql.variable()).map(|_| Self::MySql);
        [Self::Postgres, Self::MariaDb].into_iter().chain(mysql).collect()
    }

    fn variable(self) -> &'static str {
        match self {
            Self::Postgres => "SECRETS_TEST_TARGET_POSTGRES_URL",
            Self::MariaDb => "SECRETS_TEST_TARGET_MARIADB_URL",
            Self::MySql => "SECRETS_TEST_TARGET_MYSQL_URL",
        }
    }

    fn database_kind(self) -> DatabaseKind {
        match self {
            Self::Postgres => DatabaseKind::POSTGRESQL,
            Self::MariaDb | Self::MySql => DatabaseKind::MYSQL,
        }
    }
}

/// Creates a database for a test, with the tables that the conformance tests of rotators need. The
/// database is not deleted, because the test runner deletes the servers after the run.
pub(crate) async fn database(endpoint: &LambdaEndpoint, kind: Kind) -> Target {
    let server = server(kind);
    // The name has characters that are special in the patterns of grants.
    let name = format!("ro_t%_{:016x}", u64::from_be_bytes(random()));
    let quote = if kind == Kind::Postgres { '"' } else { '`' };
    witness(endpoint, &server)
        .run_as_admin(&[&format!("CREATE DATABASE {quote}{name}{quote}")])
        .await;
    let target = Target { database: name, ..server };
    let statements = [
        "CREATE TABLE things (id integer PRIMARY KEY, name varchar(100) NOT NULL)",
        "INSERT INTO things VALUES (1, 'one')",
    ];
    witness(endpoint, &target).run_as_admin(&statements).await;
    target
}

/// Creates a witness, with which the conformance tests of rotators inspect this database.
pub(crate) fn witness(endpoint: &LambdaEndpoint, target: &Target) -> Looking {
    Looking { invoker: AwsInvoker::at(endpoint.url.clone()), target: target.clone() }
}

impl Looking {
    async fn run_as_admin(&self, statements: &[&str]) {
        let (user, password) = (&self.target.admin_username, self.target.admin_password.reveal());
        assert_eq!(self.run_statements(user, password, statements).await, Seen::Done);
    }

    async fn run_statements(&self, user: &str, password: &str, statements: &[&str]) -> Seen {
        let Target { kind, host, port, database, ca_certificate, .. } = &self.target;
        let event = json!({
            "connection": {
                "integration": kind.name,
                "host": host,
                "port": port,
                "database": database,
                "ssl_mode": "verify-full",
                "ca_certificate": ca_certificate,
            },
            "username": user,
            "password": password,
            "statements": statements,
        });
        let function = proxy("looks", SHARED_SECRET).lambda_arn;
        let payload = event.to_string().into_bytes();
        let answer = self.invoker.invoke(&function, REGION, payload).await.unwrap();
        match answer.as_slice() {
            br#""shut out""# => Seen::ShutOut,
            br#""refused""# => Seen::Refused,
            br#""done""# => Seen::Done,
            _ => panic!("no result"),
        }
    }
}

#[async_trait]
impl Witness for Looking {
    async fn run(&self, login: &Login, statement: &str) -> Seen {
        self.run_statements(&login.username, login.password.reveal(), &[statement]).await
    }
}

/// Returns the database server of this kind that the test runner started, with the credentials of
/// its administrator and its default database.
pub(crate) fn server(kind: Kind) -> Target {
    let url = variable(kind.variable()).unwrap_or_else(|| {
        panic!("{} is not set: use ./tests/run, which starts the server", kind.variable())
    });
    // SCHEME://USER:PASSWORD@HOST:PORT/DATABASE, created by the test runner.
    let (_, rest) = url.split_once("://").unwrap();
    let (login, place) = rest.split_once('@').unwrap();
    let ((user, password), (address, database)) =
        (login.split_once(':').unwrap(), place.split_once('/').unwrap());
    let (host, port) = address.split_once(':').unwrap();
    Target {
        kind: kind.database_kind(),
        host: host.to_owned(),
        port: port.parse().unwrap(),
        database: database.to_owned(),
        admin_username: user.to_owned(),
        admin_password: Plaintext::new(password.to_owned()).unwrap(),
        ssl_mode: SslMode::VerifyFull,
        ca_certificate: variable("SECRETS_TEST_TARGET_CA")
            .map(|path| fs::read_to_string(path).unwrap()),
        proxy: Some(proxy("rotate", SHARED_SECRET)),
    }
}

/// Returns the settings of a rotation through the Lambda function with this name and this shared
/// secret.
pub(crate) fn proxy(function: &str, secret: &str) -> Proxy {
    let lambda_arn = format!("arn:aws:lambda:{REGION}:123456789012:function:{function}");
    let secret = Plaintext::new(secret.to_owned()).unwrap();
    Proxy::parse(lambda_arn, REGION.to_owned(), secret).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the only configuration of the tests")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
