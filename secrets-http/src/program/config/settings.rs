//! Validation of the settings of each command.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use hyper::Uri;
use secrets_core::egress::EgressPolicy;
use secrets_core::engine::{Options, SessionLimits};
use secrets_core::jwt::Expectations;
use secrets_core::model::{BaseUrl, Plans};
use secrets_core::runtime::WatchOptions;
use secrets_core::scanner::{RuleFile, Rules};
use secrets_core::store::StoreOptions;

use super::arguments::{Given, Name};
use super::failure::{Exit, Failure};
use super::layers::{Found, Layers};
use super::types::{
    AcceptRestore, Backup, DatabaseAndKeys, DatabaseSettings, Dev, DevToken, Logs, MailSettings,
    Migrate, Restore, RootKeySettings, ServiceSettings, Settings, SizeReport, TeamOwner, TlsFiles,
    TokenIssuer,
};
use super::values::{self, InvalidValue};
use super::{Command, root_key, settings_table, sign_in};
use crate::adapters::identity::{OidcSettings, Timings};
use crate::serve::gate::Rates;

/// Returns the command on the command line, with its validated settings.
pub(super) fn command(given: Given, layers: &Layers) -> Result<Command, Failure> {
    let data_dir = given.data_dir;
    all_given(layers, required_settings(given.name))?;
    match given.name {
        Name::Serve => Ok(Command::Serve(Box::new(settings(layers)?))),
        Name::Check => Ok(Command::Check(Box::new(settings(layers)?))),
        Name::Migrate => Ok(Command::Migrate(migrate(layers)?)),
        Name::RotateData => Ok(Command::RotateData(migrate(layers)?)),
        Name::KeyStatus => Ok(Command::KeyStatus(migrate(layers)?)),
        Name::Backup => Ok(Command::Backup(backup(given.backup_file, layers)?)),
        Name::Restore => Ok(Command::Restore(Restore {
            database: database(layers)?,
            root_keys: root_keys(layers)?,
            file: given.backup_file,
            logs: logs(layers)?,
        })),
        Name::AcceptRestore => Ok(Command::AcceptRestore(AcceptRestore {
            database: database(layers)?,
            root_keys: root_keys(layers)?,
            keeps_credentials: given.keeps_credentials,
            logs: logs(layers)?,
        })),
        Name::TeamOwner => Ok(Command::TeamOwner(TeamOwner {
            database: database(layers)?,
            team: given.team,
            member: given.member,
            logs: logs(layers)?,
        })),
        Name::OpenApi => Ok(Command::OpenApi),
        Name::Doctor => Ok(Command::Doctor(database_and_keys(layers)?)),
        Name::Sizes => Ok(Command::Sizes(SizeReport {
            database: database(layers)?,
            plans: plans(layers)?,
            is_json: given.is_json,
            logs: logs(layers)?,
        })),
        Name::RotateRoot => Ok(Command::RotateRoot(database_and_keys(layers)?)),
        Name::Dev => Ok(Command::Dev(Box::new(dev(layers, data_dir)?))),
        Name::DevToken | Name::DevLink => {
            let email = values::email(&given.email)
                .map_err(|rule| Failure::new(Exit::Usage, format!("--email {rule}")))?;
            let user = DevToken { data_dir, email };
            Ok(if given.name == Name::DevToken {
                Command::DevToken(user)
            } else {
                Command::DevLink(user)
            })
        }
    }
}

fn database_and_keys(layers: &Layers) -> Result<DatabaseAndKeys, Failure> {
    Ok(DatabaseAndKeys {
        database: database(layers)?,
        root_keys: root_keys(layers)?,
        logs: logs(layers)?,
    })
}

fn backup(file: PathBuf, layers: &Layers) -> Result<Backup, Failure> {
    Ok(Backup { database: database(layers)?, file, logs: logs(layers)? })
}

fn migrate(layers: &Layers) -> Result<Migrate, Failure> {
    Ok(Migrate { database: database(layers)?, logs: logs(layers)? })
}

fn dev(layers: &Layers, data_dir: PathBuf) -> Result<Dev, Failure> {
    let (service, logs) = (service(layers)?, logs(layers)?);
    // `dev token` signs a token for any user without a check, so the service must not be reachable
    // from other machines.
    if !service.listen.ip().is_loopback() {
        let rule = "`dev` listens on loopback addresses only: give --listen as 127.0.0.1:PORT";
        return Err(Failure::new(Exit::Usage, rule));
    }
    Ok(Dev { service, data_dir, logs })
}

/// Returns the names of the settings that a command needs and that have no default.
fn required_settings(command: Name) -> &'static [&'static str] {
    match command {
        Name::Serve | Name::Check => &["database_url", "root_key", "jwt_issuer", "jwt_audience"],
        Name::Doctor | Name::RotateRoot | Name::Restore | Name::AcceptRestore => {
            &["database_url", "root_key"]
        }
        Name::Migrate
        | Name::Backup
        | Name::TeamOwner
        | Name::RotateData
        | Name::KeyStatus
        | Name::Sizes => &["database_url"],
        Name::OpenApi | Name::Dev | Name::DevToken | Name::DevLink => &[],
    }
}

/// Fails if one of these settings is missing. The message has one line for each missing setting.
fn all_given(layers: &Layers, names: &[&'static str]) -> Result<(), Failure> {
    let is_given = |name: &&'static str| match *name {
        "root_key" => root_key::CURRENT.is_given(layers),
        name => layers.has(name),
    };
    let missing = names.iter().filter(|name| !is_given(name));
    let lines: Vec<_> = missing.map(|name| missing_setting(name)).collect();
    if lines.is_empty() { Ok(()) } else { Err(Failure::configuration(lines.join("\n"))) }
}

fn settings(layers: &Layers) -> Result<Settings, Failure> {
    let (service, issuer) = (service(layers)?, issuer(layers)?);
    Ok(Settings {
        sign_in: sign_in::client(layers, &issuer, service.public_url.as_ref())?,
        service,
        database: database(layers)?,
        root_keys: root_keys(layers)?,
        issuer,
        redis: url_with_password(layers, "redis_url", values::redis)?,
        tls: tls(layers)?,
        logs: logs(layers)?,
    })
}

fn root_keys(layers: &Layers) -> Result<RootKeySettings, Failure> {
    Ok(RootKeySettings {
        current: root_key::source(layers, &root_key::CURRENT)?
            .ok_or_else(|| missing("root_key"))?,
        previous: root_key::source(layers, &root_key::PREVIOUS)?,
    })
}

/// Returns the lifetimes of browser sessions.
fn sessions(layers: &Layers) -> Result<SessionLimits, Failure> {
    let default = SessionLimits::default();
    Ok(SessionLimits {
        absolute: optional(layers, "session_hours", values::session_hours)?
            .unwrap_or(default.absolute),
        idle: optional(layers, "session_idle_minutes", values::session_minutes)?
            .unwrap_or(default.idle),
    })
}

fn service(layers: &Layers) -> Result<ServiceSettings, Failure> {
    let rates = Rates {
        per_address: optional(layers, "rate_limit_per_ip", values::count)?.unwrap_or(100),
        per_principal: optional(layers, "rate_limit_per_principal", values::count)?.unwrap_or(60),
    };
    let per_team = optional(layers, "rate_limit_per_team", values::count)?;
    let default = Options::default();
    let options = Options {
        plans: plans(layers)?,
        operators: optional(layers, "operators", values::emails)?.unwrap_or_default(),
        member_access: optional(layers, "default_member_role", values::member_access)?
            .unwrap_or_default(),
        audit_reads: optional(layers, "audit_reads", values::switch)?.unwrap_or(true),
        scan_rules: scan_rules(layers)?,
        egress: egress(layers)?,
        rate_limit_per_team: per_team.unwrap_or(rates.per_principal.saturating_mul(TEAM_FACTOR)),
        time_limit: optional(layers, "request_timeout", values::timeout)?
            .unwrap_or(default.time_limit),
        sessions: sessions(layers)?,
        ..default
    };
    let public_url = optional(layers, "public_url", str::parse)?;
    let default = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
    Ok(ServiceSettings {
        listen: optional(layers, "listen", values::listen)?.unwrap_or(default),
        metrics_listen: optional(layers, "metrics_listen", values::listen)?,
        rates,
        memory_budget: optional(layers, "memory_budget", values::mebibytes)?.unwrap_or(256 << 20),
        watch_limit: optional(layers, "watch_limit", values::watches)?
            .unwrap_or(WatchOptions::default().limit),
        trusted_proxies: optional(layers, "trusted_proxies", values::networks)?.unwrap_or_default(),
        mail: mail(layers, public_url.clone())?,
        public_url,
        envelope: optional(layers, "envelope", values::envelope)?.unwrap_or_default(),
        has_dashboard: optional(layers, "dashboard", values::switch)?.unwrap_or(true),
        shutdown_delay: optional(layers, "shutdown_delay", values::delay)?.unwrap_or_default(),
        options,
    })
}

/// Default rate limit of a team, as a multiple of the rate limit of a user or service token.
const TEAM_FACTOR: u32 = 10;

/// Reads the setting with the destinations to which webhooks and rotations may connect.
fn egress(layers: &Layers) -> Result<EgressPolicy, Failure> {
    let Some(found) = layers.find("egress_allow")? else { return Ok(EgressPolicy::default()) };
    EgressPolicy::parse(&found.value).map_err(|bad| found.breaks(&bad.to_string()))
}

/// Reads the file with additional scan rules and compiles the rules, so that errors are found
/// before the service starts.
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
    let Some(url) = url_with_password(layers, "smtp_url", values::mail_server)? else {
        return Ok(None);
    };
    match (from, links) {
        (Some(from), Some(links)) => Ok(Some(MailSettings { url, from, links })),
        // Mail never uses the host of a request as the base of its links: the client chooses it.
        _ => Err(Failure::configuration(
            "SECRETS_SMTP_URL needs SECRETS_SMTP_FROM, and SECRETS_PUBLIC_URL for the links in mail",
        )),
    }
}

/// Returns the built-in plans and the plans of the configuration file, with the plan that new teams
/// get.
fn plans(layers: &Layers) -> Result<Plans, Failure> {
    let plans = Plans::with(layers.plans().iter().cloned());
    let Some(found) = layers.find("default_plan")? else { return Ok(plans) };
    let named = plans.by_default(&found.value);
    named.map_err(|unknown| found.breaks(&unknown.to_string()))
}

fn database(layers: &Layers) -> Result<DatabaseSettings, Failure> {
    let location = url_with_password(layers, "database_url", values::database)?;
    let connections = optional(layers, "database_connections", values::connections)?;
    let cache_bytes = optional(layers, "database_cache", values::cache)?;
    Ok(DatabaseSettings {
        location: location.ok_or_else(|| missing("database_url"))?,
        options: StoreOptions { connections, cache_bytes, ..StoreOptions::default() },
        epoch_path: optional(layers, "epoch_path", values::path)?,
    })
}

/// Parses a URL that may contain a password. A URL with a password is refused on the command line.
fn url_with_password<T>(
    layers: &Layers,
    name: &'static str,
    parse: impl Fn(&str) -> Result<T, InvalidValue>,
) -> Result<Option<T>, Failure> {
    if let Some(found) = layers.find(name)?
        && found.is_public()
        && values::has_password(&found.value)
    {
        return Err(found.breaks(
            "holds a password, which other users of this machine can see on the command line: give it as a variable or in a file",
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
            "SECRETS_JWT_JWKS_URL and SECRETS_JWT_HS256_SECRET are both given: keep one",
        )),
        None => provider(layers, expectations, jwks_url),
    }
}

fn provider(
    layers: &Layers,
    expectations: Expectations,
    jwks_url: Option<Uri>,
) -> Result<TokenIssuer, Failure> {
    // Without a key set URL, discovery starts at the issuer, so the issuer must be a URL.
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

pub(super) fn required<T>(
    layers: &Layers,
    name: &'static str,
    parse: impl Fn(&str) -> Result<T, InvalidValue>,
) -> Result<T, Failure> {
    optional(layers, name, parse)?.ok_or_else(|| missing(name))
}

fn missing(name: &str) -> Failure {
    Failure::configuration(missing_setting(name))
}

fn missing_setting(name: &str) -> String {
    let hint = match name {
        "database_url" => "give sqlite://PATH, postgres://... or memory:",
        "root_key" => {
            "give 32 bytes in base64, created with `openssl rand -base64 32`, or set SECRETS_ROOT_KEY_FILE to a file that contains them; SECRETS_ROOT_KEY_COMMAND and SECRETS_ROOT_KEY_URL are alternatives"
        }
        "jwt_issuer" => "give the issuer of the user tokens, such as https://login.example.com",
        "jwt_audience" => "give the audience that the issuer puts into tokens for this service",
        _ => "it is required",
    };
    format!("{} is not set: {hint}", settings_table::variable(name))
}

pub(super) fn optional<T>(
    layers: &Layers,
    name: &'static str,
    parse: impl Fn(&str) -> Result<T, InvalidValue>,
) -> Result<Option<T>, Failure> {
    let parsed = |found: Found| parse(&found.value).map_err(|rule| found.breaks(rule));
    layers.find(name)?.map(parsed).transpose()
}
