//! `keys`: replaces encryption keys, and prints their state.

use std::sync::Arc;

use secrets_core::keys::{self, RootRotation};
use secrets_core::model::Clock;

use super::{open, say};
use crate::program::config::{DatabaseAndKeys, Failure, Migrate};

/// Replaces the root key of the configured database: afterwards, the database uses the root key
/// that is configured as current, instead of the root key that is configured as previous.
pub(super) async fn rotate_root(
    settings: DatabaseAndKeys,
    unknown: Vec<String>,
    clock: Arc<dyn Clock>,
) -> Result<(), Failure> {
    open::log(&settings.logs, &unknown)?;
    let (service, store) =
        open::existing_service(&settings.database, settings.root_keys, clock).await?;
    let rotated =
        keys::rotate_root(service.engine()).await.map_err(|error| open::refused(&error))?;
    store.close().await.map_err(|error| open::unusable(&error))?;
    say(&match rotated {
        RootRotation::Replaced { from, to } => {
            format!("root key {to} replaced {from}; keep {from} for backups that were made before")
        }
        RootRotation::Unchanged(id) => format!("the database uses root key {id} already"),
    });
    Ok(())
}

/// Requests a new encryption key for each project in the configured database, which may be in use.
/// The running service creates the keys.
pub(super) async fn rotate_data(
    settings: &Migrate,
    unknown: Vec<String>,
    clock: Arc<dyn Clock>,
) -> Result<(), Failure> {
    open::log(&settings.logs, &unknown)?;
    let store = open::shared_store(&settings.database).await?;
    let requested = keys::request_project_keys(store.as_ref(), clock.now()).await;
    requested.map_err(|error| open::unusable(&error))?;
    say("new project keys are requested; the running service creates them within a minute");
    Ok(())
}

/// Prints the state of the encryption keys of the configured database, which may be in use.
pub(super) async fn status(settings: &Migrate, unknown: Vec<String>) -> Result<(), Failure> {
    open::log(&settings.logs, &unknown)?;
    let store = open::shared_store(&settings.database).await?;
    let status = keys::status(store.as_ref()).await.map_err(|error| open::unusable(&error))?;
    let projects = status.projects;
    say(&format!("root key: {}", status.root));
    say(&format!(
        "project keys: {} current, {} being replaced, {} retired",
        projects.current, projects.replaced, projects.retired
    ));
    if let Some(requested) = status.requested_at {
        say(&format!("new project keys: requested at {}", requested.to_rfc3339()));
    }
    Ok(())
}
