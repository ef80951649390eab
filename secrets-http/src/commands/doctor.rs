//! `doctor verify`: whether everything that is stored still opens and is as it was written.

use std::sync::Arc;

use async_trait::async_trait;
use secrets_core::model::{Clock, Identity};
use secrets_core::ports::identity::{IdentityVerifier, Unverified};
use secrets_core::engine::{Options, Ports};

use super::{open, say};
use crate::config::{Doctor, Exit, Failure};

/// Nobody signs in to be looked at.
pub(super) struct Nobody;

#[async_trait]
impl IdentityVerifier for Nobody {
    async fn verify(&self, _: &str) -> Result<Identity, Unverified> {
        Err(Unverified::Invalid)
    }
}

/// Says what it found and fails unless all is well. Changes nothing.
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

    say(&format!("secrets: {} with {} records open", records.secrets, records.records));
    for secret in &records.unreadable {
        say(&format!("secret {secret}: a record does not open"));
    }
    if records.rotations > 0 {
        let (rotations, count) = (records.rotations, records.rotation_records);
        say(&format!("rotations: {rotations} with {count} records open"));
    }
    for rotation in &records.unreadable_rotations {
        say(&format!("rotation {rotation}: a record does not open"));
    }
    say(&format!(
        "audit log: {} entries in {} chains are as they were written, {} wait to be chained",
        audit.entries, audit.chains, audit.unsealed
    ));
    for chain in &audit.broken {
        let team = chain.team.map_or_else(|| "no team".to_owned(), |team| format!("team {team}"));
        say(&format!("audit log of {team}: changed at position {}", chain.position));
    }
    let wrong = records.unreadable.len() + records.unreadable_rotations.len() + audit.broken.len();
    if wrong == 0 {
        return Ok(());
    }
    Err(Failure::new(Exit::Tampered, format!("{wrong} of what is stored is not as it was written")))
}
