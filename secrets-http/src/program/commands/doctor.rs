//! `doctor verify`: checks that every stored record can be decrypted and that the audit log is
//! intact.

use std::sync::Arc;

use secrets_core::audit;
use secrets_core::engine::{Options, Ports};
use secrets_core::model::Clock;
use secrets_core::store::Store;

use super::{open, say};
use crate::program::config::{DatabaseAndKeys, Exit, Failure, RootKeySettings};

/// Verifies all records of the configured database.
pub(super) async fn verify(
    settings: DatabaseAndKeys,
    unknown: Vec<String>,
    clock: Arc<dyn Clock>,
) -> Result<(), Failure> {
    open::log(&settings.logs, &unknown)?;
    let store = open::existing_store(&settings.database).await?;
    verify_store(store, settings.root_keys, clock).await
}

/// Verifies all records of a store and prints the findings. Fails if a record is damaged. Changes
/// nothing.
pub(super) async fn verify_store(
    store: Arc<dyn Store>,
    root_keys: RootKeySettings,
    clock: Arc<dyn Clock>,
) -> Result<(), Failure> {
    let ports = Ports { clock, ..open::ports(store, root_keys) };
    let service = open::service(ports, Options::default()).await?;
    let records = service.verify_records().await.map_err(|error| open::unusable(&error))?;
    let audit = audit::verify(service.engine()).await.map_err(|error| open::unusable(&error))?;

    say(&format!(
        "secrets: {} secrets with {} records decrypted",
        records.secrets, records.records
    ));
    for secret in &records.unreadable {
        say(&format!("secret {secret}: a record cannot be decrypted"));
    }
    if records.rotations > 0 {
        let (rotations, count) = (records.rotations, records.rotation_records);
        say(&format!("rotations: {rotations} rotations with {count} records decrypted"));
    }
    for rotation in &records.unreadable_rotations {
        say(&format!("rotation {rotation}: a record cannot be decrypted"));
    }
    say(&format!(
        "audit log: {} entries in {} chains verified, {} entries not chained yet",
        audit.entries, audit.chains, audit.unsealed
    ));
    for chain in &audit.broken {
        let team = chain.team.map_or_else(|| "no team".to_owned(), |team| format!("team {team}"));
        say(&format!("audit log of {team}: chain broken at position {}", chain.position));
    }
    let damaged =
        records.unreadable.len() + records.unreadable_rotations.len() + audit.broken.len();
    if damaged == 0 {
        return Ok(());
    }
    Err(Failure::new(
        Exit::Tampered,
        format!("{damaged} secrets, rotations or audit chains are damaged or were modified"),
    ))
}
