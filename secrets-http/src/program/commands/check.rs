//! `check`: reports whether `serve` would start with these settings. Changes nothing.

use std::sync::Arc;

use secrets_core::engine::Ports;
use secrets_core::keys;
use secrets_core::model::Clock;
use secrets_core::store::SchemaState;

use super::{open, root_key, say};
use crate::adapters;
use crate::program::config::{DatabaseSettings, Failure, Hidden, ServiceSettings, Settings};

pub(super) async fn run(
    settings: Settings,
    unknown: Vec<String>,
    clock: Arc<dyn Clock>,
) -> Result<(), Failure> {
    open::log(&settings.logs, &unknown)?;
    let limits = limits(&settings);
    say(&inspect(settings, clock).await?);
    say(&limits);
    Ok(())
}

/// Checks the settings and the database. Returns a message about the state of the database.
async fn inspect(settings: Settings, clock: Arc<dyn Clock>) -> Result<String, Failure> {
    open::tls(settings.tls.as_ref())?;
    let verifier = open::identity(settings.issuer, Arc::clone(&clock))?;
    report_problems(&settings.service, settings.redis.as_ref(), &verifier).await;
    let root_keys = root_key::open(settings.root_keys).await?;
    root_keys.check().await?;
    if let Some(message) = to_migrate(open::inspect(&settings.database).await?) {
        return Ok(message);
    }
    // No failure: the service that is checked may be running.
    if open::is_in_use(&settings.database)? {
        say("`serve` would not start now: another process uses the database");
    }
    let store = open::read_only_store(&settings.database).await?;
    if !open::has_keys(&store).await? {
        let message = "the configuration is valid; `serve` will create the keys of the database";
        return Ok(message.to_owned());
    }
    if let Some(epochs) = open::epochs(&settings.database) {
        let checked = keys::check_epoch(store.as_ref(), epochs.as_ref()).await;
        checked.map_err(|error| open::refused(&error))?;
    }
    let ports = Ports {
        clock: Arc::clone(&clock),
        identity: Some(verifier.port()),
        mail: open::mail(settings.service.mail.as_ref())?,
        webhooks: Some(open::webhooks(&settings.service.options.egress)?),
        ..open::ports(store, root_keys)
    };
    let service = open::service(ports, settings.service.options).await?;
    let health = service.health().await;
    if !(health.database && health.encryption) {
        let message =
            "the database or the encryption does not work: see the log above for the cause";
        return Err(Failure::new(crate::program::config::Exit::Database, message));
    }
    Ok("the configuration, the keys and the database are valid".to_owned())
}

/// Returns a message if `serve` would create or migrate the tables of the database. Prints a
/// message if a later version has migrated them.
fn to_migrate(state: SchemaState) -> Option<String> {
    match state {
        SchemaState::Current => None,
        SchemaState::Missing | SchemaState::Empty => {
            Some("the configuration is valid; `serve` will create the database".to_owned())
        }
        SchemaState::Older { version, is_compatible } => {
            let others = if is_compatible {
                "processes of that version can keep running"
            } else {
                "stop all processes of that version first"
            };
            Some(format!(
                "the configuration is valid; `serve` will migrate the database from schema version \
                 {version}; {others}"
            ))
        }
        SchemaState::Later { version } => {
            say(&format!(
                "a later version of the program has migrated the database to schema version \
                 {version}; this version can use it"
            ));
            None
        }
    }
}

/// Returns the limits that are in effect, one setting in each line.
fn limits(settings: &Settings) -> String {
    let ServiceSettings { rates, options, memory_budget, watch_limit, shutdown_delay, .. } =
        &settings.service;
    let DatabaseSettings { location, options: store, .. } = &settings.database;
    let store = store.or_defaults(location);
    let limits = [
        ("RATE_LIMIT_PER_IP", rates.per_address.to_string()),
        ("RATE_LIMIT_PER_PRINCIPAL", rates.per_principal.to_string()),
        ("RATE_LIMIT_PER_TEAM", options.rate_limit_per_team.to_string()),
        ("REQUEST_TIMEOUT", options.time_limit.as_secs().to_string()),
        ("MEMORY_BUDGET", (memory_budget >> 20).to_string()),
        ("WATCH_LIMIT", watch_limit.to_string()),
        ("SHUTDOWN_DELAY", shutdown_delay.as_secs().to_string()),
        ("DATABASE_CONNECTIONS", store.connections.unwrap_or_default().to_string()),
        ("DATABASE_CACHE", (store.cache_bytes.unwrap_or_default() >> 20).to_string()),
        ("SESSION_HOURS", options.sessions.absolute.num_hours().to_string()),
        ("SESSION_IDLE_MINUTES", options.sessions.idle.num_minutes().to_string()),
    ];
    let lines = limits.map(|(name, value)| format!("  SECRETS_{name}={value}"));
    format!("the limits in effect, in the units of their settings:\n{}", lines.join("\n"))
}

/// Reports problems that do not prevent the start of `serve`, and a listen address that is already
/// in use, perhaps because the service is running.
async fn report_problems(
    service: &ServiceSettings,
    redis: Option<&Hidden<redis::Client>>,
    verifier: &open::Verifier,
) {
    if let Err(reason) = verifier.warm().await {
        say(&format!("the issuer cannot be reached, so users cannot sign in: {reason}"));
    }
    if let Some(redis) = redis
        && let Err(reason) = adapters::redis::ping(redis.reveal()).await
    {
        say(&format!("Redis cannot be used, so each node counts by itself: {reason}"));
    }
    // No failure: the service that is checked may be running.
    if let Err(failure) = open::listener(service.listen).await {
        say(&format!("`serve` would not start now: {failure}"));
    }
    if let Err(failure) = open::metrics_listener(service.metrics_listen).await {
        say(&format!("`serve` would not start now: {failure}"));
    }
}
