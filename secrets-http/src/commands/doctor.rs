//! `doctor verify`: checks that every stored record can be decrypted and that the audit log is
//! intact.

use std::sync::Arc;

use async_trait::async_trait;
use secrets_core::model::{Clock, Identity};
use secrets_core::ports::identity::{IdentityVerifier, Unverified};
use secrets_core::engine::{Options, Ports};

use super::{open, say};
use crate::config::{Doctor, Exit, Failure};

/// Identity verifier that refuses every token, for commands without users.
pub(super) struct Nobody;

#[async_trait]
impl IdentityVerifier for Nobody {
    async fn verify(&self, _: &str) -> Result<Identity, Unverified> {
        Err(Unverified::Invalid)
    }
}

/// Prints the findings, and fails if anything is damaged. Changes nothing.
pub(super) async fn verify(
    doctor: Doctor,
    unknown: Vec<String>,
    clock: Arc<dyn Clock>,
) -> Result<(), Failure> {
    open::log(&doctor.logs, &unknown)?;
    let ports = Ports {
        store: open::store(&doctor.database).await?,
        clock,
        root: open::root_key(doctor.root_key.into_inner()),
        identity: Arc::new(Nobody),
        mail: None,
        rotators: None,
        webhooks: None,
    };
    let service = open::service(ports, Options::default()).await?;
    let records = service.verify_records().await.map_err(|error| open::unusable(&error))?;
    let audit = service.verify_audit().await.map_err(|error| open::unusable(&error))?;

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
