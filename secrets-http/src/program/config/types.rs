//! Types of the validated settings of each command.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use hyper::Uri;
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

/// Root keys, which encrypt all other keys of a database.
#[derive(Debug)]
pub struct RootKeySettings {
    /// Current root key.
    pub current: Box<RootKeySource>,
    /// Previous root key; `None` if no root key is being replaced.
    pub previous: Option<Box<RootKeySource>>,
}

/// Source of a root key.
#[derive(Debug)]
pub enum RootKeySource {
    /// The root key itself.
    Value(Hidden<Zeroizing<[u8; 32]>>),
    /// Command that prints the root key in base64.
    Command {
        /// Environment variable of the setting, for messages.
        variable: String,
        /// Program and its arguments.
        words: Vec<String>,
    },
    /// Key of a transit secrets engine of Vault or OpenBao, which never leaves the server.
    Transit {
        /// Environment variable of the setting, for messages.
        variable: String,
        /// URL of the key.
        url: Uri,
        /// Token with which the service authenticates to the Vault or OpenBao server.
        token: Hidden<Zeroizing<String>>,
    },
    /// Key of AWS KMS, which never leaves KMS.
    AwsKms {
        /// Environment variable of the setting, for messages.
        variable: String,
        /// ID, ARN or alias of the key.
        key: String,
    },
}

/// Settings of `serve` and `check`.
#[derive(Debug)]
pub struct Settings {
    /// Settings for the behavior of the service.
    pub service: ServiceSettings,
    /// Database of the service.
    pub database: DatabaseSettings,
    /// Root keys of the database.
    pub root_keys: RootKeySettings,
    /// Issuer of the user tokens, with the means to verify them.
    pub issuer: TokenIssuer,
    /// Redis server with the rate limit counters that all nodes share. `None` if each node counts
    /// separately.
    pub redis: Option<Hidden<redis::Client>>,
    /// Settings of this service as a client of the identity provider, for browser sign-in. `None`
    /// if browsers cannot sign in.
    pub sign_in: Option<OidcClient>,
    /// Files with the certificate and private key with which the service serves `https`. `None` for
    /// plain `http`.
    pub tls: Option<TlsFiles>,
    /// Log settings.
    pub logs: Logs,
}

/// Location of a database, and options for opening it.
#[derive(Debug)]
pub struct DatabaseSettings {
    /// Location of the database, such as a file or a server.
    pub location: Location,
    /// Options for opening the database.
    pub options: StoreOptions,
    /// File with a copy of the database's epoch; `None` if no copy is kept.
    pub epoch_path: Option<PathBuf>,
}

impl DatabaseSettings {
    /// Creates the settings of a database at this location, with the default options.
    #[must_use]
    pub fn of(location: Location) -> Self {
        Self { location, options: StoreOptions::default(), epoch_path: None }
    }
}

/// Settings of `dev`.
#[derive(Debug)]
pub struct Dev {
    /// Settings for the behavior of the service. The listen address is a loopback address.
    pub service: ServiceSettings,
    /// Directory that contains the database and the keys.
    pub data_dir: PathBuf,
    /// Log settings.
    pub logs: Logs,
}

/// Settings of `dev token` and `dev link`.
#[derive(Debug, PartialEq, Eq)]
pub struct DevToken {
    /// Directory that contains the signing key.
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
    /// Database whose sizes are printed.
    pub database: DatabaseSettings,
    /// Plans of the service, with their limits.
    pub plans: Plans,
    /// True to print JSON.
    pub is_json: bool,
    /// Log settings.
    pub logs: Logs,
}

/// Settings of `doctor verify` and `keys`.
#[derive(Debug)]
pub struct DatabaseAndKeys {
    /// Database to verify or change.
    pub database: DatabaseSettings,
    /// Root keys of the database.
    pub root_keys: RootKeySettings,
    /// Log settings.
    pub logs: Logs,
}

/// Settings of `accept-restore`.
#[derive(Debug)]
pub struct AcceptRestore {
    /// Database that was restored.
    pub database: DatabaseSettings,
    /// Root keys of the database.
    pub root_keys: RootKeySettings,
    /// True if service tokens, sessions, invitations and device logins remain valid.
    pub keeps_credentials: bool,
    /// Log settings.
    pub logs: Logs,
}

/// Settings for the behavior of the service that do not depend on its database and identity
/// provider.
#[derive(Debug)]
pub struct ServiceSettings {
    /// Address on which the service listens.
    pub listen: SocketAddr,
    /// Address on which the metrics are served. `None` if they are not served.
    pub metrics_listen: Option<SocketAddr>,
    /// Rate limits.
    pub rates: Rates,
    /// Total memory for large request and response bodies, in bytes.
    pub memory_budget: u64,
    /// Maximum number of event streams that can be open in this process.
    pub watch_limit: usize,
    /// Networks of proxies whose `X-Forwarded-*` headers are trusted.
    pub trusted_proxies: Networks,
    /// Base URL of links to this service. If `None`, links use the scheme and host of the request.
    pub public_url: Option<BaseUrl>,
    /// Envelope setting: whether responses repeat their content in an additional field `data`.
    pub envelope: Envelope,
    /// Time between the signal to stop and the refusal of new connections.
    pub shutdown_delay: Duration,
    /// True if the dashboard is served.
    pub has_dashboard: bool,
    /// Mail server and sender. `None` if no mail is sent.
    pub mail: Option<MailSettings>,
    /// Options that are passed to `secrets-core`.
    pub options: Options,
}

/// Settings for sending mail.
#[derive(Debug)]
pub struct MailSettings {
    /// URL of the mail server, which may contain a password.
    pub url: Hidden<Zeroizing<String>>,
    /// Sender address of all mail.
    pub from: Mailbox,
    /// Base URL of the links in mail.
    pub links: BaseUrl,
}

/// Issuer of the user tokens.
#[derive(Debug)]
pub enum TokenIssuer {
    /// OpenID Connect provider that publishes its public keys.
    Provider(OidcSettings),
    /// Issuer whose tokens are verified with a shared HS256 secret.
    Shared(Expectations, VerificationKey),
}

/// Paths of the files with the certificate chain and its private key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// Path of the certificate chain (PEM).
    pub certificates: PathBuf,
    /// Path of the private key (PEM).
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
