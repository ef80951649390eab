//! `doctor`: checks that every stored record can be decrypted and that the audit log is intact, and
//! measures the database.

use std::sync::Arc;

use secrets_core::audit;
use secrets_core::engine::{Options, Ports};
use secrets_core::model::Clock;
use secrets_core::service::{self, VerifiedRecords};
use secrets_core::store::Store;

use super::{open, root_key, say};
use crate::program::config::{DatabaseAndKeys, Exit, Failure, RootKeySettings, SizeReport};

/// Prints the sizes of the data in the configured database, which may be in use.
pub(super) async fn sizes(report: &SizeReport, unknown: Vec<String>) -> Result<(), Failure> {
    open::log(&report.logs, &unknown)?;
    let store = open::used_read_only_store(&report.database).await?;
    let sizes = service::sizes(store.as_ref(), &report.plans).await;
    let sizes = sizes.map_err(|error| open::unusable(&error))?;
    if report.is_json {
        let json = serde_json::to_string_pretty(&sizes);
        say(&json.map_err(|error| Failure::new(Exit::Database, error.to_string()))?);
        return Ok(());
    }
    if let Some(bytes) = sizes.database_bytes {
        say(&format!("database: {bytes} bytes"));
    }
    for (table, rows) in &sizes.tables {
        say(&format!("table {table}: {rows} rows"));
    }
    for near in &sizes.near_limits {
        let (team, quota, used, limit) = (near.team_id, near.quota, near.used, near.limit);
        say(&format!("team {team}: {used} of {limit} {quota}"));
    }
    Ok(())
}

/// Verifies all records of the configured database.
pub(super) async fn verify(
    settings: DatabaseAndKeys,
    unknown: Vec<String>,
    clock: Arc<dyn Clock>,
) -> Result<(), Failure> {
    open::log(&settings.logs, &unknown)?;
    if open::is_in_use(&settings.database)? {
        tracing::warn!("another process uses the database: records may change meanwhile");
    }
    let store = open::used_read_only_store(&settings.database).await?;
    verify_store(store, settings.root_keys, clock).await
}

/// Verifies all records of a store and prints the findings. Fails if a record is damaged. Changes
/// nothing.
pub(super) async fn verify_store(
    store: Arc<dyn Store>,
    root_keys: RootKeySettings,
    clock: Arc<dyn Clock>,
) -> Result<(), Failure> {
    let root_keys = root_key::open(root_keys).await?;
    let ports = Ports { clock, ..open::ports(store, root_keys) };
    let service = open::service(ports, Options::default()).await?;
    let records = service.verify_records().await.map_err(|error| open::unusable(&error))?;
    say_records(&records);
    let audit = audit::verify(service.engine()).await.map_err(|error| open::unusable(&error))?;
    say(&format!(
        "audit log: {} entries in {} chains verified, {} entries not chained yet",
        audit.entries, audit.chains, audit.unsealed
    ));
    for chain in &audit.broken {
        let team = chain.team.map_or_else(|| "no team".to_owned(), |team| format!("team {team}"));
        say(&format!("audit log of {team}: chain broken at position {}", chain.position));
    }
    let damaged = records.unreadable.len()
        + records.unreadable_rotations.len()
        + records.changed_environments.len()
        + audit.broken.len();
    if damaged == 0 {
        return Ok(());
    }
    Err(Failure::new(
        Exit::Tampered,
        format!(
            "{damaged} secrets, rotations, environments or audit chains are damaged or were modified"
        ),
    ))
}

/// Prints the results of the verification of all records.
fn say_records(records: &VerifiedRecords) {
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
    say(&format!("environments: {} match their manifests", records.environments));
    for environment in &records.changed_environments {
        say(&format!("environment {environment}: the secrets do not match its manifest"));
    }
}
