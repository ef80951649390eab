//! Conformance rules for the audit log.

use std::collections::BTreeSet;
use std::slice::from_ref;

use chrono::TimeDelta;
use uuid::Uuid;

use super::{begin, committed, read};
use crate::model::{EnvironmentId, ProjectId, TeamId, UserId};
use crate::store::{AuditFilter, AuditOrder, AuditRecord, AuditScope, Store, UserRecord};
use crate::testing::fixtures::{World, at, entry, team, user};

/// All fields of an audit log entry are stored, with an IPv4 or an IPv6 address.
pub async fn everything_of_an_entry_survives(store: &dyn Store) {
    let world = World::build(store).await;
    let telling = AuditRecord {
        project: Some(world.project.id),
        project_name: Some("Ünï 日本".to_owned()),
        environment: Some(world.production.id),
        environment_name: Some("production".to_owned()),
        actor_type: "service_token".into(),
        actor_id: Some(world.owner.id.uuid()),
        actor_name: Some("O'Brien".to_owned()),
        actor_email: Some("owner@example.com".to_owned()),
        resource_id: Some(Uuid::from_u128(u128::MAX)),
        resource_name: Some(String::new()),
        outcome: "failure".into(),
        metadata: r#"{"z": 1, "a": ["ünï", null], "b":1.0}"#.to_owned(),
        address: Some([203, 0, 113, 255].into()),
        agent: Some("curl/8 \"x\" \\ '".to_owned()),
        request: Some(Uuid::from_u128(1)),
        ..entry(&world.team, "secret.created", at(1))
    };
    let by_ipv6 = AuditRecord {
        address: Some([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into()),
        ..entry(&world.team, "secret.deleted", at(0))
    };
    let mut tx = begin(store).await;

    tx.insert_audit(&[telling.clone(), by_ipv6.clone()]).await.unwrap();

    let found = committed(store, tx)
        .await
        .audit_entries(&AuditFilter::newest(world.team.id, 10))
        .await
        .unwrap();
    assert_eq!(found, [telling, by_ipv6]);
}

/// Fields of an audit log entry that are `None` when the entry is inserted are `None` when the
/// entry is loaded.
pub async fn absent_fields_of_an_entry_stay_absent(store: &dyn Store) {
    let world = World::build(store).await;
    let bare = entry(&world.team, "team.created", at(0));
    let mut tx = begin(store).await;

    tx.insert_audit(from_ref(&bare)).await.unwrap();

    assert_eq!(
        committed(store, tx)
            .await
            .audit_entries(&AuditFilter::newest(world.team.id, 1))
            .await
            .unwrap(),
        [bare]
    );
}

/// Audit log entries are listed newest first, with microsecond precision, regardless of the order
/// of their insertion.
pub async fn entries_come_newest_first(store: &dyn Store) {
    let world = World::build(store).await;
    let entries = [2_u8, 0, 3, 1].map(|micros| AuditRecord {
        // IDs are ordered by millisecond only; these are in the opposite order.
        id: Uuid::from_u128(9 - u128::from(micros)).into(),
        ..entry(&world.team, &format!("e{micros}"), at(5) + TimeDelta::microseconds(micros.into()))
    });
    let mut tx = begin(store).await;

    tx.insert_audit(&entries[..2]).await.unwrap();
    tx.insert_audit(&entries[2..]).await.unwrap();
    tx.insert_audit(&[entry(&world.team, "latest", at(60)), entry(&world.team, "first", at(0))])
        .await
        .unwrap();

    let found = committed(store, tx)
        .await
        .audit_entries(&AuditFilter::newest(world.team.id, 100))
        .await
        .unwrap();
    assert_eq!(actions(&found), ["latest", "e3", "e2", "e1", "e0", "first"]);
}

/// A query with a limit returns the newest audit log entries.
pub async fn a_limit_leaves_the_newest_entries(store: &dyn Store) {
    let world = World::build(store).await;
    let entries = [1, 2, 3].map(|age| entry(&world.team, &format!("e{age}"), at(age)));
    let mut tx = begin(store).await;
    tx.insert_audit(&entries).await.unwrap();
    let mut seen = committed(store, tx).await;

    for (limit, expected) in [
        (0, &[][..]),
        (1, &["e3"]),
        (2, &["e3", "e2"]),
        (3, &["e3", "e2", "e1"]),
        (u32::MAX, &["e3", "e2", "e1"]),
    ] {
        let found = seen.audit_entries(&AuditFilter::newest(world.team.id, limit)).await.unwrap();
        assert_eq!(actions(&found), expected, "{limit}");
    }
}

/// A query for a team's log returns neither the entries of another team nor entries without a team.
pub async fn a_team_has_entries_of_its_own(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;

    tx.insert_audit(&[
        entry(&world.team, "ours", at(1)),
        entry(&world.other_team, "theirs", at(2)),
        AuditRecord { team: None, ..entry(&world.team, "without a team", at(3)) },
    ])
    .await
    .unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(
        actions(&seen.audit_entries(&AuditFilter::newest(world.team.id, 10)).await.unwrap()),
        ["ours"]
    );
    assert_eq!(
        actions(&seen.audit_entries(&AuditFilter::newest(world.other_team.id, 10)).await.unwrap()),
        ["theirs"]
    );
    let unknown = team(&world.owner, "unknown").id;
    assert_eq!(seen.audit_entries(&AuditFilter::newest(unknown, 10)).await.unwrap(), []);
}

/// Inserting an audit log entry whose ID exists leaves the stored entry unchanged and inserts the
/// other entries of the same call.
pub async fn an_entry_that_is_written_again_is_left_alone(store: &dyn Store) {
    let world = World::build(store).await;
    let first = entry(&world.team, "first", at(1));
    let second = entry(&world.team, "second", at(2));
    let again = AuditRecord { action: "changed".into(), ..first.clone() };
    let mut tx = begin(store).await;
    tx.insert_audit(from_ref(&first)).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = begin(store).await;

    tx.insert_audit(&[again.clone(), second.clone(), second.clone()]).await.unwrap();
    tx.insert_audit(&[again]).await.unwrap();

    let found = committed(store, tx)
        .await
        .audit_entries(&AuditFilter::newest(world.team.id, 10))
        .await
        .unwrap();
    assert_eq!(found, [second, first]);
}

/// Inserting an empty list of audit log entries does nothing.
pub async fn adding_no_entries_does_nothing(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;

    tx.insert_audit(&[]).await.unwrap();

    assert_eq!(
        committed(store, tx)
            .await
            .audit_entries(&AuditFilter::newest(world.team.id, 10))
            .await
            .unwrap(),
        []
    );
}

/// Hundreds of audit log entries can be inserted in a single call.
pub async fn hundreds_of_entries_are_inserted_at_once(store: &dyn Store) {
    let world = World::build(store).await;
    let entries: Vec<_> = (0..500).rev().map(|age| entry(&world.team, "many", at(age))).collect();
    let mut tx = begin(store).await;

    tx.insert_audit(&entries).await.unwrap();

    assert_eq!(
        committed(store, tx)
            .await
            .audit_entries(&AuditFilter::newest(world.team.id, 500))
            .await
            .unwrap(),
        entries
    );
}

/// An audit log entry is kept after the resource that it describes is deleted.
pub async fn an_entry_outlives_the_resource_it_describes(store: &dyn Store) {
    let world = World::build(store).await;
    let of_deleted = AuditRecord {
        project: Some(world.project.id),
        environment: Some(world.production.id),
        ..entry(&world.team, "secret.created", at(1))
    };
    let mut tx = begin(store).await;
    tx.insert_audit(from_ref(&of_deleted)).await.unwrap();

    tx.delete_environment(world.production.id).await.unwrap();
    tx.delete_project(world.project.id, at(2)).await.unwrap();

    let found = committed(store, tx)
        .await
        .audit_entries(&AuditFilter::newest(world.team.id, 10))
        .await
        .unwrap();
    assert_eq!(found, [of_deleted]);
}

/// An audit log entry may contain IDs of resources that are deleted or never existed: the table has
/// no foreign keys.
pub async fn an_entry_refers_to_nothing(store: &dyn Store) {
    let world = World::build(store).await;
    let team = TeamId::draw(at(0));
    let of_nothing = AuditRecord {
        team: Some(team),
        project: Some(ProjectId::draw(at(0))),
        environment: Some(EnvironmentId::draw(at(0))),
        actor_id: Some(user("unknown").id.uuid()),
        ..entry(&world.team, "secret.created", at(1))
    };
    let mut tx = begin(store).await;

    tx.insert_audit(from_ref(&of_nothing)).await.unwrap();

    assert_eq!(
        committed(store, tx).await.audit_entries(&AuditFilter::newest(team, 10)).await.unwrap(),
        [of_nothing]
    );
}

/// An audit log entry that is inserted in a dropped transaction is not stored.
pub async fn an_entry_is_undone_with_its_transaction(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    tx.insert_audit(&[entry(&world.team, "secret.created", at(1))]).await.unwrap();

    drop(tx);

    assert_eq!(
        read(store).await.audit_entries(&AuditFilter::newest(world.team.id, 10)).await.unwrap(),
        []
    );
}

fn actions(entries: &[AuditRecord]) -> Vec<&str> {
    entries.iter().map(|entry| entry.action.as_ref()).collect()
}

/// Anonymizing a user removes name and e-mail address from the entries whose actor is the user, but
/// keeps the ID and the action. Other entries are unchanged.
pub async fn a_forgotten_actor_loses_name_and_address(store: &dyn Store) {
    let world = World::build(store).await;
    let by = |actor_type: &str, actor: UserId, second| AuditRecord {
        actor_type: actor_type.to_owned().into(),
        actor_id: Some(actor.uuid()),
        actor_name: Some("Alice".to_owned()),
        actor_email: Some("alice@example.com".to_owned()),
        resource_name: Some("KEY".to_owned()),
        ..entry(&world.team, "secret.read", at(second))
    };
    let theirs = by("user", world.owner.id, 1);
    let without_team = AuditRecord { team: None, ..by("user", world.owner.id, 2) };
    let others = by("user", world.member.id, 3);
    let machines = by("service_token", world.owner.id, 4);
    let all = [theirs.clone(), without_team, others.clone(), machines.clone()];
    let mut tx = begin(store).await;
    tx.insert_audit(&all).await.unwrap();

    assert!(tx.anonymize_actor(world.owner.id, 3, at(5)).await.unwrap());

    let mut seen = committed(store, tx).await;
    let of_team = seen.audit_entries(&AuditFilter::newest(world.team.id, 10)).await.unwrap();
    let nameless = AuditRecord { actor_name: None, actor_email: None, ..theirs };
    assert_eq!(of_team, [machines, others, nameless]);
    let of_actor = AuditScope::Actor(world.owner.id.uuid());
    let of_actor = seen.audit_entries(&AuditFilter::newest(of_actor, 10)).await.unwrap();
    let named = of_actor.iter().filter(|entry| entry.actor_name.is_some());
    assert_eq!(named.map(|entry| entry.actor_type.as_ref()).collect::<Vec<_>>(), ["service_token"]);
}

/// `anonymize_actor` changes the oldest entries, up to the limit, and `resume_anonymization` the
/// next ones. `unfinished_anonymizations` lists the user until no entries were found for ten
/// minutes. Entries that are written meanwhile are changed too, even if their time is earlier.
pub async fn an_actor_is_anonymized_in_batches(store: &dyn Store) {
    let world = World::build(store).await;
    let by = |actor: &UserRecord, second: i64| AuditRecord {
        actor_type: "user".into(),
        actor_id: Some(actor.id.uuid()),
        actor_name: Some(second.to_string()),
        ..entry(&world.team, "secret.read", at(second))
    };
    // Two of the entries have the same time.
    let (owner, member) = (&world.owner, &world.member);
    let of_owner = [1, 2, 2, 3, 4].map(|second| by(owner, second));
    let of_member = [1, 2].map(|second| by(member, second));
    let mut tx = begin(store).await;
    tx.insert_audit(&[&of_owner[..], &of_member].concat()).await.unwrap();
    tx.commit().await.unwrap();

    let no_names = Vec::<&str>::new();
    let both = || vec![owner.id, member.id];
    for (begins, user, second, is_complete, unfinished, names) in [
        (true, owner, 5, false, vec![owner.id], vec!["2", "3", "4"]),
        (true, member, 5, false, both(), vec!["2", "3", "4"]),
        (false, owner, 6, false, both(), vec!["4"]),
        (false, owner, 6, true, both(), no_names.clone()),
        // The ten minutes begin when no entries are found, not at the time of the last entry.
        (false, member, 1_205, true, both(), no_names.clone()),
        (false, member, 1_804, true, both(), no_names.clone()),
        (false, member, 1_805, true, vec![owner.id], no_names.clone()),
        // A complete anonymization does not begin again.
        (false, member, 1_806, true, vec![owner.id], no_names.clone()),
        (false, owner, 605, true, vec![owner.id], no_names.clone()),
        (false, owner, 606, true, Vec::new(), no_names),
    ] {
        let mut tx = begin(store).await;
        let completed = if begins {
            tx.anonymize_actor(user.id, 2, at(second)).await
        } else {
            tx.resume_anonymization(user.id, 2, at(second)).await
        };
        assert_eq!(completed.unwrap(), is_complete);

        let mut seen = committed(store, tx).await;
        let listed = seen.unfinished_anonymizations(10).await.unwrap();
        let listed: BTreeSet<_> = listed.into_iter().collect();
        assert_eq!(listed, unfinished.into_iter().collect());
        let one = seen.unfinished_anonymizations(1).await.unwrap();
        assert_eq!(one.len(), listed.len().min(1));
        let oldest = AuditFilter {
            order: AuditOrder::Oldest,
            ..AuditFilter::newest(AuditScope::Actor(owner.id.uuid()), 10)
        };
        let entries = seen.audit_entries(&oldest).await.unwrap();
        let named = entries.iter().filter_map(|entry| entry.actor_name.as_deref());
        assert_eq!(named.collect::<Vec<_>>(), names);
    }
}

/// Entries of a deleted user that are inserted after the anonymization are anonymized too, until
/// none was inserted for ten minutes. Their time may be up to ten minutes earlier.
pub async fn late_entries_of_an_actor_are_anonymized(store: &dyn Store) {
    let world = World::build(store).await;
    let late = |second: i64| AuditRecord {
        actor_type: "user".into(),
        actor_id: Some(world.owner.id.uuid()),
        actor_email: Some("alice@example.com".to_owned()),
        ..entry(&world.team, "secret.read", at(second))
    };
    let mut tx = begin(store).await;
    assert!(tx.anonymize_actor(world.owner.id, 9, at(1_000)).await.unwrap());
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.unfinished_anonymizations(9).await.unwrap(), [world.owner.id]);

    for (written, now, is_listed) in [
        (Some(999), 1_001, true),
        (Some(1_500), 1_590, true),
        (None, 2_189, true),
        (None, 2_190, false),
    ] {
        let mut tx = begin(store).await;
        let entries: Vec<_> = written.map(late).into_iter().collect();
        tx.insert_audit(&entries).await.unwrap();
        assert!(tx.resume_anonymization(world.owner.id, 9, at(now)).await.unwrap());
        let mut seen = committed(store, tx).await;
        let of_actor = AuditScope::Actor(world.owner.id.uuid());
        let entries = seen.audit_entries(&AuditFilter::newest(of_actor, 9)).await.unwrap();
        assert!(entries.iter().all(|entry| entry.actor_email.is_none()));
        let listed = seen.unfinished_anonymizations(9).await.unwrap();
        assert_eq!(listed.len(), usize::from(is_listed), "{now}");
    }
}
