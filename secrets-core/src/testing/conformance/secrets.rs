//! Conformance rules for secrets and their previous versions.

use std::slice::from_ref;

use uuid::Uuid;

use super::{assert_duplicate, assert_stale, begin, committed};
use crate::crypto::Sealed;
use crate::model::{SecretKey, Subject};
use crate::store::{Change, SecretRecord, Store};
use crate::testing::fixtures::{World, at, environment, next_version, sealed, secret};

/// All fields of a secret are stored, with all optional fields present.
pub async fn everything_of_a_secret_survives(store: &dyn Store) {
    let world = World::build(store).await;
    let full = full(&world);
    let mut tx = begin(store).await;

    tx.insert_secrets(from_ref(&full)).await.unwrap();

    let found = committed(store, tx).await.secrets(world.production.id, from_ref(&full.key)).await;
    assert_eq!(found.unwrap(), [full]);
}

/// Optional fields that are `None` when a secret is inserted are `None` when it is loaded.
pub async fn absent_fields_of_a_secret_stay_absent(store: &dyn Store) {
    let world = World::build(store).await;
    let bare = secret(&world.production, "KEY");
    let mut tx = begin(store).await;

    tx.insert_secrets(from_ref(&bare)).await.unwrap();

    let found = committed(store, tx).await.secrets(world.production.id, from_ref(&bare.key)).await;
    assert_eq!(found.unwrap(), [bare]);
}

/// An encrypted record may contain any bytes, and may be as large as the largest secret value
/// requires.
pub async fn any_bytes_survive(store: &dyn Store) {
    let world = World::build(store).await;
    let every = (0..=u8::MAX).collect::<Vec<_>>();
    let long = every.repeat(280);
    let records =
        [("EVERY", every), ("LONG", long), ("ZEROS", vec![0; 64]), ("ONES", vec![255; 64])].map(
            |(key, bytes)| {
                let sealed = Sealed::from_bytes(bytes);
                let description = Some(sealed.clone());
                SecretRecord { sealed, description, ..secret(&world.production, key) }
            },
        );
    let mut tx = begin(store).await;

    tx.insert_secrets(&records).await.unwrap();

    let mut seen = committed(store, tx).await;
    for record in records {
        let found = seen.secrets(world.production.id, from_ref(&record.key)).await.unwrap();
        assert_eq!(found, [record]);
    }
}

/// Secrets that are inserted together keep their own columns, whatever they have in common. If one
/// of them is refused, none is inserted.
pub async fn secrets_inserted_together_keep_their_columns(store: &dyn Store) {
    let world = World::build(store).await;
    let (full, bare) = (full(&world), |key| secret(&world.production, key));
    let other = Uuid::from_u128(7);
    let records = [
        bare("BARE"),
        SecretRecord { description: full.description.clone(), ..bare("DESCRIBED") },
        SecretRecord { sealed: full.sealed.clone(), ..bare("OTHER_VALUE") },
        SecretRecord { hidden: true, change: Change::Hidden, ..bare("HIDDEN") },
        SecretRecord { change: Change::Rotated, ..bare("ROTATED") },
        SecretRecord { version: 9, ..bare("OTHER_VERSION") },
        SecretRecord { changed_by: Some(other), ..bare("CHANGED_BY") },
        SecretRecord { changed_at: at(1), ..bare("CHANGED_AT") },
        SecretRecord { created_by: Some(other), ..bare("CREATED_BY") },
        SecretRecord { created_at: at(2), ..bare("CREATED_AT") },
        SecretRecord { updated_by: Some(other), ..bare("UPDATED_BY") },
        SecretRecord { updated_at: at(3), ..bare("UPDATED_AT") },
        secret(&world.staging, "BARE"),
        full,
    ];
    let mut tx = begin(store).await;
    let refused = tx.insert_secrets(&[&records[..], &[bare("BARE")]].concat()).await;
    assert_duplicate(refused, Subject::Secret);

    tx.insert_secrets(&records).await.unwrap();

    let mut seen = committed(store, tx).await;
    for record in records {
        let found = seen.secrets(record.environment, from_ref(&record.key)).await.unwrap();
        assert_eq!(found, [record]);
    }
}

/// A secret key is unique within its environment.
pub async fn a_key_is_unique_within_its_environment(store: &dyn Store) {
    let world = World::build(store).await;
    let first = secret(&world.production, "KEY");
    let mut tx = begin(store).await;
    tx.insert_secrets(from_ref(&first)).await.unwrap();

    let again = tx.insert_secrets(&[secret(&world.production, "KEY")]).await;

    assert_duplicate(again, Subject::Secret);
    assert_eq!(tx.secrets(world.production.id, from_ref(&first.key)).await.unwrap(), [first]);
}

/// Two environments may have secrets with the same secret key.
pub async fn two_environments_may_use_the_same_key(store: &dyn Store) {
    let world = World::build(store).await;
    let pair = [secret(&world.staging, "KEY"), secret(&world.production, "KEY")];
    let key = [pair[0].key.clone()];
    let mut tx = begin(store).await;

    tx.insert_secrets(&pair).await.unwrap();

    let mut seen = committed(store, tx).await;
    let [here, there] = pair;
    assert_eq!(seen.secrets(world.staging.id, &key).await.unwrap(), [here]);
    assert_eq!(seen.secrets(world.production.id, &key).await.unwrap(), [there]);
}

/// Secret keys that differ only in case are different keys.
pub async fn a_key_is_compared_exactly(store: &dyn Store) {
    let world = World::build(store).await;
    let keys = ["KEY", "Key", "key", "K_Y", "K.Y", "K-Y"].map(|key| secret(&world.production, key));
    let mut tx = begin(store).await;

    tx.insert_secrets(&keys).await.unwrap();

    let mut seen = committed(store, tx).await;
    for own in keys {
        assert_eq!(seen.secrets(world.production.id, from_ref(&own.key)).await.unwrap(), [own]);
    }
}

/// `secrets` returns the secrets with the given keys, each once and ordered by secret key.
pub async fn secrets_are_listed_by_key(store: &dyn Store) {
    let world = World::build(store).await;
    let own = ["b", "A_B", "AB", "_A", "a", "A1", "Z"].map(|key| secret(&world.production, key));
    let asked = ["Z", "a", "MISSING", "_A", "AB", "a", "A_B", "A1"].map(key);
    let mut tx = begin(store).await;
    tx.insert_secrets(&own).await.unwrap();
    tx.insert_secrets(&[secret(&world.staging, "MISSING")]).await.unwrap();

    let found = committed(store, tx).await.secrets(world.production.id, &asked).await.unwrap();

    let keys: Vec<_> = found.iter().map(|secret| secret.key.as_str()).collect();
    assert_eq!(keys, ["A1", "AB", "A_B", "Z", "_A", "a"]);
}

/// `secrets` returns nothing for an empty list of secret keys or an unknown environment.
pub async fn requesting_no_keys_returns_no_secrets(store: &dyn Store) {
    let world = World::build(store).await;
    let own = secret(&world.production, "KEY");
    let unknown = environment(&world.project, "unknown");
    let mut tx = begin(store).await;
    tx.insert_secrets(from_ref(&own)).await.unwrap();

    let mut seen = committed(store, tx).await;

    assert_eq!(seen.secrets(world.production.id, &[]).await.unwrap(), []);
    assert_eq!(seen.secrets(unknown.id, from_ref(&own.key)).await.unwrap(), []);
    assert_eq!(seen.count_secrets(unknown.id).await.unwrap(), 0);
}

/// If one of the secret keys is already taken, `insert_secrets` inserts none of the secrets.
pub async fn a_key_in_use_fails_the_whole_insert(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    tx.insert_secrets(&[secret(&world.production, "M")]).await.unwrap();

    let all = ["A", "M", "Z"].map(|key| secret(&world.production, key));
    let refused = tx.insert_secrets(&all).await;

    assert_duplicate(refused, Subject::Secret);
    assert_eq!(committed(store, tx).await.count_secrets(world.production.id).await.unwrap(), 1);
}

/// If one call contains a secret key twice, `insert_secrets` inserts none of the secrets.
pub async fn a_repeated_key_fails_the_whole_insert(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;

    let twice = ["A", "B", "A"].map(|key| secret(&world.production, key));
    let refused = tx.insert_secrets(&twice).await;

    assert_duplicate(refused, Subject::Secret);
    assert_eq!(committed(store, tx).await.count_secrets(world.production.id).await.unwrap(), 0);
}

/// `insert_secrets` with an empty list does nothing.
pub async fn inserting_no_secrets_does_nothing(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;

    tx.insert_secrets(&[]).await.unwrap();

    assert_eq!(committed(store, tx).await.count_secrets(world.production.id).await.unwrap(), 0);
}

/// A thousand secrets can be inserted in one call, and loaded in one call.
pub async fn a_thousand_secrets_are_inserted_at_once(store: &dyn Store) {
    let world = World::build(store).await;
    let many: Vec<_> =
        (0..1_000).map(|number| secret(&world.production, &format!("KEY_{number:04}"))).collect();
    let keys: Vec<_> = many.iter().rev().map(|secret| secret.key.clone()).collect();
    let mut tx = begin(store).await;

    tx.insert_secrets(&many).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.secrets(world.production.id, &keys).await.unwrap(), many);
    assert_eq!(seen.count_secrets(world.production.id).await.unwrap(), 1_000);
}

/// `count_secrets` includes hidden secrets and changes made in the same transaction.
pub async fn an_environments_own_secrets_are_counted(store: &dyn Store) {
    let world = World::build(store).await;
    let plain = secret(&world.production, "PLAIN");
    let hidden = SecretRecord { hidden: true, ..secret(&world.production, "HIDDEN") };
    let mut tx = begin(store).await;
    tx.touch_environment(world.production.id, 1).await.unwrap();
    tx.insert_secrets(&[plain.clone(), hidden, secret(&world.staging, "OTHER")]).await.unwrap();
    assert_eq!(tx.count_secrets(world.production.id).await.unwrap(), 2);

    tx.replace_secrets(from_ref(&next_version(&plain))).await.unwrap();
    assert_eq!(tx.count_secrets(world.production.id).await.unwrap(), 2);
    tx.delete_secret(plain.id).await.unwrap();

    assert_eq!(tx.count_secrets(world.production.id).await.unwrap(), 1);
    assert_eq!(tx.count_secrets(world.development.id).await.unwrap(), 0);
}

/// `update_secret_description` changes the description, `updated_by` and `updated_at`, and nothing
/// else.
pub async fn a_new_description_changes_nothing_else(store: &dyn Store) {
    let world = World::build(store).await;
    let first = secret(&world.production, "KEY");
    let other = secret(&world.production, "OTHER");
    let described = SecretRecord {
        description: Some(sealed(b"what for")),
        updated_by: Some(world.member.id.uuid()),
        updated_at: at(60),
        ..first.clone()
    };
    let beyond = SecretRecord {
        description: described.description.clone(),
        updated_by: described.updated_by,
        updated_at: described.updated_at,
        ..SecretRecord { id: first.id, key: first.key.clone(), ..full(&world) }
    };
    let mut tx = begin(store).await;
    tx.insert_secrets(&[first, other.clone()]).await.unwrap();

    tx.update_secret_description(&beyond).await.unwrap();

    let mut seen = committed(store, tx).await;
    let keys = [other.key.clone(), described.key.clone()];
    assert_eq!(seen.secret_versions(described.id, u32::MAX, u32::MAX).await.unwrap(), []);
    assert_eq!(seen.secrets(world.production.id, &keys).await.unwrap(), [described, other]);
}

/// The description of a secret can be removed.
pub async fn a_description_can_be_cleared(store: &dyn Store) {
    let world = World::build(store).await;
    let described =
        SecretRecord { description: Some(sealed(b"what for")), ..secret(&world.production, "KEY") };
    let bare = SecretRecord { description: None, ..described.clone() };
    let mut tx = begin(store).await;
    tx.insert_secrets(&[described]).await.unwrap();

    tx.update_secret_description(&bare).await.unwrap();

    let found = committed(store, tx).await.secrets(world.production.id, from_ref(&bare.key)).await;
    assert_eq!(found.unwrap(), [bare]);
}

/// Deleting a secret deletes its versions, and no other secret.
pub async fn deleting_a_secret_deletes_its_versions(store: &dyn Store) {
    let world = World::build(store).await;
    let (gone, kept) = (secret(&world.production, "GONE"), secret(&world.production, "KEPT"));
    let newest = next_version(&kept);
    let mut tx = begin(store).await;
    tx.insert_secrets(&[gone.clone(), kept.clone()]).await.unwrap();
    tx.replace_secrets(from_ref(&next_version(&gone))).await.unwrap();
    tx.replace_secrets(from_ref(&newest)).await.unwrap();

    tx.delete_secret(gone.id).await.unwrap();

    let mut seen = committed(store, tx).await;
    let keys = [gone.key, kept.key];
    assert_eq!(seen.secret_versions(gone.id, u32::MAX, u32::MAX).await.unwrap(), []);
    assert_eq!(seen.secret_versions(kept.id, u32::MAX, u32::MAX).await.unwrap().len(), 1);
    assert_eq!(seen.secrets(world.production.id, &keys).await.unwrap(), [newest]);
}

/// A deleted secret cannot be deleted again.
pub async fn a_secret_that_is_gone_is_stale(store: &dyn Store) {
    let world = World::build(store).await;
    let gone = secret(&world.production, "KEY");
    let mut tx = begin(store).await;
    tx.insert_secrets(from_ref(&gone)).await.unwrap();
    tx.delete_secret(gone.id).await.unwrap();

    assert_stale(tx.delete_secret(gone.id).await, Subject::Secret);
    assert_stale(tx.delete_secret(secret(&world.production, "KEY").id).await, Subject::Secret);
}

/// The key of a deleted secret can be used again. The new secret has no previous versions.
pub async fn the_key_of_a_deleted_secret_is_free(store: &dyn Store) {
    let world = World::build(store).await;
    let (first, second) = (secret(&world.production, "KEY"), secret(&world.production, "KEY"));
    let mut tx = begin(store).await;
    tx.insert_secrets(from_ref(&first)).await.unwrap();
    tx.replace_secrets(from_ref(&next_version(&first))).await.unwrap();
    tx.delete_secret(first.id).await.unwrap();

    tx.insert_secrets(from_ref(&second)).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.secret_versions(second.id, u32::MAX, u32::MAX).await.unwrap(), []);
    assert_eq!(seen.secrets(world.production.id, &[first.key]).await.unwrap(), [second]);
}

/// Creates a secret with all optional fields present and with different times.
fn full(world: &World) -> SecretRecord {
    SecretRecord {
        sealed: sealed(&[0, 1, 254, 255]),
        hidden: true,
        description: Some(sealed(b"description")),
        version: u32::MAX,
        change: Change::Hidden,
        changed_by: Some(world.owner.id.uuid()),
        changed_at: at(2),
        created_by: Some(world.member.id.uuid()),
        updated_by: Some(world.outsider.id.uuid()),
        created_at: at(1),
        updated_at: at(3),
        ..secret(&world.production, &format!("_{}", "aB.9-".repeat(50)))
    }
}

fn key(text: &str) -> SecretKey {
    text.parse().unwrap()
}
