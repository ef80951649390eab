//! The configuration, once it is known to make sense.

use std::fmt;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use hyper::Uri;
use lettre::message::Mailbox;
use secrets_core::egress::EgressPolicy;
use secrets_core::jwt::{Expectations, Key};
use secrets_core::model::{BaseUrl, Plans};
use secrets_core::scanner::{RuleFile, Rules};
use secrets_core::engine::Options;
use zeroize::Zeroizing;

use super::{Command, known};
use super::arguments::{Given, Name};
use super::failure::{Exit, Failure};
use super::layers::{Found, Layers};
use super::values::{Rule, self};
use crate::client_address::Networks;
use crate::gate::Rates;
use crate::identity::{OidcSettings, Timings};
use crate::logs::LogFormat;
use crate::reply::Envelope;

/// What `serve` and `check` need.
#[derive(Debug)]
pub struct Settings {
    /// How the service behaves.
    pub service: ServiceSettings,
    /// Where records are kept.
    pub database: Database,
    /// What protects them.
    pub root_key: Hidden<Zeroizing<[u8; 32]>>,
    /// Whose tokens people sign in with.
    pub issuer: TokenIssuer,
    /// To serve `https`.
    pub tls: Option<TlsFiles>,
    /// The log.
    pub logs: Logs,
}

/// What `dev` needs.
#[derive(Debug)]
pub struct Dev {
    /// How the service behaves; it listens on this machine only.
    pub service: ServiceSettings,
    /// Where everything is kept.
    pub data_dir: PathBuf,
    /// The log.
    pub logs: Logs,
}

/// What `dev token` needs.
#[derive(Debug, PartialEq, Eq)]
pub struct DevToken {
    /// Where the signing key is kept.
    pub data_dir: PathBuf,
    /// Whose token it is.
    pub email: String,
}

/// What `migrate` needs.
#[derive(Debug)]
pub struct Migrate {
    /// What to bring up to date.
    pub database: Database,
    /// The log.
    pub logs: Logs,
}

/// What `doctor verify` needs.
#[derive(Debug)]
pub struct Doctor {
    /// What to look at.
    pub database: Database,
    /// What opens it.
    pub root_key: Hidden<Zeroizing<[u8; 32]>>,
    /// The log.
    pub logs: Logs,
}

/// How the service behaves, wherever its data and its people come from.
#[derive(Debug)]
pub struct ServiceSettings {
    /// Where to listen.
    pub listen: SocketAddr,
    /// How often who may ask.
    pub rates: Rates,
    /// Whose word on where a request comes from is taken.
    pub trusted_proxies: Networks,
    /// Where links begin; where the request was sent, if that is not said.
    pub public_url: Option<BaseUrl>,
    /// Under which names clients find what answers hold.
    pub envelope: Envelope,
    /// How mail is sent, if it is.
    pub mail: Option<MailSettings>,
    /// The choices core knows.
    pub options: Options,
}

/// How mail is sent.
#[derive(Debug)]
pub struct MailSettings {
    /// The server; its address may hold a password.
    pub url: Hidden<Zeroizing<String>>,
    /// Whom mail is from.
    pub from: Mailbox,
    /// Where links in mail begin.
    pub links: BaseUrl,
}

/// Where records are kept.
#[derive(Debug)]
pub enum Database {
    /// In this file.
    Sqlite(PathBuf),
    /// There; the address may hold a password.
    Postgres(Hidden<Zeroizing<String>>),
    /// Nowhere: they end with the process.
    Memory,
}

/// Who signs the tokens of people.
#[derive(Debug)]
pub enum TokenIssuer {
    /// One that publishes its keys.
    Provider(OidcSettings),
    /// One that shares a secret with us.
    Shared(Expectations, Key),
}

/// Where certificate chain and private key are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The chain, PEM.
    pub certificates: PathBuf,
    /// The key, PEM.
    pub key: PathBuf,
}

/// What is logged, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logs {
    /// In the syntax of `tracing_subscriber::EnvFilter`.
    pub filter: String,
    /// For people or machines.
    pub format: LogFormat,
}

/// Something that is not printed.
pub struct Hidden<T>(T);

impl<T> Hidden<T> {
    pub(super) fn new(value: T) -> Self {
        Self(value)
    }

    /// It.
    pub fn reveal(&self) -> &T {
        &self.0
    }

    /// It, to keep.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for Hidden<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

/// The command, with all it needs.
pub(super) fn command(given: Given, layers: &Layers) -> Result<Command, Failure> {
    let data_dir = given.data_dir;
    match given.name {
        Name::Serve => Ok(Command::Serve(Box::new(settings(layers)?))),
        Name::Check => Ok(Command::Check(Box::new(settings(layers)?))),
        Name::Migrate => {
            Ok(Command::Migrate(Migrate { database: database(layers)?, logs: logs(layers)? }))
        }
        Name::OpenApi => Ok(Command::OpenApi),
        Name::Doctor => Ok(Command::Doctor(Doctor {
            database: database(layers)?,
            root_key: required(layers, "root_key", values::root_key)?,
            logs: logs(layers)?,
        })),
        Name::Dev => {
            let (service, logs) = (service(layers)?, logs(layers)?);
            // Everybody who reaches it can be anybody.
            if !service.listen.ip().is_loopback() {
                let rule = "`dev` listens on this machine only: give --listen as 127.0.0.1:PORT";
                return Err(Failure::new(Exit::Usage, rule));
            }
            Ok(Command::Dev(Box::new(Dev { service, data_dir, logs })))
        }
        Name::DevToken => {
            let email = values::email(&given.email)
                .map_err(|rule| Failure::new(Exit::Usage, format!("--email {rule}")))?;
            Ok(Command::DevToken(DevToken { data_dir, email }))
        }
    }
}

fn settings(layers: &Layers) -> Result<Settings, Failure> {
    Ok(Settings {
        service: service(layers)?,
        database: database(layers)?,
        root_key: required(layers, "root_key", values::root_key)?,
        issuer: issuer(layers)?,
        tls: tls(layers)?,
        logs: logs(layers)?,
    })
}

fn service(layers: &Layers) -> Result<ServiceSettings, Failure> {
    let options = Options {
        plans: plans(layers)?,
        operators: optional(layers, "operators", values::emails)?.unwrap_or_default(),
        member_access: optional(layers, "default_member_role", str::parse)?.unwrap_or_default(),
        audit_reads: optional(layers, "audit_reads", values::switch)?.unwrap_or(true),
        scan_rules: scan_rules(layers)?,
        egress: egress(layers)?,
        ..Options::default()
    };
    let rates = Rates {
        per_address: optional(layers, "rate_limit_per_ip", values::count)?.unwrap_or(100),
        per_principal: optional(layers, "rate_limit_per_principal", values::count)?.unwrap_or(60),
    };
    let public_url = optional(layers, "public_url", str::parse)?;
    let default = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
    Ok(ServiceSettings {
        listen: optional(layers, "listen", values::listen)?.unwrap_or(default),
        rates,
        trusted_proxies: optional(layers, "trusted_proxies", values::networks)?.unwrap_or_default(),
        mail: mail(layers, public_url.clone())?,
        public_url,
        envelope: optional(layers, "envelope", values::envelope)?.unwrap_or_default(),
        options,
    })
}

/// Where webhooks and databases may be.
fn egress(layers: &Layers) -> Result<EgressPolicy, Failure> {
    let Some(found) = layers.find("egress_allow")? else { return Ok(EgressPolicy::default()) };
    EgressPolicy::parse(&found.value).map_err(|bad| found.breaks(&bad.to_string()))
}

/// Rules for scans, read and compiled before anything starts.
fn scan_rules(layers: &Layers) -> Result<Option<Arc<Rules>>, Failure> {
    let Some(path) = optional(layers, "scan_rules", values::path)? else { return Ok(None) };
    let wrong = |reason: String| {
        Failure::configuration(format!("SECRETS_SCAN_RULES ({}): {reason}", path.display()))
    };
    let text = fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
    let file: RuleFile = toml::from_str(&text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let reason = error.message().lines().next().unwrap_or_default();
        wrong(format!("line {}: {reason}", before.matches('\n').count() + 1))
    })?;
    let rules = Rules::with(file).map_err(|error| wrong(error.to_string()))?;
    Ok(Some(Arc::new(rules)))
}

fn mail(layers: &Layers, links: Option<BaseUrl>) -> Result<Option<MailSettings>, Failure> {
    let from = optional(layers, "smtp_from", values::mailbox)?;
    let Some(url) = address_with_password(layers, "smtp_url", values::mail_server)? else {
        return Ok(None);
    };
    match (from, links) {
        (Some(from), Some(links)) => Ok(Some(MailSettings { url, from, links })),
        // A link that begins where a request was sent could lead anywhere.
        _ => Err(Failure::configuration(
            "SECRETS_SMTP_URL needs SECRETS_SMTP_FROM, and SECRETS_PUBLIC_URL for the links in mail",
        )),
    }
}

/// The built-in plans and those of the file; new teams are on the one that is named.
fn plans(layers: &Layers) -> Result<Plans, Failure> {
    let plans = Plans::with(layers.plans().iter().cloned());
    let Some(found) = layers.find("default_plan")? else { return Ok(plans) };
    let named = plans.by_default(&found.value);
    named.map_err(|unknown| found.breaks(&unknown.to_string()))
}

fn database(layers: &Layers) -> Result<Database, Failure> {
    let database = address_with_password(layers, "database_url", values::database)?;
    database.ok_or_else(|| missing("database_url"))
}

/// An address that may hold a password: then not on the command line.
fn address_with_password<T>(
    layers: &Layers,
    name: &'static str,
    parse: impl Fn(&str) -> Result<T, Rule>,
) -> Result<Option<T>, Failure> {
    if let Some(found) = layers.find(name)?
        && found.is_public()
        && values::has_password(&found.value)
    {
        return Err(found.breaks(
            "holds a password, which other users of this machine can see there: give it as a variable or in a file",
        ));
    }
    optional(layers, name, parse)
}

fn issuer(layers: &Layers) -> Result<TokenIssuer, Failure> {
    let expectations = Expectations {
        issuer: required(layers, "jwt_issuer", values::not_empty)?,
        audience: required(layers, "jwt_audience", values::not_empty)?,
    };
    let jwks_url = optional(layers, "jwt_jwks_url", values::url)?;
    match optional(layers, "jwt_hs256_secret", values::shared_secret)? {
        Some(key) if jwks_url.is_none() => Ok(TokenIssuer::Shared(expectations, key)),
        Some(_) => Err(Failure::configuration(
            "SECRETS_JWT_JWKS_URL and SECRETS_JWT_HS256_SECRET are both given: an issuer has keys or shares a secret",
        )),
        None => provider(layers, expectations, jwks_url),
    }
}

fn provider(
    layers: &Layers,
    expectations: Expectations,
    jwks_url: Option<Uri>,
) -> Result<TokenIssuer, Failure> {
    // Then the issuer is where its keys are asked for.
    if jwks_url.is_none() {
        required(layers, "jwt_issuer", values::url)?;
    }
    Ok(TokenIssuer::Provider(OidcSettings { expectations, jwks_url, timings: Timings::default() }))
}

fn tls(layers: &Layers) -> Result<Option<TlsFiles>, Failure> {
    let certificates = optional(layers, "tls_cert", values::path)?;
    let key = optional(layers, "tls_key", values::path)?;
    match (certificates, key) {
        (Some(certificates), Some(key)) => Ok(Some(TlsFiles { certificates, key })),
        (None, None) => Ok(None),
        _ => Err(Failure::configuration(
            "SECRETS_TLS_CERT and SECRETS_TLS_KEY must be given together",
        )),
    }
}

fn logs(layers: &Layers) -> Result<Logs, Failure> {
    let filter = optional(layers, "log", values::log_filter)?;
    Ok(Logs {
        filter: filter.unwrap_or_else(|| "info".to_owned()),
        format: optional(layers, "log_format", values::log_format)?.unwrap_or_default(),
    })
}

fn required<T>(
    layers: &Layers,
    name: &'static str,
    parse: impl Fn(&str) -> Result<T, Rule>,
) -> Result<T, Failure> {
    optional(layers, name, parse)?.ok_or_else(|| missing(name))
}

fn missing(name: &str) -> Failure {
    let hint = match name {
        "database_url" => "give sqlite://PATH, postgres://... or memory:",
        "root_key" => {
            "give 32 bytes in base64 (`openssl rand -base64 32` makes them), or name a file that holds them as SECRETS_ROOT_KEY_FILE"
        }
        "jwt_issuer" => "give the issuer people sign in with, such as https://login.example.com",
        "jwt_audience" => {
            "give the audience that the issuer writes into its tokens for this service"
        }
        _ => "it is required",
    };
    Failure::configuration(format!("{} is not set: {hint}", known::variable(name)))
}

fn optional<T>(
    layers: &Layers,
    name: &'static str,
    parse: impl Fn(&str) -> Result<T, Rule>,
) -> Result<Option<T>, Failure> {
    let parsed = |found: Found| parse(&found.value).map_err(|rule| found.breaks(rule));
    layers.find(name)?.map(parsed).transpose()
}
