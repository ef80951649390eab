//! The command `rotation create`, and the options that describe the database connection.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use reqwest::Method;
use secrets_core::model::rotations::{
    ConnectionMethod, DatabaseKind, Integration, PermissionLevel, SslMode,
};
use serde::Serialize;
use serde_json::Value;
use zeroize::Zeroizing;

use super::print_test;
use crate::arguments::named;
use crate::failure::{Exit, Failure, Outcome};
use crate::input::read_secret;
use crate::invocation::{Invocation, Place};
use crate::resource::Resource;

/// Options of the command `secrets rotation create`.
#[derive(Debug, Args)]
pub(super) struct Create {
    /// Name of the rotation.
    name: String,
    /// Kind of database.
    #[arg(long = "type", value_parser = database_kinds())]
    integration_type: Integration,
    /// Days between two rotations.
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    interval_days: u32,
    /// Privileges of the database users that the rotation creates.
    #[arg(long, value_parser = named(PermissionLevel::ALL))]
    permission_level: Option<PermissionLevel>,
    /// Rotate the credentials immediately after the rotation is created.
    #[arg(long)]
    rotate_immediately: bool,
    /// Only test the connection: exit code 1 if the test fails.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    connection: ConnectionOptions,
    #[command(flatten)]
    proxy: ProxyOptions,
    #[command(flatten)]
    mapping: Mapping,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Connection")]
struct ConnectionOptions {
    /// Host name or address of the database.
    #[arg(long)]
    host: String,
    /// Port of the database [default: the usual port of this kind of database].
    #[arg(long)]
    port: Option<u16>,
    /// Name of the database.
    #[arg(long)]
    database: String,
    /// Administrator, who creates and changes the database users of the rotation.
    #[arg(long, value_name = "USER")]
    admin_username: String,
    /// File with the password of the administrator; `-` is standard input [default: ask].
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// TLS mode of the connection to the database.
    #[arg(long, value_parser = named(SslMode::ALL))]
    ssl_mode: Option<SslMode>,
    /// PEM file with the certificate authority of the database.
    #[arg(long, value_name = "FILE")]
    ca_certificate: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Connection through an AWS Lambda function")]
struct ProxyOptions {
    /// ARN of a proxy function on AWS Lambda [default: the service connects directly].
    #[arg(long, value_name = "ARN", requires_all = ["region", "shared_secret_file"])]
    lambda_arn: Option<String>,
    /// AWS region of the proxy function.
    #[arg(long, requires = "lambda_arn")]
    region: Option<String>,
    /// File with the secret that the proxy function shares with the service.
    #[arg(long, value_name = "FILE", requires = "lambda_arn")]
    shared_secret_file: Option<PathBuf>,
}

/// Keys of the secrets that the rotation writes.
#[derive(Debug, Args, Serialize)]
#[command(next_help_heading = "Keys of the secrets")]
struct Mapping {
    /// Key of the secret in which the connection URL is stored.
    #[arg(long = "url-key", value_name = "KEY")]
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Key of the secret in which the user name is stored.
    #[arg(long = "username-key", value_name = "KEY")]
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<String>,
    /// Key of the secret in which the password is stored.
    #[arg(long = "password-key", value_name = "KEY")]
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<String>,
    /// Key of the secret in which the host name is stored.
    #[arg(long = "host-key", value_name = "KEY")]
    #[serde(rename = "host", skip_serializing_if = "Option::is_none")]
    host_key: Option<String>,
    /// Key of the secret in which the port is stored.
    #[arg(long = "port-key", value_name = "KEY")]
    #[serde(rename = "port", skip_serializing_if = "Option::is_none")]
    port_key: Option<String>,
    /// Key of the secret in which the name of the database is stored.
    #[arg(long = "database-key", value_name = "KEY")]
    #[serde(rename = "database", skip_serializing_if = "Option::is_none")]
    database_key: Option<String>,
}

/// JSON body of the request that tests a database connection.
#[derive(Serialize)]
struct Candidate {
    integration_type: Integration,
    connection_method: ConnectionMethod,
    connection: Connection,
    #[serde(skip_serializing_if = "Option::is_none")]
    proxy: Option<Proxy>,
}

/// JSON body of the request that creates a rotation.
#[derive(Serialize)]
struct NewRotation {
    name: String,
    #[serde(flatten)]
    candidate: Candidate,
    rotation_interval_days: u32,
    permission_level: Option<PermissionLevel>,
    rotate_immediately: bool,
    secret_mapping: Option<Mapping>,
}

#[derive(Serialize)]
struct Connection {
    host: String,
    port: Option<u16>,
    database: String,
    admin_username: String,
    admin_password: Zeroizing<String>,
    ssl_mode: Option<SslMode>,
    ca_certificate: Option<String>,
}

#[derive(Serialize)]
struct Proxy {
    lambda_arn: String,
    region: String,
    shared_secret: Zeroizing<String>,
}

/// Returns the parser of the option `--type`, whose possible values are the built-in kinds.
fn database_kinds() -> impl TypedValueParser<Value = Integration> {
    PossibleValuesParser::new(DatabaseKind::BUILT_IN.map(|kind| kind.name))
        .try_map(Integration::try_from)
}

impl Create {
    /// Creates the rotation, or only tests its connection.
    pub(super) async fn run(
        self,
        cx: &Invocation,
        resource: &Resource<'_>,
        place: &Place,
    ) -> Result<Outcome, Failure> {
        let proxy = self.proxy.read()?;
        let method = match proxy {
            Some(_) => ConnectionMethod::Proxied,
            None => ConnectionMethod::Direct,
        };
        let candidate = Candidate {
            integration_type: self.integration_type,
            connection_method: method,
            connection: self.connection.read(cx)?,
            proxy,
        };
        if self.dry_run {
            let path = place.path(&["rotations", "test"]);
            let result: Value = resource.service.call(Method::POST, &path, &candidate).await?;
            return print_test(cx, &result);
        }
        let rotation = NewRotation {
            name: self.name,
            candidate,
            rotation_interval_days: self.interval_days,
            permission_level: self.permission_level,
            rotate_immediately: self.rotate_immediately,
            secret_mapping: self.mapping.given(),
        };
        resource.create(&place.path(&["rotations"]), &rotation).await
    }
}

impl ConnectionOptions {
    fn read(self, cx: &Invocation) -> Result<Connection, Failure> {
        let admin_password = match &self.password_file {
            Some(path) => read_secret(path)?,
            None if cx.output.is_interactive => {
                cx.output.ask_hidden(&format!("Password of {}", self.admin_username))?
            }
            None => return Err(Failure::usage("--password-file is needed without a terminal")),
        };
        Ok(Connection {
            host: self.host,
            port: self.port,
            database: self.database,
            admin_username: self.admin_username,
            admin_password,
            ssl_mode: self.ssl_mode,
            ca_certificate: self.ca_certificate.as_deref().map(certificate).transpose()?,
        })
    }
}

impl ProxyOptions {
    fn read(self) -> Result<Option<Proxy>, Failure> {
        let (Some(lambda_arn), Some(region), Some(file)) =
            (self.lambda_arn, self.region, self.shared_secret_file)
        else {
            return Ok(None);
        };
        Ok(Some(Proxy { lambda_arn, region, shared_secret: read_secret(&file)? }))
    }
}

impl Mapping {
    /// Returns the mapping if at least one secret key is given; otherwise `None`, so that the
    /// service uses the default keys.
    fn given(self) -> Option<Self> {
        let keys = [&self.url, &self.username, &self.password];
        let others = [&self.host_key, &self.port_key, &self.database_key];
        let is_given = keys.into_iter().chain(others).any(Option::is_some);
        is_given.then_some(self)
    }
}

fn certificate(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::new(Exit::NoInput, format!("{}: {error}", path.display())))
}
