//! Connections of tests to database servers.

use std::sync::Arc;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, DriverError, OptsBuilder, SslOpts, Value};
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::{Dialect, Target};

/// Rows that an SQL statement returns, with each value as a string; `None` is NULL.
pub type Rows = Vec<Vec<Option<String>>>;

/// Connection of a user to a database server, over TLS with a verified certificate.
pub enum Session {
    /// Connection to PostgreSQL.
    Postgres(tokio_postgres::Client),
    /// Connection to MariaDB or MySQL.
    MySql(Conn),
}

impl Session {
    /// Connects to a database, or to the default database if `database` is `None`. The error is the
    /// server's error code (such as `28P01` or `1045`), or its error message if there is no code.
    pub async fn open(
        target: &Target,
        database: Option<&str>,
        user: &str,
        password: &str,
    ) -> Result<Self, String> {
        match target.dialect {
            Dialect::Postgres => {
                let mut config = tokio_postgres::Config::new();
                config.host(&target.host).port(target.port).user(user).password(password);
                config.dbname(database.unwrap_or("postgres")).ssl_mode(SslMode::Require);
                let (client, connection) =
                    config.connect(tls(target)).await.map_err(|error| postgres(&error))?;
                tokio::spawn(connection);
                Ok(Self::Postgres(client))
            }
            Dialect::MariaDb | Dialect::MySql => {
                let authority = target.authority.clone().into_bytes();
                let tls = SslOpts::default()
                    .with_root_certs(vec![authority.into()])
                    .with_disable_built_in_roots(true);
                let options = OptsBuilder::default()
                    .ip_or_hostname(target.host.clone())
                    .tcp_port(target.port)
                    .user(Some(user))
                    .pass(Some(password))
                    .db_name(database)
                    .ssl_opts(tls);
                Ok(Self::MySql(Conn::new(options).await.map_err(mysql)?))
            }
        }
    }

    /// Runs an SQL statement and returns its rows. The error is the server's error code, or its
    /// error message if there is no code.
    pub async fn run(&mut self, statement: &str) -> Result<Rows, String> {
        match self {
            Self::Postgres(client) => {
                let messages =
                    client.simple_query(statement).await.map_err(|error| postgres(&error))?;
                Ok(messages.iter().filter_map(row).collect())
            }
            Self::MySql(connection) => {
                let rows: Vec<mysql_async::Row> =
                    connection.query(statement).await.map_err(mysql)?;
                Ok(rows
                    .into_iter()
                    .map(|row| row.unwrap().into_iter().map(text).collect())
                    .collect())
            }
        }
    }

    /// Runs an SQL statement that contains a password, after turning off the server's log for this
    /// session. Works only in a session of an administrator.
    pub async fn run_unlogged(&mut self, statement: &str) -> Result<Rows, String> {
        let quiet = match self {
            Self::Postgres(_) => "SET log_statement = none",
            Self::MySql(_) => "SET sql_log_off = 1",
        };
        self.run(quiet).await?;
        self.run(statement).await
    }
}

fn tls(target: &Target) -> MakeRustlsConnect {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(target.authority.as_bytes()).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    MakeRustlsConnect::new(config)
}

fn row(message: &SimpleQueryMessage) -> Option<Vec<Option<String>>> {
    let SimpleQueryMessage::Row(row) = message else { return None };
    Some((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect())
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(String::from_utf8(bytes).unwrap()),
        other => Some(other.as_sql(true)),
    }
}

fn postgres(error: &tokio_postgres::Error) -> String {
    error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned())
}

fn mysql(error: mysql_async::Error) -> String {
    match error {
        mysql_async::Error::Server(error) => error.code.to_string(),
        // MySQL requests any authentication method from an unknown user, to hide which users exist.
        mysql_async::Error::Driver(DriverError::UnknownAuthPlugin { .. }) => "1045".to_owned(),
        error => error.to_string(),
    }
}
