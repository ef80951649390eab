use super::*;
use crate::engine::Who;
use crate::model::{Origin, TeamId};
use crate::store::{AuditFilter, MemoryStore};
use crate::testing::StuckStore;
use crate::testing::fixtures::{World, at, entry, team, token, user};
use futures_util::FutureExt as _;
use std::sync::Arc;

/// Creates an example audit entry: a refused request of a service token, from this IP address
/// and at this time. Returns it with the user who created the token.
fn refusal(address: &str, seconds: i64) -> (UserId, AuditRecord) {
    let creator = user("alice");
    let token = token(&team(&creator, "ops"), &creator);
    let origin = Origin { address: Some(address.parse().unwrap()), ..Origin::default() };
    let caller = Caller::new(Who::Token(Arc::new(token)), origin);
    let context = AuditContext {
        team: Some(TeamId::from(Uuid::from_u128(1))),
        resource: Some(("service_token", Some(Uuid::from_u128(2)), None)),
        ..AuditContext::default()
    };
    let entry = context.into_entry(&caller, "token.used_denied", at(seconds));
    let actor_id = Some(Uuid::from_u128(3));
    (Uuid::from_u128(2).into(), AuditRecord { actor_id, ..entry })
}

fn count(kinds: &mut Kinds, address: &str, seconds: i64) -> Option<AuditRecord> {
    let (account, entry) = refusal(address, seconds);
    kinds.count(account, entry)
}

fn counted(entry: &AuditRecord) -> u64 {
    let details: Value = serde_json::from_str(&entry.metadata).unwrap();
    details["count"].as_u64().unwrap()
}

#[test]
fn the_first_refusal_is_recorded_at_once_and_the_others_with_the_next_minute() {
    let mut kinds = Kinds::default();

    let first = count(&mut kinds, "192.0.2.1", 0).unwrap();
    let others = (0..20_000).filter_map(|_| count(&mut kinds, "192.0.2.1", 1)).count();

    assert_eq!((counted(&first), others), (1, 0));
    assert!(kinds.take(at(2), false).is_empty());
    let later = kinds.take(at(61), false);
    assert_eq!(later.iter().map(counted).collect::<Vec<_>>(), [20_000]);
    assert!(kinds.take(at(121), false).is_empty());
    assert_eq!(kinds.len, 0);
}

#[test]
fn refusals_in_a_row_leave_one_entry_a_minute() {
    let mut kinds = Kinds::default();
    let mut entries = Vec::new();

    for second in 0..600 {
        entries.extend(count(&mut kinds, "192.0.2.1", second));
        entries.extend(kinds.take(at(second), false));
    }
    entries.extend(kinds.take(at(600), true));

    let minutes: Vec<_> = entries.iter().map(|entry| minute(entry.created_at)).collect();
    assert_eq!(minutes, (0..=10).map(|number| minute(at(0)) + number).collect::<Vec<_>>());
    assert_eq!(entries.iter().map(counted).sum::<u64>(), 600);
}

#[test]
fn addresses_are_counted_apart_until_there_are_too_many() {
    let mut kinds = Kinds::default();

    let first = (0..200).filter_map(|n| count(&mut kinds, &format!("192.0.2.{n}"), 0)).count();

    assert_eq!(first, MAX_KINDS_PER_ACCOUNT + 1);
    let rest = kinds.take(at(60), false);
    assert_eq!(rest.iter().map(counted).collect::<Vec<_>>(), [200 - 65]);
    assert_eq!(rest[0].address, None);
}

#[tokio::test]
async fn entries_of_a_user_who_was_deleted_meanwhile_have_no_name() {
    let store = MemoryStore::new();
    let world = World::build(&store).await;
    let denied = || AuditRecord {
        id: AuditId::draw(at(0)),
        actor_type: "user".into(),
        actor_id: Some(world.owner.id.uuid()),
        actor_name: Some("Alice".to_owned()),
        actor_email: Some("alice@example.com".to_owned()),
        ..entry(&world.team, "secret.read", at(0))
    };
    let names = async || {
        let filter = AuditFilter::newest(world.team.id, 9);
        let found = store.read().await.unwrap().audit_entries(&filter).await.unwrap();
        found.into_iter().map(|entry| (entry.actor_name, entry.actor_email)).collect::<Vec<_>>()
    };

    write(&store, &[denied()]).await.unwrap();
    assert!(names().await[0].1.is_some());
    let mut tx = store.begin().await.unwrap();
    tx.erase_user(world.owner.id, at(1)).await.unwrap();
    tx.anonymize_actor(world.owner.id, 9, at(1)).await.unwrap();
    tx.commit().await.unwrap();
    write(&store, &[denied(), denied()]).await.unwrap();

    assert_eq!(names().await, [(None, None), (None, None), (None, None)]);
}

#[tokio::test]
async fn a_cancelled_write_loses_no_refusal() {
    let (refusals, (_, denied)) = (Refusals::default(), refusal("192.0.2.1", 0));

    let cancelled = write_or_put_back(&refusals, &StuckStore, vec![denied]).now_or_never();

    assert!(cancelled.is_none());
    let due = lock(&refusals.0).take(at(0), false);
    assert_eq!(due.len(), 1);
    write_or_put_back(&refusals, &MemoryStore::new(), due).await.unwrap();
    assert!(lock(&refusals.0).unwritten.is_empty());
}

#[test]
fn an_ipv6_network_is_one_address() {
    let mut kinds = Kinds::default();

    assert!(count(&mut kinds, "2001:db8::1", 0).is_some());
    assert!(count(&mut kinds, "2001:db8::2", 0).is_none());
    assert!(count(&mut kinds, "2001:db8:0:1::1", 0).is_some());
}

#[test]
fn an_account_cannot_use_up_the_kinds() {
    let mut kinds = Kinds::default();

    for number in 0..1_000 {
        let (account, entry) = refusal("192.0.2.1", 0);
        let team = Some(TeamId::from(Uuid::from_u128(number)));
        kinds.count(account, AuditRecord { team, ..entry });
    }

    assert_eq!((kinds.len, kinds.dropped), (MAX_MERGED_KINDS, 1_000 - 128));
}

#[test]
fn the_number_of_kinds_is_bounded() {
    let mut kinds = Kinds::default();

    for number in 0..2 * MAX_KINDS {
        let (_, entry) = refusal("192.0.2.1", 0);
        kinds.count(Uuid::from_u128(number as u128).into(), entry);
    }

    assert_eq!((kinds.len, kinds.dropped), (MAX_KINDS, MAX_KINDS as u64));
}
