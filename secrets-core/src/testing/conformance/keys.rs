//! Conformance rules for the versions of project keys, and for the records that are encrypted with
//! them.

use std::slice::from_ref;

use uuid::Uuid;

use super::{assert_duplicate, assert_stale, begin, committed, read};
use crate::crypto::{ProjectKeyRecord, Sealed};
use crate::model::{EnvironmentId, Principal, ProjectId, Subject};
use crate::store::{
    AttemptRecord, ProjectKeyCounts, PurgeProgress, Reads, ReplacedKey, RotationRecord,
    SealedColumn, SealedRow, SecretRecord, Store, WebhookRecord,
};
use crate::testing::fixtures::{
    World, at, attempt, next_version, project, project_key, project_rows, rotation, sealed, secret,
    webhook,
};

fn version(key: &ProjectKeyRecord, version: u32) -> ProjectKeyRecord {
    ProjectKeyRecord { version, wrapped: vec![9; 60], ..key.clone() }
}

fn replaced(key: &ProjectKeyRecord, newest: &ProjectKeyRecord, second: i64) -> ReplacedKey {
    ReplacedKey { key: key.clone(), replaced_at: at(second), newest: newest.clone() }
}

/// `project_key_request` returns the latest time for which a replacement of project keys was
/// requested. Finishing an earlier request does not delete a later one.
pub async fn the_latest_request_for_keys_counts(store: &dyn Store) {
    assert_eq!(read(store).await.project_key_request().await.unwrap(), None);
    for (second, expected) in [(5, 5), (9, 9), (7, 9)] {
        let mut tx = begin(store).await;
        tx.request_project_keys(at(second)).await.unwrap();
        let mut seen = committed(store, tx).await;
        assert_eq!(seen.project_key_request().await.unwrap(), Some(at(expected)));
    }
    for (second, expected) in [(8, Some(at(9))), (9, None), (9, None)] {
        let mut tx = begin(store).await;
        tx.finish_project_key_request(at(second)).await.unwrap();
        let mut seen = committed(store, tx).await;
        assert_eq!(seen.project_key_request().await.unwrap(), expected);
    }
}

/// `aged_project_keys` returns the newest key of each project if that key was created before the
/// given time. A project's first key has the creation time of the project; a later key has the time
/// of its insertion.
pub async fn the_newest_key_is_found_by_its_age(store: &dyn Store) {
    let world = World::build(store).await;
    let second = version(&world.key, 2);
    let mut seen = read(store).await;
    assert_eq!(seen.aged_project_keys(at(0), 9).await.unwrap(), []);
    assert_eq!(seen.aged_project_keys(at(1), 9).await.unwrap(), from_ref(&world.key));
    assert_eq!(seen.aged_project_keys(at(1), 0).await.unwrap(), []);

    let mut tx = begin(store).await;
    tx.insert_project_key(&second, at(60)).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.aged_project_keys(at(60), 9).await.unwrap(), []);
    assert_eq!(seen.aged_project_keys(at(61), 9).await.unwrap(), [second]);
}

/// A project key is listed as replaced after the next version was inserted and until it is retired.
/// A replaced key is listed together with the newest key of the project. Versions are unique within
/// a project and independent of other projects.
pub async fn a_replaced_key_is_listed_until_it_is_retired(store: &dyn Store) {
    let world = World::build(store).await;
    let (first, id) = (&world.key, world.project.id);
    let (second, third) = (version(first, 2), version(first, 3));
    let other = project(&world.other_team, "other");
    let mut tx = begin(store).await;
    tx.insert_project(&other, &project_key(&other)).await.unwrap();
    assert_eq!(tx.replaced_project_keys(None, 9).await.unwrap(), []);
    assert_stale(tx.lock_project_key(id, 1).await, Subject::Project);
    assert_stale(tx.retire_project_key(id, 1, at(9)).await, Subject::Project);

    tx.insert_project_key(&second, at(5)).await.unwrap();
    tx.insert_project_key(&third, at(6)).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = begin(store).await;
    assert_duplicate(tx.insert_project_key(&second, at(7)).await, Subject::Project);
    drop(tx);

    let mut seen = read(store).await;
    let listed = [replaced(first, &third, 5), replaced(&second, &third, 6)];
    assert_eq!(seen.replaced_project_keys(None, 9).await.unwrap(), listed);
    assert_eq!(seen.replaced_project_keys(None, 1).await.unwrap(), listed[..1]);
    assert_eq!(seen.replaced_project_keys(Some((id, 1)), 9).await.unwrap(), listed[1..]);
    assert_eq!(seen.replaced_project_keys(Some((id, 2)), 9).await.unwrap(), []);
    let counts = ProjectKeyCounts { current: 2, replaced: 2, retired: 0 };
    assert_eq!(seen.project_key_counts().await.unwrap(), counts);

    let mut tx = begin(store).await;
    tx.lock_project_key(id, 1).await.unwrap();
    tx.retire_project_key(id, 1, at(9)).await.unwrap();
    assert_stale(tx.retire_project_key(id, 1, at(9)).await, Subject::Project);
    assert_stale(tx.lock_project_key(id, 1).await, Subject::Project);
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.replaced_project_keys(None, 9).await.unwrap(), listed[1..]);
    let counts = ProjectKeyCounts { current: 2, replaced: 1, retired: 1 };
    assert_eq!(seen.project_key_counts().await.unwrap(), counts);
    for key in [first, &second, &third] {
        let found = seen.project_key(id, key.version).await.unwrap();
        assert_eq!(found.as_ref(), Some(key));
    }
}

/// The keys of a deleted project are listed until the project is purged, which deletes them. A
/// purged project gets no new key.
pub async fn keys_of_a_deleted_project_are_listed_until_it_is_purged(store: &dyn Store) {
    let world = World::build(store).await;
    let second = version(&world.key, 2);
    let kept = encrypted(store, &world).await;
    let mut tx = begin(store).await;
    tx.insert_project_key(&second, at(5)).await.unwrap();
    tx.delete_project(world.project.id, at(60)).await.unwrap();
    let mut seen = committed(store, tx).await;
    let listed = seen.replaced_project_keys(None, 9).await.unwrap();
    assert_eq!(listed, [replaced(&world.key, &second, 5)]);
    let rows = project_rows(&mut *seen, SealedColumn::Value, (world.project.id, 1)).await;
    assert_eq!(rows.len(), kept.secrets.len());

    while purge(store, &world).await == PurgeProgress::Partial {}

    let mut seen = read(store).await;
    assert_eq!(seen.replaced_project_keys(None, 9).await.unwrap(), []);
    assert_eq!(seen.project_key_counts().await.unwrap(), ProjectKeyCounts::default());
    let mut tx = begin(store).await;
    let third = version(&world.key, 3);
    assert_duplicate(tx.insert_project_key(&third, at(62)).await, Subject::Project);
    drop(tx);
    let mut seen = read(store).await;
    assert_eq!(seen.project_key_counts().await.unwrap(), ProjectKeyCounts::default());
}

/// `destroy_project_keys` changes only the keys of a project that was deleted before the given
/// time. It destroys all versions, and keeps their rows.
pub async fn keys_are_destroyed_only_after_the_restore_period(store: &dyn Store) {
    let world = World::build(store).await;
    let (id, other) = (world.project.id, project(&world.team, "other"));
    let other_key = project_key(&other);
    let mut tx = begin(store).await;
    tx.insert_secrets(&[secret(&world.staging, "KEY")]).await.unwrap();
    tx.insert_project(&other, &other_key).await.unwrap();
    tx.insert_project_key(&version(&world.key, 2), at(5)).await.unwrap();
    tx.delete_project(other.id, at(60)).await.unwrap();
    assert_eq!(tx.destroy_project_keys(id, at(99)).await.unwrap(), 0);
    tx.delete_project(id, at(60)).await.unwrap();
    assert_eq!(tx.destroy_project_keys(id, at(60)).await.unwrap(), 0);
    assert_eq!(tx.destroy_project_keys(ProjectId::draw(at(0)), at(99)).await.unwrap(), 0);
    let mut seen = committed(store, tx).await;
    let counts = ProjectKeyCounts { current: 2, replaced: 1, retired: 0 };
    assert_eq!(seen.project_key_counts().await.unwrap(), counts);
    assert!(!is_sampled_key_destroyed(seen.as_mut()).await);
    drop(seen);

    let mut tx = begin(store).await;
    assert_eq!(tx.destroy_project_keys(id, at(61)).await.unwrap(), 2);
    assert_eq!(tx.destroy_project_keys(id, at(61)).await.unwrap(), 0);
    tx.commit().await.unwrap();

    let mut seen = read(store).await;
    assert!(is_sampled_key_destroyed(seen.as_mut()).await);
    let counts = ProjectKeyCounts { current: 1, replaced: 0, retired: 0 };
    assert_eq!(seen.project_key_counts().await.unwrap(), counts);
    assert_eq!(seen.aged_project_keys(at(99), 9).await.unwrap(), [other_key]);
}

/// Destroyed keys are not listed as aged or replaced. They cannot be locked, retired or replaced.
pub async fn a_destroyed_key_is_not_used_again(store: &dyn Store) {
    let world = World::build(store).await;
    let id = world.project.id;
    let mut tx = begin(store).await;
    tx.insert_project_key(&version(&world.key, 2), at(5)).await.unwrap();
    tx.delete_project(id, at(60)).await.unwrap();
    assert_eq!(tx.destroy_project_keys(id, at(61)).await.unwrap(), 2);
    let mut seen = committed(store, tx).await;

    assert_eq!(seen.aged_project_keys(at(99), 9).await.unwrap(), []);
    assert_eq!(seen.replaced_project_keys(None, 9).await.unwrap(), []);
    assert_eq!(seen.project_key_counts().await.unwrap(), ProjectKeyCounts::default());
    drop(seen);
    let mut tx = begin(store).await;
    assert_stale(tx.lock_project_key(id, 1).await, Subject::Project);
    assert_stale(tx.retire_project_key(id, 1, at(70)).await, Subject::Project);
    let third = version(&world.key, 3);
    assert_duplicate(tx.insert_project_key(&third, at(70)).await, Subject::Project);
}

/// A project whose keys were destroyed cannot be restored. It stays listed for the purge, which
/// deletes its rows.
pub async fn a_project_with_destroyed_keys_is_purged_and_not_restored(store: &dyn Store) {
    let world = World::build(store).await;
    let id = world.project.id;
    let kept = encrypted(store, &world).await;
    let mut tx = begin(store).await;
    tx.delete_project(id, at(60)).await.unwrap();
    assert_eq!(tx.destroy_project_keys(id, at(61)).await.unwrap(), 1);
    tx.commit().await.unwrap();

    let mut tx = begin(store).await;
    assert_stale(tx.restore_project(id, at(62), at(0)).await, Subject::Project);
    drop(tx);
    let mut seen = read(store).await;
    assert_eq!(seen.purgeable_projects(at(61), at(99), 9).await.unwrap().len(), 1);
    let location = seen.rotation_location(kept.rotation.id).await.unwrap().unwrap();
    assert!(location.is_purged() && location.key.is_destroyed());
    drop(seen);
    let mut progress = purge(store, &world).await;
    assert_eq!(progress, PurgeProgress::Partial);
    while progress == PurgeProgress::Partial {
        progress = purge(store, &world).await;
    }
    assert_eq!(progress, PurgeProgress::Complete);
    assert_eq!(read(store).await.purgeable_projects(at(61), at(99), 9).await.unwrap(), []);
}

/// True if the project key that the store returns with the only secret was destroyed.
async fn is_sampled_key_destroyed(seen: &mut dyn Reads) -> bool {
    let sample = seen.sample(Uuid::nil().into()).await.unwrap().unwrap();
    sample.key.unwrap().is_destroyed()
}

async fn purge(store: &dyn Store, world: &World) -> PurgeProgress {
    let mut tx = begin(store).await;
    let progress = tx.purge_project(world.project.id, at(61), 9).await.unwrap();
    tx.commit().await.unwrap();
    progress
}

/// Test objects with an encrypted record in every column that contains such records.
struct Encrypted {
    secrets: [SecretRecord; 2],
    previous: SecretRecord,
    rotation: RotationRecord,
    attempt: AttemptRecord,
    webhook: WebhookRecord,
}

async fn encrypted(store: &dyn Store, world: &World) -> Encrypted {
    let described =
        |secret: SecretRecord| SecretRecord { description: Some(sealed(b"description")), ..secret };
    let previous = SecretRecord { hidden: true, ..described(secret(&world.staging, "ONE")) };
    let first = SecretRecord { hidden: false, ..next_version(&previous) };
    let second = described(secret(&world.development, "TWO"));
    let mut rotation = rotation(&world.staging, "orders");
    rotation.settings.proxy = Some(sealed(b"proxy"));
    let (attempt, webhook) = (attempt(&rotation, 7), webhook(&rotation));
    let mut tx = begin(store).await;
    tx.touch_environment(world.staging.id, 1).await.unwrap();
    tx.touch_environment(world.development.id, 1).await.unwrap();
    tx.insert_secrets(&[previous.clone(), second.clone()]).await.unwrap();
    tx.replace_secrets(from_ref(&first)).await.unwrap();
    tx.insert_rotation(&rotation, &[]).await.unwrap();
    tx.insert_attempt(&attempt).await.unwrap();
    tx.insert_webhook(&webhook).await.unwrap();
    tx.commit().await.unwrap();
    Encrypted { secrets: [first, second], previous, rotation, attempt, webhook }
}

impl Encrypted {
    /// Returns the expected rows of a column, ordered by object and version.
    fn rows(&self, column: SealedColumn) -> Vec<SealedRow> {
        let of = |object: Uuid, sealed: &Sealed| SealedRow {
            environment: self.rotation.environment,
            object,
            key: String::new(),
            version: 0,
            hidden: false,
            sealed: sealed.clone(),
        };
        let secret = |secret: &SecretRecord| SealedRow {
            environment: secret.environment,
            key: secret.key.to_string(),
            version: secret.version.into(),
            hidden: secret.hidden,
            ..of(secret.id.uuid(), &secret.sealed)
        };
        let mut rows: Vec<_> = match column {
            SealedColumn::Value => self.secrets.iter().map(secret).collect(),
            SealedColumn::Description => {
                let sealed = |it: &SecretRecord| it.description.clone().unwrap();
                let row = |it: &SecretRecord| SealedRow {
                    version: 0,
                    hidden: false,
                    sealed: sealed(it),
                    ..secret(it)
                };
                self.secrets.iter().map(row).collect()
            }
            SealedColumn::PreviousValue => vec![secret(&self.previous)],
            SealedColumn::Connection => {
                vec![of(self.rotation.id.uuid(), &self.rotation.settings.connection)]
            }
            SealedColumn::Proxy => {
                vec![of(self.rotation.id.uuid(), self.rotation.settings.proxy.as_ref().unwrap())]
            }
            SealedColumn::Pending => {
                let row = of(self.attempt.id.uuid(), self.attempt.pending.as_ref().unwrap());
                vec![SealedRow { version: self.attempt.sequence, ..row }]
            }
            SealedColumn::Webhook => vec![of(self.webhook.id.uuid(), &self.webhook.sealed)],
        };
        rows.sort_by_key(|row| (row.object, row.version));
        rows
    }
}

/// Records that are encrypted with one version of a project's key are listed in pages, for each
/// column.
pub async fn encrypted_records_are_found_by_the_version_of_their_key(store: &dyn Store) {
    let world = World::build(store).await;
    let kept = encrypted(store, &world).await;
    let id = world.project.id;
    let mut seen = read(store).await;

    for column in SealedColumn::ALL {
        let expected = kept.rows(column);
        assert_eq!(project_rows(&mut *seen, column, (id, 1)).await, expected, "{column:?}");
        for environment in seen.all_environments(id).await.unwrap() {
            let here = expected.iter().filter(|row| row.environment == environment);
            let here: Vec<_> = here.cloned().collect();
            let mut paged = Vec::new();
            let (place, mut after) = ((environment, 1), (Uuid::nil(), 0));
            while let [row] = &seen.sealed_rows(column, place, after, 1).await.unwrap()[..] {
                after = (row.object, row.version);
                paged.push(row.clone());
            }
            assert_eq!(paged, here, "{column:?}");
        }
        for version in [2, 0, 256, u32::MAX] {
            let none = project_rows(&mut *seen, column, (id, version)).await;
            assert_eq!(none, [], "{column:?} {version}");
        }
        let elsewhere = EnvironmentId::draw(at(0));
        let none = seen.sealed_rows(column, (elsewhere, 1), (Uuid::nil(), 0), 9).await;
        assert_eq!(none.unwrap(), [], "{column:?}");
    }
}

/// `all_environments` returns the environments of one project in the order of their IDs, even after
/// the project was deleted.
pub async fn all_environments_of_a_deleted_project_are_listed(store: &dyn Store) {
    let world = World::build(store).await;
    let mut expected = [world.development.id, world.staging.id, world.production.id];
    expected.sort_unstable();
    assert_eq!(read(store).await.all_environments(world.project.id).await.unwrap(), expected);

    let mut tx = begin(store).await;
    tx.delete_project(world.project.id, at(60)).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.all_environments(world.project.id).await.unwrap(), expected);
    assert_eq!(seen.all_environments(ProjectId::draw(at(0))).await.unwrap(), []);
}

/// An encrypted record is replaced only if the stored record is the same as when it was read.
/// Nothing else changes.
pub async fn an_encrypted_record_is_replaced_as_it_was_read(store: &dyn Store) {
    let world = World::build(store).await;
    let kept = encrypted(store, &world).await;
    let id = world.project.id;
    let new = Sealed::from_bytes(b"S\x01\x01\x00\x00\x00\x02new".to_vec());
    let before = revisions(read(store).await.as_mut(), &world).await;

    for column in SealedColumn::ALL {
        for row in kept.rows(column) {
            let mut tx = begin(store).await;
            let changed = SealedRow { sealed: sealed(b"other"), ..row.clone() };
            assert!(!tx.replace_sealed(column, &changed, &new).await.unwrap(), "{column:?}");
            assert!(tx.replace_sealed(column, &row, &new).await.unwrap(), "{column:?}");
            assert!(!tx.replace_sealed(column, &row, &new).await.unwrap(), "{column:?}");
            tx.commit().await.unwrap();
        }
        let mut seen = read(store).await;
        assert_eq!(project_rows(&mut *seen, column, (id, 1)).await, [], "{column:?}");
        let replaced = project_rows(&mut *seen, column, (id, 2)).await;
        let expected = kept.rows(column).into_iter();
        let expected: Vec<_> =
            expected.map(|row| SealedRow { sealed: new.clone(), ..row }).collect();
        assert_eq!(replaced, expected, "{column:?}");
    }
    assert_eq!(revisions(read(store).await.as_mut(), &world).await, before);
}

async fn revisions(seen: &mut dyn Reads, world: &World) -> Vec<u64> {
    let owner = Principal::User(world.owner.id);
    let environments = seen.environments(world.project.id, owner).await.unwrap();
    environments.iter().map(|environment| environment.revision).collect()
}
