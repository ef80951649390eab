//! `accept-restore`: returns a database that was restored from a backup to service.

use std::sync::Arc;

use secrets_core::keys;
use secrets_core::model::Clock;

use super::{open, say};
use crate::program::config::{AcceptRestore, Failure};

/// Accepts the state of a restored database: stops all rotations and, unless the settings keep the
/// credentials, invalidates service tokens, sessions, invitations and device logins.
pub(super) async fn run(
    settings: AcceptRestore,
    unknown: Vec<String>,
    clock: Arc<dyn Clock>,
) -> Result<(), Failure> {
    open::log(&settings.logs, &unknown)?;
    let (service, store) =
        open::existing_service(&settings.database, settings.root_keys, clock).await?;
    let epochs = open::epochs(&settings.database);
    let keeps_credentials = settings.keeps_credentials;
    let accepted =
        keys::accept_restore(service.engine(), epochs.as_deref(), keeps_credentials).await;
    let accepted = accepted.map_err(|error| open::refused(&error))?;
    store.close().await.map_err(|error| open::unusable(&error))?;
    say(&format!("the database is accepted; its epoch is {}", accepted.epoch));
    say(&format!("{} rotations are stopped until a user sets them to active", accepted.rotations));
    if !keeps_credentials {
        say(
            "service tokens, sessions, invitations and device logins are invalid; rotate the tokens",
        );
    }
    Ok(())
}
