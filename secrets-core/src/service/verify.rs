//! Verification: checks that every stored record can be decrypted.

use std::collections::HashMap;

use serde::Serialize;
use uuid::Uuid;

use super::{Service, manifests};
use crate::crypto::{ProjectKey, ProjectKeyRecord, Sealed};
use crate::engine::next_sample;
use crate::engine::records::{description_context, value_context};
use crate::model::{EnvironmentId, Error, ProjectId, RotationId, SecretId};
use crate::rotations::{RotationContext, SealedField};
use crate::store::{
    Reads, RotationLocation, RotationRecord, Sample, SecretRecord, StoreError, StoreResult,
};

/// Result of [`Service::verify_records`], which tries to decrypt every stored record of secrets and
/// rotations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct VerifiedRecords {
    /// Number of secrets whose value, description and previous values can all be decrypted.
    pub secrets: u64,
    /// Number of encrypted records of the secrets counted in `secrets`.
    pub records: u64,
    /// Secrets with at least one record that cannot be decoded or decrypted.
    pub unreadable: Vec<SecretId>,
    /// Number of rotations whose connection settings, proxy settings, webhooks and new password (of
    /// an unfinished attempt) can all be decrypted.
    pub rotations: u64,
    /// Number of encrypted records of the rotations counted in `rotations`.
    pub rotation_records: u64,
    /// Rotations with at least one record that cannot be decoded or decrypted.
    pub unreadable_rotations: Vec<RotationId>,
    /// Number of environments whose secrets match their manifest.
    pub environments: u64,
    /// Environments whose secrets do not match their manifest, because a row was changed, inserted
    /// or deleted in the database.
    pub changed_environments: Vec<EnvironmentId>,
}

/// Maximum number of previous versions loaded at a time.
const PAGE: u32 = 100;

/// Cached encryption keys of the project whose secrets are being verified. Only one project is
/// cached, because the secrets of a project are mostly verified one after another.
struct Keys {
    project: ProjectId,
    by_version: HashMap<u32, Option<ProjectKey>>,
}

impl Service {
    /// Tries to decrypt every record of every secret and rotation, including those of deleted
    /// projects, and compares the secrets of each environment with its manifest. Returns the
    /// numbers of readable records, and the secrets and rotations with unreadable records, which
    /// include rows that cannot be decoded. Projects that are being purged are left out, because
    /// their keys were destroyed.
    pub async fn verify_records(&self) -> StoreResult<VerifiedRecords> {
        let mut reads = self.engine.store().read().await?;
        let mut verified = VerifiedRecords::default();
        self.verify_secrets(reads.as_mut(), &mut verified).await?;
        self.verify_rotations(reads.as_mut(), &mut verified).await?;
        drop(reads);
        (verified.environments, verified.changed_environments) =
            manifests::verify(&self.engine).await?;
        Ok(verified)
    }

    async fn verify_secrets(
        &self,
        reads: &mut dyn Reads,
        verified: &mut VerifiedRecords,
    ) -> StoreResult<()> {
        let mut keys = Keys { project: ProjectId::NIL, by_version: HashMap::new() };
        let mut from = Some(SecretId::from(Uuid::nil()));
        while let Some(next) = from {
            let Some((id, sample)) = next_sample(reads, next).await? else { break };
            from = after(id.uuid()).map(SecretId::from);
            if let Some(Sample { key: Some(key), .. }) = &sample
                && is_purged(reads, key).await?
            {
                continue;
            }
            let records = match &sample {
                Some(sample) => decodable(self.verify_sample(reads, &mut keys, sample).await)?,
                None => None,
            };
            match records {
                Some(records) => {
                    verified.secrets += 1;
                    verified.records += records;
                }
                None => verified.unreadable.push(id),
            }
        }
        Ok(())
    }

    async fn verify_rotations(
        &self,
        reads: &mut dyn Reads,
        verified: &mut VerifiedRecords,
    ) -> StoreResult<()> {
        let mut from = Some(RotationId::from(Uuid::nil()));
        while let Some(next) = from {
            let Some((id, rotation)) = next_rotation(reads, next).await? else { break };
            from = after(id.uuid()).map(RotationId::from);
            // Decoding fails if the project has no key, or if its record is damaged.
            let location = decodable(reads.rotation_location(id).await)?;
            if location.as_ref().is_some_and(RotationLocation::is_purged) {
                continue;
            }
            let records = match rotation.zip(location) {
                Some(found) => decodable(self.verify_rotation(reads, found).await)?,
                None => None,
            };
            match records {
                Some(records) => {
                    verified.rotations += 1;
                    verified.rotation_records += records;
                }
                None => verified.unreadable_rotations.push(id),
            }
        }
        Ok(())
    }

    /// Decrypts all records of a rotation. Returns their number, or `None` if one of them cannot be
    /// decrypted.
    async fn verify_rotation(
        &self,
        reads: &mut dyn Reads,
        (rotation, location): (RotationRecord, RotationLocation),
    ) -> StoreResult<Option<u64>> {
        let Ok(context) = RotationContext::new(self.engine.keyring(), location) else {
            return Ok(None);
        };
        let sealer = context.sealer(self.engine.keyring());
        let mut kept = vec![(SealedField::Connection(rotation.id), rotation.settings.connection)];
        kept.extend(rotation.settings.proxy.map(|proxy| (SealedField::Proxy(rotation.id), proxy)));
        if let Some(attempt) = reads.open_attempt(rotation.id).await? {
            let whose = SealedField::Pending(attempt.id, attempt.sequence);
            kept.extend(attempt.pending.map(|pending| (whose, pending)));
        }
        let webhooks = reads.webhooks(rotation.id).await?.into_iter();
        kept.extend(webhooks.map(|webhook| (SealedField::Webhook(webhook.id), webhook.sealed)));
        let mut records = 0;
        for (kept, sealed) in kept {
            match sealer.open(reads, kept, &sealed).await {
                Ok(_) => records += 1,
                Err(Error::Unavailable(cause)) => return Err(StoreError::Unavailable(cause)),
                Err(_) => return Ok(None),
            }
        }
        Ok(Some(records))
    }

    /// Decrypts all records of a secret with the encryption keys of its project. Returns the number
    /// of records, or `None` if one of them cannot be decrypted or the project has no encryption
    /// key.
    async fn verify_sample(
        &self,
        reads: &mut dyn Reads,
        keys: &mut Keys,
        sample: &Sample,
    ) -> StoreResult<Option<u64>> {
        let Some(record) = &sample.key else { return Ok(None) };
        if keys.project != record.project {
            *keys = Keys { project: record.project, by_version: HashMap::new() };
        }
        // The sample includes the key of a deleted project too, which no other query returns.
        keys.by_version.insert(record.version, self.engine.keyring().project_key(record).ok());
        self.opens(reads, keys, &sample.secret).await
    }

    /// Decrypts the value, the description and all previous values of a secret. Returns the number
    /// of records, or `None` if one of them cannot be decrypted.
    async fn opens(
        &self,
        reads: &mut dyn Reads,
        keys: &mut Keys,
        secret: &SecretRecord,
    ) -> StoreResult<Option<u64>> {
        let instance = self.engine.keyring().instance();
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
            let key = record.and_then(|record| self.engine.keyring().project_key(&record).ok());
            keys.by_version.insert(version, key);
        }
        Ok(keys.by_version.get(&version).and_then(Option::as_ref))
    }
}

/// Loads the first rotation whose ID is `from` or higher. Returns its ID, and no record if its row
/// cannot be decoded. `None` if there is no such rotation.
async fn next_rotation(
    reads: &mut dyn Reads,
    from: RotationId,
) -> StoreResult<Option<(RotationId, Option<RotationRecord>)>> {
    match reads.next_rotation(from).await {
        Ok(rotation) => Ok(rotation.map(|rotation| (rotation.id, Some(rotation)))),
        Err(StoreError::Corrupt(_)) => Ok(reads.next_rotation_id(from).await?.map(|id| (id, None))),
        Err(error) => Err(error),
    }
}

/// Returns the record that was found; `None` if its row cannot be decoded.
fn decodable<T>(found: StoreResult<Option<T>>) -> StoreResult<Option<T>> {
    match found {
        Err(StoreError::Corrupt(_)) => Ok(None),
        found => found,
    }
}

/// True if a purge has destroyed this key. False for a destroyed key of a project that is not
/// deleted: such a key was damaged in the database, so the project's records are reported as
/// unreadable.
async fn is_purged(reads: &mut dyn Reads, key: &ProjectKeyRecord) -> StoreResult<bool> {
    Ok(key.is_destroyed() && reads.project_key(key.project, key.version).await?.is_none())
}

/// Returns the ID that follows this one; `None` after the highest possible ID.
fn after(id: Uuid) -> Option<Uuid> {
    id.as_u128().checked_add(1).map(Uuid::from_u128)
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::crypto::{Key, Plaintext};
    use crate::model::ManualClock;
    use crate::store::{AttemptRecord, MemoryStore, WebhookRecord};
    use crate::testing::fixtures::{
        at, attempt, environment, project, rotation, team, user, webhook,
    };

    /// Stores a rotation with a webhook in a deleted project. All its records are encrypted
    /// correctly.
    async fn create_rotation(service: &Service) -> (RotationRecord, WebhookRecord) {
        let owner = user("owner");
        let team = team(&owner, "acme");
        let project = project(&team, "billing");
        let key = service.engine().keyring().draw_project_key(project.id, 1);
        let place = environment(&project, "production");
        let mut record = rotation(&place, "orders");
        let mut tx = service.engine().store().begin().await.unwrap();
        tx.insert_user(&owner).await.unwrap();
        tx.insert_team(&team).await.unwrap();
        tx.insert_project(&project, &key).await.unwrap();
        tx.insert_environment(&place).await.unwrap();
        tx.insert_rotation(&record, &[]).await.unwrap();
        let opened = tx.rotation_location(record.id).await.unwrap().unwrap();
        let opened = RotationContext::new(service.engine().keyring(), opened).unwrap();
        let sealer = opened.sealer(service.engine().keyring());
        let seal = |kept| sealer.seal(kept, &Plaintext::new("kvc_kept".to_owned()).unwrap());
        record.settings.connection = seal(SealedField::Connection(record.id));
        record.settings.proxy = Some(seal(SealedField::Proxy(record.id)));
        tx.update_rotation(&record).await.unwrap();
        let begun = attempt(&record, 7);
        let pending = Some(seal(SealedField::Pending(begun.id, begun.sequence)));
        tx.insert_attempt(&AttemptRecord { pending, ..begun }).await.unwrap();
        let created = webhook(&record);
        let created = WebhookRecord { sealed: seal(SealedField::Webhook(created.id)), ..created };
        tx.insert_webhook(&created).await.unwrap();
        tx.delete_project(project.id, at(1)).await.unwrap();
        tx.commit().await.unwrap();
        (record, created)
    }

    async fn service() -> Service {
        let store = Arc::new(MemoryStore::new());
        let clock = Arc::new(ManualClock::new(at(0)));
        Service::builder(store, &Key::generate()).clock(clock).build().await.unwrap()
    }

    #[tokio::test]
    async fn all_records_of_a_rotation_can_be_decrypted() {
        let service = service().await;
        create_rotation(&service).await;

        let verified = service.verify_records().await.unwrap();

        assert_eq!((verified.rotations, verified.rotation_records), (1, 4));
        assert_eq!(verified.unreadable_rotations, []);
    }

    #[tokio::test]
    async fn a_record_of_another_location_does_not_open() {
        let service = service().await;
        let (record, created) = create_rotation(&service).await;
        let mut tx = service.engine().store().begin().await.unwrap();
        let mut swapped = record.clone();
        swapped.settings.proxy = Some(created.sealed);
        tx.update_rotation(&swapped).await.unwrap();
        tx.commit().await.unwrap();

        let verified = service.verify_records().await.unwrap();

        assert_eq!((verified.rotations, verified.rotation_records), (0, 0));
        assert_eq!(verified.unreadable_rotations, [record.id]);
    }
}
