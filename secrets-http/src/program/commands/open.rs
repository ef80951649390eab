//! Construction of the service, and of the ports (interfaces to the outside) that it needs, from
//! the settings. Each kind of failure has its own exit code.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

use secrets_core::Service;
use secrets_core::crypto::KeyringError;
use secrets_core::egress::{Dialer, EgressPolicy};
use secrets_core::engine::{Options, Ports, StartError};
use secrets_core::jwt::{FixedVerifier, KeySet};
use secrets_core::limits::SharedCounters;
use secrets_core::model::{Clock, error_chain};
use secrets_core::ports::epochs::EpochStore;
use secrets_core::ports::identity::{IdentityVerifier, Unverified};
use secrets_core::ports::mail::Mail;
use secrets_core::ports::rotators::Rotators;
use secrets_core::ports::webhooks::WebhookSender;
use secrets_core::rotators::drivers;
#[cfg(feature = "aws")]
use secrets_core::rotators::lambda::{AwsInvoker, LambdaRotator};
use secrets_core::runtime::{EpochFile, TokioTimer};
use secrets_core::store::{SchemaState, Store, StoreError};
use secrets_core::workers;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::root_key::{self, OpenedRootKeys};
use crate::adapters::fetch::Client;
use crate::adapters::identity::{CodeFlow, OidcClient, OidcVerifier};
use crate::adapters::mail::SmtpMailer;
use crate::adapters::redis::RedisCounters;
use crate::adapters::webhooks::HyperSender;
use crate::program::config::{
    DatabaseSettings, Exit, Failure, Hidden, MailSettings, RootKeySettings, TlsFiles, TokenIssuer,
    describe_unknown,
};
use crate::program::{debug, logs, traces};
use crate::serve::browser_sign_in::BrowserSignIn;
use crate::serve::tls;

/// Starts logging, and logs a warning for each unknown environment variable.
pub(super) fn log(
    settings: &crate::program::config::Logs,
    unknown: &[String],
) -> Result<(), Failure> {
    let filter = settings
        .filter
        .parse()
        .map_err(|_| Failure::new(Exit::Configuration, "SECRETS_LOG is not a valid log filter"))?;
    logs::start(filter, settings.format);
    if cfg!(not(feature = "otel")) && traces::is_configured() {
        tracing::warn!("traces are not exported: the program was built without the feature `otel`");
    }
    for variable in unknown {
        tracing::warn!("{}", describe_unknown(variable));
    }
    Ok(())
}

pub(super) async fn store(database: &DatabaseSettings) -> Result<Arc<dyn Store>, Failure> {
    secrets_core::store::open_with(&database.location, database.options)
        .await
        .map_err(|error| unusable(&error))
}

/// Returns the state of the database schema. Changes and creates nothing.
pub(super) async fn inspect(database: &DatabaseSettings) -> Result<SchemaState, Failure> {
    let state = secrets_core::store::inspect(&database.location).await;
    state.map_err(|error| unusable(&error))
}

/// Opens a database for this process alone. Fails unless a service of this version has used the
/// database. Creates and migrates nothing.
pub(super) async fn existing_store(database: &DatabaseSettings) -> Result<Arc<dyn Store>, Failure> {
    must_be_current(database).await?;
    used(store(database).await?).await
}

/// Opens a database for reading, while a service may be using it. Fails unless the database has the
/// schema of this version. Changes and creates nothing.
pub(super) async fn read_only_store(
    database: &DatabaseSettings,
) -> Result<Arc<dyn Store>, Failure> {
    must_be_current(database).await?;
    let store = secrets_core::store::open_read_only(&database.location).await;
    store.map_err(|error| unusable(&error))
}

/// Opens a database for reading, like [`read_only_store`]. Fails if no service has used the
/// database yet.
pub(super) async fn used_read_only_store(
    database: &DatabaseSettings,
) -> Result<Arc<dyn Store>, Failure> {
    used(read_only_store(database).await?).await
}

/// True if another process uses the database, so that `serve` would not start.
pub(super) fn is_in_use(database: &DatabaseSettings) -> Result<bool, Failure> {
    secrets_core::store::is_in_use(&database.location).map_err(|error| unusable(&error))
}

/// Opens a database while a service may be using it. Fails unless a service of this version uses or
/// has used the database. Creates and migrates nothing.
pub(super) async fn shared_store(database: &DatabaseSettings) -> Result<Arc<dyn Store>, Failure> {
    must_be_current(database).await?;
    let store = secrets_core::store::open_shared(&database.location).await;
    used(store.map_err(|error| unusable(&error))?).await
}

async fn must_be_current(database: &DatabaseSettings) -> Result<(), Failure> {
    let problem = match inspect(database).await? {
        SchemaState::Current | SchemaState::Later { .. } => return Ok(()),
        SchemaState::Missing => "the database does not exist",
        SchemaState::Empty => "the database is empty",
        SchemaState::Older { .. } => {
            "an earlier version created the database: migrate it first with `migrate`"
        }
    };
    Err(Failure::new(Exit::Database, problem))
}

/// Fails if the store has never been used by a service.
async fn used(store: Arc<dyn Store>) -> Result<Arc<dyn Store>, Failure> {
    if has_keys(&store).await? {
        return Ok(store);
    }
    Err(Failure::new(Exit::Database, "no service has used the database yet"))
}

/// True if a service has been started with this store before and has created its keys.
pub(super) async fn has_keys(store: &Arc<dyn Store>) -> Result<bool, Failure> {
    let instance = async { store.read().await?.instance().await };
    instance.await.map(|found| found.is_some()).map_err(|error| unusable(&error))
}

/// Creates the failure, with a one-line message, for an error of the store.
pub(super) fn unusable(error: &StoreError) -> Failure {
    // The cause is more specific than the kind of the error.
    let message = match std::error::Error::source(error) {
        Some(cause) => error_chain(cause),
        None => error.to_string(),
    };
    Failure::new(
        Exit::Database,
        format!("SECRETS_DATABASE_URL: the database cannot be used: {message}"),
    )
}

/// Returns the file with the copy of the database's epoch; `None` if no file is configured.
pub(super) fn epochs(database: &DatabaseSettings) -> Option<Arc<dyn EpochStore>> {
    let path = database.epoch_path.clone()?;
    Some(Arc::new(EpochFile::new(path)))
}

/// Creates the ports (interfaces to the outside) of a service with this store and these root keys.
/// Optional ports, such as the mailer, are absent.
pub(super) fn ports(store: Arc<dyn Store>, keys: OpenedRootKeys) -> Ports {
    Ports { previous_root: keys.previous, ..Ports::new(store, keys.current) }
}

/// Verifier of user tokens, by the kind of token issuer.
pub(super) enum Verifier {
    /// Verifier that uses the public keys published by an identity provider.
    Provider(Arc<OidcVerifier>),
    /// Verifier that uses a secret shared with the issuer.
    Shared(Arc<FixedVerifier>),
}

impl Verifier {
    /// Returns the verifier as the port (trait object) that `secrets-core` uses.
    pub(super) fn port(&self) -> Arc<dyn IdentityVerifier> {
        match self {
            Self::Provider(verifier) => Arc::clone(verifier) as Arc<dyn IdentityVerifier>,
            Self::Shared(verifier) => Arc::clone(verifier) as Arc<dyn IdentityVerifier>,
        }
    }

    /// Creates the browser sign-in, which is off unless this service is a client of the identity
    /// provider.
    pub(super) fn browser_sign_in(&self, client: Option<OidcClient>) -> BrowserSignIn {
        match (self, client) {
            (Self::Provider(verifier), Some(client)) => {
                BrowserSignIn::Provider(Box::new(CodeFlow::new(Arc::clone(verifier), client)))
            }
            _ => BrowserSignIn::Off,
        }
    }

    /// Fetches the public keys of the identity provider, if tokens are verified with them. Fails
    /// with the reason if the keys cannot be fetched.
    pub(super) async fn warm(&self) -> Result<(), String> {
        let Self::Provider(verifier) = self else { return Ok(()) };
        match verifier.warm().await {
            Ok(_) => Ok(()),
            Err(Unverified::Unavailable(cause)) => Err(cause.to_string()),
            Err(Unverified::Invalid | Unverified::Expired) => Err("no usable keys".to_owned()),
        }
    }
}

pub(super) fn identity(issuer: TokenIssuer, clock: Arc<dyn Clock>) -> Result<Verifier, Failure> {
    Ok(match issuer {
        TokenIssuer::Shared(expectations, key) => {
            Verifier::Shared(Arc::new(FixedVerifier::new(KeySet::single(key), expectations, clock)))
        }
        TokenIssuer::Provider(settings) => {
            let client = Client::new().map_err(|error| {
                Failure::new(
                    Exit::Configuration,
                    format!("cannot set up TLS for the identity provider: {error}"),
                )
            })?;
            Verifier::Provider(Arc::new(OidcVerifier::new(settings, clock, client)))
        }
    })
}

/// Creates the mailer, or returns `None` if no mail server is configured.
pub(super) fn mail(settings: Option<&MailSettings>) -> Result<Option<Mail>, Failure> {
    let Some(MailSettings { url, from, links }) = settings else { return Ok(None) };
    let mailer = SmtpMailer::new(url.reveal(), from.clone());
    let mailer = mailer.map_err(|_| {
        Failure::new(Exit::Configuration, "SECRETS_SMTP_URL is not the URL of a mail server")
    })?;
    Ok(Some(Mail { mailer: Arc::new(mailer), links: links.clone() }))
}

/// Creates the drivers with which rotations change databases.
pub(super) fn rotators(options: &Options, clock: &Arc<dyn Clock>) -> Rotators {
    debug::arm();
    let gate = Arc::new(Dialer::new(options.egress.clone()));
    let mut rotators = drivers::direct(&gate, Arc::new(TokioTimer));
    rotators.timings = debug::timings();
    #[cfg(feature = "aws")]
    {
        let proxied = LambdaRotator::new(Arc::new(AwsInvoker::new()), Arc::clone(clock));
        rotators.proxied = Some(Arc::new(proxied));
    }
    #[cfg(not(feature = "aws"))]
    let _ = clock;
    rotators
}

/// Creates the webhook sender, which connects only to destinations permitted by the policy.
pub(super) fn webhooks(policy: &EgressPolicy) -> Result<Arc<dyn WebhookSender>, Failure> {
    let sender = HyperSender::new(Dialer::new(policy.clone())).map_err(|error| {
        Failure::new(Exit::Configuration, format!("cannot set up TLS for webhooks: {error}"))
    })?;
    Ok(Arc::new(sender))
}

/// Connects to the rate limit counters in Redis that all nodes share. Returns `None` if no Redis is
/// configured or only one node can use the database.
pub(super) async fn counters(
    redis: Option<Hidden<redis::Client>>,
    is_only_node: bool,
) -> Option<Arc<dyn SharedCounters>> {
    let client = redis?.into_inner();
    if is_only_node {
        tracing::warn!("SECRETS_REDIS_URL has no effect: only one node can use the database");
        return None;
    }
    Some(Arc::new(RedisCounters::connect(client).await))
}

pub(super) async fn service(ports: Ports, options: Options) -> Result<Arc<Service>, Failure> {
    let opened = Service::open(ports, options).await;
    opened.map(Arc::new).map_err(|error| refused(&error))
}

/// Creates the failure, with a one-line message, for an error with which the service cannot start,
/// such as keys that do not match the stored data.
pub(super) fn refused(error: &StartError) -> Failure {
    let exit = match error {
        StartError::Keys(KeyringError::Unavailable(_)) => Exit::RootKeyUnavailable,
        StartError::Keys(KeyringError::Tampered) | StartError::Unreadable { .. } => Exit::Tampered,
        StartError::Keys(KeyringError::RootKey { .. }) => Exit::RootKey,
        StartError::OrphanData => Exit::OrphanData,
        StartError::Epochs(_) => Exit::Configuration,
        StartError::RolledBack { .. } | StartError::OtherInstance { .. } => {
            let message =
                format!("SECRETS_EPOCH_PATH: {error}; after a restore, run `accept-restore`");
            return Failure::new(Exit::RolledBack, message);
        }
        StartError::Store(error) => return unusable(error),
    };
    Failure::new(exit, error.to_string())
}

/// Opens the service for a command that changes an existing database, which no other process uses.
/// Returns the service and its store, which the command closes.
pub(super) async fn existing_service(
    database: &DatabaseSettings,
    root_keys: RootKeySettings,
    clock: Arc<dyn Clock>,
) -> Result<(Arc<Service>, Arc<dyn Store>), Failure> {
    let root_keys = root_key::open(root_keys).await?;
    let store = existing_store(database).await?;
    let ports = Ports { clock, ..ports(Arc::clone(&store), root_keys) };
    Ok((service(ports, Options::default()).await?, store))
}

/// Opens the service with a store that only this process uses. Takes over deliveries and rotations
/// that an earlier process had claimed, without waiting until the claims expire.
pub(super) async fn only_service(ports: Ports, options: Options) -> Result<Arc<Service>, Failure> {
    let service = service(ports, options).await?;
    let taken_over = workers::take_over(service.engine()).await;
    taken_over.map_err(|error| unusable(&error))?;
    Ok(service)
}

pub(super) async fn listener(address: SocketAddr) -> Result<TcpListener, Failure> {
    listener_of(address, "--listen or SECRETS_LISTEN").await
}

/// Binds the listener of the metrics, if an address is configured.
pub(super) async fn metrics_listener(
    address: Option<SocketAddr>,
) -> Result<Option<TcpListener>, Failure> {
    let Some(address) = address else { return Ok(None) };
    listener_of(address, "--metrics-listen or SECRETS_METRICS_LISTEN").await.map(Some)
}

async fn listener_of(address: SocketAddr, settings: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        let reason = match error.kind() {
            ErrorKind::AddrInUse => "the address is in use".to_owned(),
            ErrorKind::AddrNotAvailable => "this machine does not have the address".to_owned(),
            _ => error.to_string(),
        };
        let hint = format!("choose another address with {settings}");
        Failure::new(Exit::Address, format!("cannot listen on {address}: {reason}; {hint}"))
    })
}

pub(super) fn tls(files: Option<&TlsFiles>) -> Result<Option<TlsAcceptor>, Failure> {
    let acceptor = files.map(|files| tls::acceptor(&files.certificates, &files.key)).transpose();
    acceptor.map_err(|error| Failure::new(Exit::Configuration, error.to_string()))
}
