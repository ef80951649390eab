//! Databases whose users the Lambda function rotates, and access to them for checks.

use async_trait::async_trait;
use secrets_core::crypto::{Plaintext, random};
use secrets_core::ports::rotator::{Login, Proxy, Target};
use secrets_core::rotators::lambda::{AwsInvoker, Invoker};
use secrets_core::testing::rotators::{Seen, Witness};
use secrets_core::testing::targets::Dialect;
use secrets_tests::{LambdaEndpoint, SHARED_SECRET};
use serde_json::json;

const REGION: &str = "eu-central-1";

/// Witness that inspects a database with SQL statements. It sends them to the function `looks` of
/// the local Lambda server.
pub(crate) struct Looking {
    invoker: AwsInvoker,
    target: Target,
}

/// Creates a database for a test, with the tables that the conformance tests of rotators need. The
/// database is not deleted, because the test runner deletes the servers after the run.
pub(crate) async fn database(endpoint: &LambdaEndpoint, dialect: Dialect) -> Target {
    let server = server(dialect);
    // The name has characters that are special in the patterns of grants.
    let name = format!("ro_t%_{:016x}", u64::from_be_bytes(random()));
    let quote = if dialect == Dialect::Postgres { '"' } else { '`' };
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

/// Returns the database server with this dialect, whose users the Lambda function `rotate` rotates.
pub(crate) fn server(dialect: Dialect) -> Target {
    Target { proxy: Some(proxy("rotate", SHARED_SECRET)), ..dialect.target() }
}

/// Returns the settings of a rotation through the Lambda function with this name and this shared
/// secret.
pub(crate) fn proxy(function: &str, secret: &str) -> Proxy {
    let lambda_arn = format!("arn:aws:lambda:{REGION}:123456789012:function:{function}");
    let secret = Plaintext::new(secret.to_owned()).unwrap();
    Proxy::parse(lambda_arn, REGION.to_owned(), secret).unwrap()
}
