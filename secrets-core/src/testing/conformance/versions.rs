//! Conformance rules for replacing the value of a secret, and for its previous versions.

use std::slice::from_ref;

use super::{assert_stale, begin, committed};
use crate::model::Subject;
use crate::store::{Change, SecretRecord, SecretVersion, Store};
use crate::testing::fixtures::{World, at, next_version, sealed, secret};

/// Replacing a secret stores its next version, with all fields.
pub async fn the_next_version_replaces_the_current_one(store: &dyn Store) {
    let world = World::build(store).await;
    let first = SecretRecord {
        created_by: Some(world.member.id.uuid()),
        ..secret(&world.production, "KEY")
    };
    let second = SecretRecord {
        hidden: true,
        description: Some(sealed(b"what for")),
        change: Change::Hidden,
        changed_by: Some(world.owner.id.uuid()),
        updated_by: Some(world.owner.id.uuid()),
        ..next_version(&first)
    };
    let mut tx = begin(store).await;
    tx.insert_secrets(&[first]).await.unwrap();

    tx.replace_secrets(from_ref(&second)).await.unwrap();

    let found =
        committed(store, tx).await.secrets(world.production.id, from_ref(&second.key)).await;
    assert_eq!(found.unwrap(), [second]);
}

/// The replaced version of a secret is kept unchanged as a previous version, with the time of the
/// replacement.
pub async fn the_replaced_version_is_kept_as_it_was(store: &dyn Store) {
    let world = World::build(store).await;
    let first = SecretRecord {
        hidden: true,
        change: Change::Hidden,
        changed_by: Some(world.member.id.uuid()),
        changed_at: at(5),
        updated_at: at(6),
        ..secret(&world.production, "KEY")
    };
    let second = SecretRecord { hidden: false, changed_by: None, ..next_version(&first) };
    let third = SecretRecord { changed_by: Some(world.owner.id.uuid()), ..next_version(&second) };
    let mut tx = begin(store).await;
    tx.insert_secrets(from_ref(&first)).await.unwrap();

    tx.replace_secrets(from_ref(&second)).await.unwrap();
    tx.replace_secrets(from_ref(&third)).await.unwrap();

    let found =
        committed(store, tx).await.secret_versions(first.id, u32::MAX, u32::MAX).await.unwrap();
    assert_eq!(found, [replaced(&second, &third), replaced(&first, &second)]);
}

/// A secret that was never replaced has no previous versions, and neither does an unknown secret.
pub async fn a_first_version_has_replaced_nothing(store: &dyn Store) {
    let world = World::build(store).await;
    let only = secret(&world.production, "KEY");
    let mut tx = begin(store).await;
    tx.insert_secrets(from_ref(&only)).await.unwrap();

    let mut seen = committed(store, tx).await;

    assert_eq!(seen.secret_versions(only.id, u32::MAX, u32::MAX).await.unwrap(), []);
    assert_eq!(
        seen.secret_versions(secret(&world.production, "KEY").id, u32::MAX, u32::MAX)
            .await
            .unwrap(),
        []
    );
}

/// Previous versions are listed newest first, without gaps, even if there are more than ten.
pub async fn versions_come_newest_first(store: &dyn Store) {
    let world = World::build(store).await;
    let mut newest = secret(&world.production, "KEY");
    let mut tx = begin(store).await;
    tx.insert_secrets(from_ref(&newest)).await.unwrap();

    for _ in 0..12 {
        newest = next_version(&newest);
        tx.replace_secrets(from_ref(&newest)).await.unwrap();
    }

    let found =
        committed(store, tx).await.secret_versions(newest.id, u32::MAX, u32::MAX).await.unwrap();
    let numbers: Vec<_> = found.iter().map(|version| version.version).collect();
    assert_eq!(numbers, (1..=12).rev().collect::<Vec<_>>());
}

/// Previous versions with a number below a given number are listed, up to the limit.
pub async fn versions_come_in_pages(store: &dyn Store) {
    let world = World::build(store).await;
    let mut newest = secret(&world.production, "KEY");
    let mut tx = begin(store).await;
    tx.insert_secrets(from_ref(&newest)).await.unwrap();
    for _ in 0..5 {
        newest = next_version(&newest);
        tx.replace_secrets(from_ref(&newest)).await.unwrap();
    }
    let mut seen = committed(store, tx).await;

    for (before, limit, expected) in [
        (6, 2, vec![5, 4]),
        (4, 2, vec![3, 2]),
        (2, 2, vec![1]),
        (1, 2, vec![]),
        (0, 2, vec![]),
        (u32::MAX, 0, vec![]),
    ] {
        let found = seen.secret_versions(newest.id, before, limit).await.unwrap();
        let numbers: Vec<_> = found.iter().map(|version| version.version).collect();
        assert_eq!(numbers, expected, "{limit} before {before}");
        if limit > 0 {
            let history = seen.secret_history(newest.id, before, limit).await.unwrap();
            assert_eq!(history, Some(found));
        }
    }
}

/// `secret_history` returns an empty list for a secret without previous versions, and `None` for a
/// secret that does not exist.
pub async fn only_an_existing_secret_has_a_history(store: &dyn Store) {
    let world = World::build(store).await;
    let (kept, gone) = (secret(&world.production, "KEPT"), secret(&world.production, "GONE"));
    let mut tx = begin(store).await;
    tx.insert_secrets(&[kept.clone(), gone.clone()]).await.unwrap();
    tx.replace_secrets(from_ref(&next_version(&gone))).await.unwrap();
    tx.delete_secret(gone.id).await.unwrap();

    let mut seen = committed(store, tx).await;

    assert_eq!(seen.secret_history(kept.id, u32::MAX, 10).await.unwrap(), Some(Vec::new()));
    assert_eq!(seen.secret_history(gone.id, u32::MAX, 10).await.unwrap(), None);
}

/// The previous versions of a secret do not include versions of another secret.
pub async fn each_secret_has_versions_of_its_own(store: &dyn Store) {
    let world = World::build(store).await;
    let (one, two) = (secret(&world.production, "ONE"), secret(&world.production, "TWO"));
    let (next_one, next_two) = (next_version(&one), next_version(&two));
    let mut tx = begin(store).await;
    tx.insert_secrets(&[one.clone(), two.clone()]).await.unwrap();

    tx.replace_secrets(from_ref(&next_one)).await.unwrap();
    tx.replace_secrets(from_ref(&next_two)).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(
        seen.secret_versions(one.id, u32::MAX, u32::MAX).await.unwrap(),
        [replaced(&one, &next_one)]
    );
    assert_eq!(
        seen.secret_versions(two.id, u32::MAX, u32::MAX).await.unwrap(),
        [replaced(&two, &next_two)]
    );
    assert_eq!(seen.secrets(world.production.id, &[one.key]).await.unwrap(), [next_one]);
}

/// `replace_secrets` fails with `Stale` unless the new version number is the stored version number
/// plus one.
pub async fn a_version_out_of_turn_is_stale(store: &dyn Store) {
    let world = World::build(store).await;
    let second = SecretRecord { version: 2, ..secret(&world.production, "KEY") };
    let mut tx = begin(store).await;
    tx.insert_secrets(from_ref(&second)).await.unwrap();

    for version in [0, 1, 2, 4, u32::MAX] {
        let out_of_turn = SecretRecord { version, ..next_version(&second) };
        assert_stale(tx.replace_secrets(from_ref(&out_of_turn)).await, Subject::Secret);
    }

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.secret_versions(second.id, u32::MAX, u32::MAX).await.unwrap(), []);
    assert_eq!(seen.secrets(world.production.id, from_ref(&second.key)).await.unwrap(), [second]);
}

/// `replace_secrets` can replace several secrets in several environments, and keeps the replaced
/// version of each secret.
pub async fn several_secrets_are_replaced_at_once(store: &dyn Store) {
    let world = World::build(store).await;
    let first = [
        secret(&world.production, "ONE"),
        secret(&world.production, "TWO"),
        secret(&world.staging, "ONE"),
    ];
    let second = [
        SecretRecord { description: Some(sealed(b"what for")), ..next_version(&first[0]) },
        SecretRecord { hidden: true, change: Change::Hidden, ..next_version(&first[1]) },
        SecretRecord { changed_by: Some(world.owner.id.uuid()), ..next_version(&first[2]) },
    ];
    let unchanged = secret(&world.production, "UNCHANGED");
    let mut tx = begin(store).await;
    tx.insert_secrets(&first).await.unwrap();
    tx.insert_secrets(from_ref(&unchanged)).await.unwrap();

    tx.replace_secrets(&second).await.unwrap();

    let mut seen = committed(store, tx).await;
    for (old, new) in first.iter().zip(&second) {
        assert_eq!(seen.secrets(new.environment, from_ref(&new.key)).await.unwrap(), from_ref(new));
        let versions = seen.secret_versions(new.id, u32::MAX, u32::MAX).await.unwrap();
        assert_eq!(versions, [replaced(old, new)]);
    }
    let found = seen.secrets(world.production.id, from_ref(&unchanged.key)).await.unwrap();
    assert_eq!(found, [unchanged]);
}

/// `replace_secrets` replaces none of the given secrets if one of them cannot be replaced.
pub async fn of_several_secrets_all_or_none_are_replaced(store: &dyn Store) {
    let world = World::build(store).await;
    let held = [secret(&world.production, "ONE"), secret(&world.production, "TWO")];
    let gone = secret(&world.production, "GONE");
    let next = held.each_ref().map(next_version);
    let ahead = SecretRecord { version: 3, ..next[1].clone() };
    let mut tx = begin(store).await;
    tx.insert_secrets(&held).await.unwrap();
    let before = tx.environment_counters(world.production.id).await.unwrap();

    for refused in [next_version(&gone), ahead] {
        for batch in [[next[0].clone(), refused.clone()], [refused.clone(), next[0].clone()]] {
            assert_stale(tx.replace_secrets(&batch).await, Subject::Secret);
        }
    }

    assert_eq!(tx.environment_counters(world.production.id).await.unwrap(), before);
    let mut seen = committed(store, tx).await;
    let keys = held.each_ref().map(|secret| secret.key.clone());
    assert_eq!(seen.secrets(world.production.id, &keys).await.unwrap(), held);
    for secret in &held {
        assert_eq!(seen.secret_versions(secret.id, u32::MAX, u32::MAX).await.unwrap(), []);
    }
}

/// Replacing a deleted secret fails with `Stale` and does not create it again.
pub async fn a_secret_that_is_gone_cannot_be_replaced(store: &dyn Store) {
    let world = World::build(store).await;
    let gone = secret(&world.production, "KEY");
    let mut tx = begin(store).await;
    tx.insert_secrets(from_ref(&gone)).await.unwrap();
    tx.delete_secret(gone.id).await.unwrap();

    assert_stale(tx.replace_secrets(from_ref(&next_version(&gone))).await, Subject::Secret);

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.count_secrets(world.production.id).await.unwrap(), 0);
    assert_eq!(seen.secret_versions(gone.id, u32::MAX, u32::MAX).await.unwrap(), []);
}

/// The kind of change that created a version is stored, for the current version and for previous
/// versions.
pub async fn every_change_survives(store: &dyn Store) {
    let world = World::build(store).await;
    let mut seen = Vec::new();
    for change in [Change::Created, Change::Updated, Change::Hidden] {
        let first = SecretRecord { change, ..secret(&world.production, change.as_str()) };
        let second = SecretRecord { change, ..next_version(&first) };
        let mut tx = begin(store).await;
        tx.insert_secrets(from_ref(&first)).await.unwrap();

        tx.replace_secrets(from_ref(&second)).await.unwrap();

        let mut reader = committed(store, tx).await;
        let present = reader.secrets(world.production.id, &[first.key]).await.unwrap();
        let past = reader.secret_versions(first.id, u32::MAX, u32::MAX).await.unwrap();
        seen.push((present[0].change, past[0].change));
    }

    assert_eq!(
        seen,
        [Change::Created, Change::Updated, Change::Hidden].map(|change| (change, change))
    );
}

/// The highest possible version number is stored.
pub async fn the_highest_version_number_survives(store: &dyn Store) {
    let world = World::build(store).await;
    let last_but_one = SecretRecord { version: u32::MAX - 1, ..secret(&world.production, "KEY") };
    let last = next_version(&last_but_one);
    let mut tx = begin(store).await;
    tx.insert_secrets(from_ref(&last_but_one)).await.unwrap();

    tx.replace_secrets(from_ref(&last)).await.unwrap();

    let mut seen = committed(store, tx).await;
    let versions = seen.secret_versions(last.id, u32::MAX, u32::MAX).await.unwrap();
    assert_eq!(versions, [replaced(&last_but_one, &last)]);
    assert_eq!(seen.secrets(world.production.id, from_ref(&last.key)).await.unwrap(), [last]);
}

/// A large value is stored completely as a previous version.
pub async fn a_large_replaced_value_survives(store: &dyn Store) {
    let world = World::build(store).await;
    let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(70_000).collect();
    let large = SecretRecord { sealed: sealed(&bytes), ..secret(&world.production, "KEY") };
    let next = next_version(&large);
    let mut tx = begin(store).await;
    tx.insert_secrets(from_ref(&large)).await.unwrap();

    tx.replace_secrets(from_ref(&next)).await.unwrap();

    let versions =
        committed(store, tx).await.secret_versions(large.id, u32::MAX, u32::MAX).await.unwrap();
    assert_eq!(versions, [replaced(&large, &next)]);
}

/// Returns the previous version that the store is expected to keep after `new` replaced `old`.
fn replaced(old: &SecretRecord, new: &SecretRecord) -> SecretVersion {
    SecretVersion {
        secret: old.id,
        version: old.version,
        sealed: old.sealed.clone(),
        hidden: old.hidden,
        change: old.change,
        changed_by: old.changed_by,
        changed_at: old.changed_at,
        replaced_at: new.changed_at,
    }
}
