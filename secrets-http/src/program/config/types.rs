//! Types of the validated settings of each command.

use std::net::SocketAddr;
use std::path::PathBuf;

use lettre::message::Mailbox;
use secrets_core::engine::Options;
use secrets_core::jwt::{Expectations, VerificationKey};
use secrets_core::model::{BaseUrl, Plans};
use secrets_core::store::{Location, StoreOptions};
use zeroize::Zeroizing;

use super::hidden::Hidden;
use crate::adapters::identity::{OidcClient, OidcSettings};
use crate::program::logs::LogFormat;
use crate::serve::client_address::Networks;
use crate::serve::gate::Rates;
use crate::serve::reply::Envelope;

/// Root keys of a database.
#[derive(Debug)]
pub struct RootKeySettings {
    /// Current root key.
    pub current: Hidden<Zeroizing<[u8; 32]>>,
    /// Previous root key, which the current root key replaces.
    pub previous: Option<Hidden<Zeroizing<[u8; 32]>>>,
}

/// Settings of `serve` and `check`.
#[derive(Debug)]
pub struct Settings {
    /// Behaviour of the service.
    pub service: ServiceSettings,
    /// Database.
    pub database: DatabaseSettings,
    /// Root keys.
    pub root_keys: RootKeySettings,
    /// Issuer of the user tokens.
    pub issuer: TokenIssuer,
    /// Redis server in which the nodes count requests. `None` if each node counts by itself.
    pub redis: Option<Hidden<redis::Client>>,
    /// Client of the identity provider, for the sign-in of browsers.
    pub sign_in: Option<OidcClient>,
    /// Certificate and key to serve `https`.
    pub tls: Option<TlsFiles>,
    /// Log settings.
    pub logs: Logs,
}

/// Database, and its options.
#[derive(Debug)]
pub struct DatabaseSettings {
    /// Location.
    pub location: Location,
    /// Options.
    pub options: StoreOptions,
}

impl DatabaseSettings {
    /// Creates the settings of a location, with the default options.
    #[must_use]
    pub fn of(location: Location) -> Self {
        Self { location, options: StoreOptions::default() }
    }
}

/// Settings of `dev`.
#[derive(Debug)]
pub struct Dev {
    /// Behaviour of the service. The listen address is a loopback address.
    pub service: ServiceSettings,
    /// Directory for the database and the keys.
    pub data_dir: PathBuf,
    /// Log settings.
    pub logs: Logs,
}

/// Settings of `dev token` and `dev link`.
#[derive(Debug, PartialEq, Eq)]
pub struct DevToken {
    /// Directory with the signing key.
    pub data_dir: PathBuf,
    /// E-mail address of the user.
    pub email: String,
}

/// Settings of `migrate`.
#[derive(Debug)]
pub struct Migrate {
    /// Database to migrate.
    pub database: DatabaseSettings,
    /// Log settings.
    pub logs: Logs,
}

/// Settings of `backup`.
#[derive(Debug)]
pub struct Backup {
    /// Database to copy.
    pub database: DatabaseSettings,
    /// File to create.
    pub file: PathBuf,
    /// Log settings.
    pub logs: Logs,
}

/// Settings of `restore`.
#[derive(Debug)]
pub struct Restore {
    /// Database to replace.
    pub database: DatabaseSettings,
    /// Root keys of the backup.
    pub root_keys: RootKeySettings,
    /// Backup to restore.
    pub file: PathBuf,
    /// Log settings.
    pub logs: Logs,
}

/// Settings of `team owner`.
#[derive(Debug)]
pub struct TeamOwner {
    /// Database to change.
    pub database: DatabaseSettings,
    /// ID of the team.
    pub team: String,
    /// User ID or e-mail address of the new owner.
    pub member: String,
    /// Log settings.
    pub logs: Logs,
}

/// Settings of `doctor sizes`.
#[derive(Debug)]
pub struct SizeReport {
    /// Database.
    pub database: DatabaseSettings,
    /// Plans of the service.
    pub plans: Plans,
    /// True to print JSON.
    pub is_json: bool,
    /// Log settings.
    pub logs: Logs,
}

/// Settings of `doctor verify` and `keys`.
#[derive(Debug)]
pub struct DatabaseAndKeys {
    /// Database.
    pub database: DatabaseSettings,
    /// Root keys of the database.
    pub root_keys: RootKeySettings,
    /// Log settings.
    pub logs: Logs,
}

/// Behaviour of the service, independent of its database and identity provider.
#[derive(Debug)]
pub struct ServiceSettings {
    /// Listen address.
    pub listen: SocketAddr,
    /// Listen address of the metrics. `None` if metrics are not served.
    pub metrics_listen: Option<SocketAddr>,
    /// Rate limits.
    pub rates: Rates,
    /// Memory for large bodies, in bytes.
    pub memory_budget: u64,
    /// Maximum number of open event streams of the process.
    pub watch_limit: usize,
    /// Networks of proxies whose `X-Forwarded-*` headers are trusted.
    pub trusted_proxies: Networks,
    /// Base URL of links. If `None`, links use the scheme and host of the request.
    pub public_url: Option<BaseUrl>,
    /// Field names that wrap the output in responses.
    pub envelope: Envelope,
    /// True if the dashboard is served.
    pub has_dashboard: bool,
    /// Mail server. `None` if no mail is sent.
    pub mail: Option<MailSettings>,
    /// Options of `secrets-core`.
    pub options: Options,
}

/// Settings for sending mail.
#[derive(Debug)]
pub struct MailSettings {
    /// URL of the server, which may contain a password.
    pub url: Hidden<Zeroizing<String>>,
    /// Sender address.
    pub from: Mailbox,
    /// Base URL of links in mail.
    pub links: BaseUrl,
}

/// Issuer of the user tokens.
#[derive(Debug)]
pub enum TokenIssuer {
    /// Provider that publishes its keys (OpenID Connect).
    Provider(OidcSettings),
    /// Issuer with a shared HS256 secret.
    Shared(Expectations, VerificationKey),
}

/// Paths of the certificate chain and its private key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificate chain (PEM).
    pub certificates: PathBuf,
    /// Private key (PEM).
    pub key: PathBuf,
}

/// Log settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logs {
    /// Log filter, in the syntax of `tracing_subscriber::EnvFilter`.
    pub filter: String,
    /// Log format.
    pub format: LogFormat,
}
