//! `check`: reports whether `serve` would start with these settings. Changes nothing.

use std::sync::Arc;

use secrets_core::engine::Ports;
use secrets_core::model::Clock;
use secrets_core::store::SchemaState;

use super::{open, say};
use crate::adapters;
use crate::program::config::{Failure, Hidden, ServiceSettings, Settings};

pub(super) async fn run(
    settings: Settings,
    unknown: Vec<String>,
    clock: Arc<dyn Clock>,
) -> Result<(), Failure> {
    open::log(&settings.logs, &unknown)?;
    open::tls(settings.tls.as_ref())?;
    let verifier = open::identity(settings.issuer, Arc::clone(&clock))?;
    report_problems(&settings.service, settings.redis.as_ref(), &verifier).await;
    match open::inspect(&settings.database).await? {
        SchemaState::Current => {}
        SchemaState::Missing | SchemaState::Empty => {
            say("the configuration is valid; `serve` will create the database");
            return Ok(());
        }
        SchemaState::Older { version } => {
            say(&format!(
                "the configuration is valid; `serve` will migrate the database from version {version}"
            ));
            return Ok(());
        }
    }
    // No failure: the service that is checked may be running.
    if open::is_in_use(&settings.database)? {
        say("`serve` would not start now: another process uses the database");
    }
    let store = open::read_only_store(&settings.database).await?;
    if !open::has_keys(&store).await? {
        say("the configuration is valid; `serve` will create the keys of the database");
        return Ok(());
    }
    let ports = Ports {
        clock: Arc::clone(&clock),
        identity: Some(verifier.port()),
        mail: open::mail(settings.service.mail.as_ref())?,
        webhooks: Some(open::webhooks(&settings.service.options.egress)?),
        ..open::ports(store, settings.root_keys)
    };
    let service = open::service(ports, settings.service.options).await?;
    let health = service.health().await;
    if !(health.database && health.encryption) {
        let message =
            "the database or the encryption does not work: see the log above for the cause";
        return Err(Failure::new(crate::program::config::Exit::Database, message));
    }
    say("the configuration, the keys and the database are valid");
    Ok(())
}

/// Reports problems with which `serve` starts anyway, and a listen address that is in use, perhaps
/// by the running service itself.
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
