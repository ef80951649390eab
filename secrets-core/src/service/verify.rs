//! Looking at everything that is stored: whether it still opens.

use std::collections::HashMap;

use serde::Serialize;
use uuid::Uuid;

use super::Service;
use crate::crypto::{ProjectKey, Sealed};
use crate::ids::{ProjectId, SecretId};
use crate::secrets::{description_context, value_context};
use crate::store::{Reads, Sample, SecretRecord, StoreResult};

/// What a look at all records found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct VerifiedRecords {
    /// Secrets whose value, description and every replaced value open.
    pub secrets: u64,
    /// Records in them.
    pub records: u64,
    /// The secrets of which something does not open.
    pub unreadable: Vec<SecretId>,
}

/// How many replaced versions are read at once.
const PAGE: u32 = 100;

/// The keys of the project whose secrets are looked at: secrets of a project lie near each other.
struct Keys {
    project: ProjectId,
    by_version: HashMap<u32, Option<ProjectKey>>,
}

impl Service {
    /// Opens every record of every secret, those of deleted projects too.
    pub async fn verify_records(&self) -> StoreResult<VerifiedRecords> {
        let mut reads = self.store().read().await?;
        let mut verified = VerifiedRecords::default();
        let mut keys = Keys { project: ProjectId::NIL, by_version: HashMap::new() };
        let mut from = Some(SecretId::from(Uuid::nil()));
        while let Some(next) = from {
            let Some(sample) = reads.sample(next).await? else { break };
            let id = sample.secret.id;
            match self.opens_sample(reads.as_mut(), &mut keys, &sample).await? {
                Some(records) => {
                    verified.secrets += 1;
                    verified.records += records;
                }
                None => verified.unreadable.push(id),
            }
            from = id.uuid().as_u128().checked_add(1).map(|id| Uuid::from_u128(id).into());
        }
        Ok(verified)
    }

    /// How many records a secret has, if all of them open: none does where its project has no key.
    async fn opens_sample(
        &self,
        reads: &mut dyn Reads,
        keys: &mut Keys,
        sample: &Sample,
    ) -> StoreResult<Option<u64>> {
        let Some(record) = &sample.key else { return Ok(None) };
        if keys.project != record.project {
            *keys = Keys { project: record.project, by_version: HashMap::new() };
        }
        // It comes along for deleted projects too, whose keys are not to be had otherwise.
        keys.by_version.insert(record.version, self.keyring().project_key(record).ok());
        self.opens(reads, keys, &sample.secret).await
    }

    /// How many records a secret has, if all of them open.
    async fn opens(
        &self,
        reads: &mut dyn Reads,
        keys: &mut Keys,
        secret: &SecretRecord,
    ) -> StoreResult<Option<u64>> {
        let instance = self.keyring().instance();
        let mut records = 0;
        if let Some(sealed) = &secret.description {
            let context = description_context(instance, keys.project, secret);
            match self.key_of(reads, keys, sealed).await? {
                Some(key) if sealed.open(key, &context).is_ok() => records += 1,
                _ => return Ok(None),
            }
        }
        let mut versions = vec![secret.clone()];
        while let Some(last) = versions.last().map(|version| version.version) {
            for version in &versions {
                let context = value_context(instance, keys.project, version);
                match self.key_of(reads, keys, &version.sealed).await? {
                    Some(key) if version.sealed.open(key, &context).is_ok() => records += 1,
                    _ => return Ok(None),
                }
            }
            let older = reads.secret_versions(secret.id, last, PAGE).await?;
            versions = older.iter().map(|version| version.of(secret)).collect();
        }
        Ok(Some(records))
    }

    async fn key_of<'k>(
        &self,
        reads: &mut dyn Reads,
        keys: &'k mut Keys,
        sealed: &Sealed,
    ) -> StoreResult<Option<&'k ProjectKey>> {
        let Some(version) = sealed.key_version() else { return Ok(None) };
        if !keys.by_version.contains_key(&version) {
            let record = reads.project_key(keys.project, version).await?;
            let key = record.and_then(|record| self.keyring().project_key(&record).ok());
            keys.by_version.insert(version, key);
        }
        Ok(keys.by_version.get(&version).and_then(Option::as_ref))
    }
}
