//! Conformance rules for audit chains (the entries of a log, each with a hash of the entry before
//! it), and for queries of the audit log.

use chrono::TimeDelta;
use uuid::Uuid;

use super::audit_batches::add_batch;
use super::{assert_stale, begin, committed, read};
use crate::model::{AuditId, Subject, TeamId};
use crate::store::{
    ActionFilter, AuditFilter, AuditHead, AuditOrder, AuditRecord, AuditScope, AuditSeal,
    ChainExtension, Store,
};
use crate::testing::fixtures::{World, at, entry};

fn head(team: Option<TeamId>, position: u64) -> AuditHead {
    let hash = [u8::try_from(position % 256).unwrap(); 32];
    AuditHead { team, base: 0, base_hash: [0; 32], position, hash, mac: [7; 32] }
}

/// Returns the positions and hashes with which these entries are appended to an audit chain that
/// ends at position `end`.
fn seals(entries: &[AuditRecord], end: u64) -> Vec<(AuditId, AuditSeal)> {
    let place = |position| AuditSeal { position, previous_hash: [1; 32], hash: [2; 32] };
    entries.iter().zip(end + 1..).map(|(entry, position)| (entry.id, place(position))).collect()
}

/// Returns the extension of an audit chain that ends at position `end` by these entries.
fn extension(head: AuditHead, entries: &[AuditRecord], end: u64) -> ChainExtension {
    ChainExtension { end, head, seals: seals(entries, end) }
}

async fn add(store: &dyn Store, entries: &[AuditRecord]) {
    let mut tx = begin(store).await;
    tx.insert_audit(entries).await.unwrap();
    tx.commit().await.unwrap();
}

/// Inserts `count` audit entries, `e1`, `e2`, …, of the test world's team, and appends them to the
/// team's audit chain.
async fn sealed(store: &dyn Store, world: &World, count: u64) -> Vec<AuditRecord> {
    let entries: Vec<_> = (1..=count)
        .map(|number| entry(&world.team, &format!("e{number}"), at(i64::try_from(number).unwrap())))
        .collect();
    add(store, &entries).await;
    let mut tx = begin(store).await;
    tx.seal_audit(&[extension(head(Some(world.team.id), count), &entries, 0)]).await.unwrap();
    tx.commit().await.unwrap();
    entries
}

fn actions(entries: &[AuditRecord]) -> Vec<&str> {
    entries.iter().map(|entry| entry.action.as_ref()).collect()
}

/// A new audit entry is not in any audit chain. `unsealed_audit` lists such entries of a team,
/// oldest first.
pub async fn a_new_entry_has_no_position(store: &dyn Store) {
    let world = World::build(store).await;
    let without_team = AuditRecord { team: None, ..entry(&world.team, "without a team", at(1)) };
    let entries =
        [entry(&world.team, "late", at(3)), without_team, entry(&world.team, "early", at(2))];
    let theirs = [entry(&world.other_team, "theirs", at(1))];

    add(store, &entries).await;
    add(store, &theirs).await;

    let mut reads = read(store).await;
    let mut teams = reads.unsealed_teams().await.unwrap();
    teams.sort();
    let mut expected = [None, Some(world.team.id), Some(world.other_team.id)];
    expected.sort();
    assert_eq!(teams, expected);
    assert_eq!(reads.count_unsealed_audit().await.unwrap(), 4);
    let team = Some(world.team.id);
    assert_eq!(actions(&reads.unsealed_audit(team, 10).await.unwrap()), ["early", "late"]);
    assert_eq!(actions(&reads.unsealed_audit(team, 1).await.unwrap()), ["early"]);
    assert_eq!(actions(&reads.unsealed_audit(None, 10).await.unwrap()), ["without a team"]);
    assert_eq!(reads.audit_chains().await.unwrap(), []);
}

/// `count_unsealed_audit_of` counts the entries of a team that are in no audit chain, up to a
/// limit. Entries in batches and entries of other teams are not counted.
pub async fn new_entries_of_a_team_are_counted(store: &dyn Store) {
    let world = World::build(store).await;
    let team = Some(world.team.id);
    sealed(store, &world, 2).await;
    let without_team = AuditRecord { team: None, ..entry(&world.team, "without a team", at(3)) };
    let entries = [4, 5, 6].map(|age| entry(&world.team, "new", at(age)));
    add(store, &entries).await;
    add(store, &[without_team]).await;
    add_batch(store, &[entry(&world.team, "in a batch", at(7))]).await;

    let mut reads = read(store).await;
    for (limit, count) in [(10, 3), (3, 3), (2, 2), (0, 0)] {
        assert_eq!(reads.count_unsealed_audit_of(team, limit).await.unwrap(), count, "{limit}");
    }
    assert_eq!(reads.count_unsealed_audit_of(None, 10).await.unwrap(), 1);
    let other = Some(world.other_team.id);
    assert_eq!(reads.count_unsealed_audit_of(other, 10).await.unwrap(), 0);
}

/// `next_audited_team` returns the teams with entries in an audit chain, in order of ID. It ignores
/// entries without a team and entries that are in no chain.
pub async fn teams_with_chained_entries_are_found_in_order_of_id(store: &dyn Store) {
    let world = World::build(store).await;
    let first = TeamId::from(Uuid::nil());
    assert_eq!(read(store).await.next_audited_team(first).await.unwrap(), None);
    sealed(store, &world, 2).await;
    let without_team = AuditRecord { team: None, ..entry(&world.team, "without a team", at(3)) };
    add(store, &[without_team]).await;
    add(store, &[entry(&world.other_team, "in no chain", at(4))]).await;
    assert_eq!(read(store).await.next_audited_team(first).await.unwrap(), Some(world.team.id));
    assert_eq!(read(store).await.next_audited_team(world.team.id).await.unwrap(), None);

    let other = Some(world.other_team.id);
    let unsealed = read(store).await.unsealed_audit(other, 1).await.unwrap();
    let mut tx = begin(store).await;
    tx.seal_audit(&[extension(head(other, 1), &unsealed, 0)]).await.unwrap();
    tx.commit().await.unwrap();

    let mut teams = [world.team.id, world.other_team.id];
    teams.sort();
    let mut reads = read(store).await;
    assert_eq!(reads.next_audited_team(first).await.unwrap(), Some(teams[0]));
    assert_eq!(reads.next_audited_team(teams[0]).await.unwrap(), Some(teams[1]));
    assert_eq!(reads.next_audited_team(teams[1]).await.unwrap(), None);
}

/// The position and hash of an entry, and the new head of the audit chain, are stored unchanged.
pub async fn a_position_is_kept(store: &dyn Store) {
    let world = World::build(store).await;
    let entries = [entry(&world.team, "one", at(1)), entry(&world.team, "two", at(2))];
    add(store, &entries).await;
    let (team, mut tx) = (Some(world.team.id), begin(store).await);

    tx.seal_audit(&[extension(head(team, 2), &entries, 0)]).await.unwrap();

    let mut reads = committed(store, tx).await;
    let chain = reads.audit_chain(team, 0, 10).await.unwrap();
    let expected = seals(&entries, 0);
    let found: Vec<_> = chain.iter().map(|entry| (entry.id, entry.seal.unwrap())).collect();
    assert_eq!(found, expected);
    assert_eq!(reads.audit_head(team).await.unwrap(), Some(head(team, 2)));
    assert_eq!(reads.audit_chains().await.unwrap(), [team]);
    assert_eq!(reads.unsealed_teams().await.unwrap(), []);
    let listed = reads.audit_entries(&AuditFilter::newest(world.team.id, 1)).await.unwrap();
    assert_eq!(listed[0].seal, Some(expected[1].1));
}

/// Entries without a team have their own audit chain.
pub async fn entries_without_a_team_are_chained_too(store: &dyn Store) {
    let world = World::build(store).await;
    let without_team = AuditRecord { team: None, ..entry(&world.team, "without a team", at(1)) };
    sealed(store, &world, 1).await;
    add(store, std::slice::from_ref(&without_team)).await;
    let mut tx = begin(store).await;

    tx.seal_audit(&[extension(head(None, 1), &[without_team], 0)]).await.unwrap();

    let mut reads = committed(store, tx).await;
    assert_eq!(actions(&reads.audit_chain(None, 0, 10).await.unwrap()), ["without a team"]);
    assert_eq!(actions(&reads.audit_chain(Some(world.team.id), 0, 10).await.unwrap()), ["e1"]);
    assert_eq!(reads.audit_chains().await.unwrap(), [None, Some(world.team.id)]);
    let without_chain = Some(world.other_team.id);
    let heads = reads.audit_heads_among(&[None, without_chain]).await.unwrap();
    assert_eq!(heads, [head(None, 1)]);
    assert_eq!(reads.audit_heads_among(&[]).await.unwrap(), []);
}

/// An audit chain can be extended only at its current end, and can be started only once.
pub async fn a_chain_with_another_head_is_stale(store: &dyn Store) {
    let world = World::build(store).await;
    sealed(store, &world, 2).await;
    let more = [entry(&world.team, "more", at(9))];
    add(store, &more).await;

    for end in [0, 1, 3] {
        let mut tx = begin(store).await;
        let result =
            tx.seal_audit(&[extension(head(Some(world.team.id), end + 1), &more, end)]).await;
        assert_stale(result, Subject::Audit);
    }
    let mut tx = begin(store).await;
    tx.seal_audit(&[extension(head(Some(world.team.id), 3), &more, 2)]).await.unwrap();
    assert_eq!(committed(store, tx).await.unsealed_teams().await.unwrap(), []);
}

/// An entry can be appended to an audit chain only once. A deleted entry cannot be appended.
pub async fn an_entry_gets_one_position(store: &dyn Store) {
    let world = World::build(store).await;
    let entries = sealed(store, &world, 2).await;
    let never_added = entry(&world.team, "never added", at(5));

    for again in [entries[0].clone(), never_added] {
        let mut tx = begin(store).await;
        let result = tx.seal_audit(&[extension(head(Some(world.team.id), 3), &[again], 2)]).await;
        assert_stale(result, Subject::Audit);
    }
}

/// One call can append more entries than fit into one SQL statement.
pub async fn thousands_of_entries_get_positions(store: &dyn Store) {
    let world = World::build(store).await;
    sealed(store, &world, 2_500).await;

    let mut reads = read(store).await;
    let page = reads.audit_chain(Some(world.team.id), 2_498, 10).await.unwrap();
    assert_eq!(actions(&page), ["e2499", "e2500"]);
    assert_eq!(reads.audit_chain(Some(world.team.id), 0, 7).await.unwrap().len(), 7);
}

/// Pruning deletes entries from the start of an audit chain and leaves its other entries unchanged.
pub async fn a_chain_loses_its_beginning(store: &dyn Store) {
    let world = World::build(store).await;
    let (team, entries) = (Some(world.team.id), sealed(store, &world, 4).await);
    let pruned = AuditHead { base: 3, base_hash: [3; 32], ..head(team, 4) };
    let mut tx = begin(store).await;

    tx.prune_audit(&pruned, 0).await.unwrap();

    let mut reads = committed(store, tx).await;
    assert_eq!(actions(&reads.audit_chain(team, 0, 10).await.unwrap()), ["e4"]);
    assert_eq!(reads.audit_head(team).await.unwrap(), Some(pruned));
    let listed = reads.audit_entries(&AuditFilter::newest(world.team.id, 10)).await.unwrap();
    assert_eq!(listed[0].id, entries[3].id);
    assert_eq!(listed.len(), 1);
}

/// `prune_audit` fails with `Stale` if the start or the end of the stored chain is not the expected
/// one.
pub async fn a_chain_that_changed_is_not_pruned(store: &dyn Store) {
    let world = World::build(store).await;
    sealed(store, &world, 4).await;
    let pruned = AuditHead { base: 2, ..head(Some(world.team.id), 4) };
    for (head, base) in [(pruned, 1), (AuditHead { position: 5, ..pruned }, 0)] {
        let mut tx = begin(store).await;
        assert_stale(tx.prune_audit(&head, base).await, Subject::Audit);
    }
    let mut reads = read(store).await;
    assert_eq!(reads.audit_chain(Some(world.team.id), 0, 10).await.unwrap().len(), 4);
}

/// `audit_position` returns the position of the first entry that was created at or after a time, or
/// `None` if the audit chain has no such entry.
pub async fn the_first_young_entry_is_found(store: &dyn Store) {
    let world = World::build(store).await;
    sealed(store, &world, 4).await;
    add(store, &[entry(&world.team, "without a place", at(9))]).await;

    let mut reads = read(store).await;
    let team = Some(world.team.id);
    assert_eq!(reads.audit_position(team, at(3)).await.unwrap(), Some(3));
    assert_eq!(reads.audit_position(team, at(0)).await.unwrap(), Some(1));
    assert_eq!(reads.audit_position(team, at(5)).await.unwrap(), None);
    assert_eq!(reads.audit_position(None, at(0)).await.unwrap(), None);
}

/// Consecutive pages of a query together return every entry once, in both sort orders. Entries of
/// the same microsecond are ordered by ID.
pub async fn pages_follow_each_other(store: &dyn Store) {
    let world = World::build(store).await;
    let entries: Vec<_> = (0..7_u8)
        .map(|number| AuditRecord {
            id: Uuid::from_u128(u128::from(number)).into(),
            ..entry(
                &world.team,
                &format!("e{number}"),
                at(1) + TimeDelta::microseconds(i64::from(number / 3)),
            )
        })
        .collect();
    add(store, &entries).await;
    let mut reads = read(store).await;

    for order in [AuditOrder::Oldest, AuditOrder::Newest] {
        let mut wanted = AuditFilter { order, ..AuditFilter::newest(world.team.id, 2) };
        let mut seen = Vec::new();
        loop {
            let page = reads.audit_entries(&wanted).await.unwrap();
            let Some(last) = page.last() else { break };
            wanted.behind = Some((last.created_at, last.id));
            seen.extend(page);
        }
        if order == AuditOrder::Newest {
            seen.reverse();
        }
        assert_eq!(seen, entries);
    }
}

/// A query returns only the entries that match its filter, for each field of the filter.
pub async fn a_query_returns_the_matching_entries(store: &dyn Store) {
    let world = World::build(store).await;
    let wanted_entry = AuditRecord {
        project: Some(world.project.id),
        environment: Some(world.production.id),
        actor_type: "service_token".into(),
        actor_id: Some(Uuid::from_u128(5)),
        resource_type: "secret".into(),
        resource_id: Some(Uuid::from_u128(6)),
        resource_name: Some("KEY".to_owned()),
        outcome: "denied".into(),
        address: Some([203, 0, 113, 9].into()),
        ..entry(&world.team, "secret.read", at(5))
    };
    let of_other_team = entry(&world.other_team, "secret.read", at(5));
    add(store, &[wanted_entry.clone(), entry(&world.team, "secrets_x", at(1)), of_other_team])
        .await;
    let any = || AuditFilter::newest(world.team.id, 10);
    let mut reads = read(store).await;

    for wanted in [
        AuditFilter { actions: vec![ActionFilter::Exactly("secret.read".into())], ..any() },
        AuditFilter { actions: vec![ActionFilter::Prefix("secret.".into())], ..any() },
        AuditFilter {
            actions: vec![
                ActionFilter::Exactly("none".into()),
                ActionFilter::Exactly("secret.read".into()),
            ],
            ..any()
        },
        AuditFilter { actor: Some(Uuid::from_u128(5)), ..any() },
        AuditFilter { actor_type: Some("service_token".into()), ..any() },
        AuditFilter { project: Some(world.project.id), ..any() },
        AuditFilter { environment: Some(world.production.id), ..any() },
        AuditFilter { resource_type: Some("secret".into()), ..any() },
        AuditFilter { resource: Some(Uuid::from_u128(6)), ..any() },
        AuditFilter { resource_name: Some("KEY".into()), ..any() },
        AuditFilter { outcome: Some("denied".into()), ..any() },
        AuditFilter { address: Some([203, 0, 113, 9].into()), ..any() },
        AuditFilter { from: Some(at(5)), ..any() },
        AuditFilter { from: Some(at(5)), to: Some(at(6)), ..any() },
        AuditFilter::newest(AuditScope::Actor(Uuid::from_u128(5)), 10),
    ] {
        let found = reads.audit_entries(&wanted).await.unwrap();
        assert_eq!(found, std::slice::from_ref(&wanted_entry), "{wanted:?}");
    }
    let before = AuditFilter { to: Some(at(5)), ..any() };
    assert_eq!(actions(&reads.audit_entries(&before).await.unwrap()), ["secrets_x"]);
}

/// A query for a team returns no entries of other teams.
pub async fn a_query_returns_entries_of_its_team_only(store: &dyn Store) {
    let world = World::build(store).await;
    let entries = [entry(&world.team, "ours", at(1)), entry(&world.other_team, "theirs", at(2))];
    add(store, &entries).await;
    let mut reads = read(store).await;

    for (team, action) in [(&world.team, "ours"), (&world.other_team, "theirs")] {
        let found = reads.audit_entries(&AuditFilter::newest(team.id, 10)).await.unwrap();
        assert_eq!(actions(&found), [action]);
    }
}

/// `audit_entry_at` returns the time and ID of the entry with a given number (the first is 1)
/// within the filter's scope, time range and cursor, in both sort orders. It ignores the other
/// conditions of the filter.
pub async fn a_range_ends_at_the_entry_counted(store: &dyn Store) {
    let world = World::build(store).await;
    let times = [1, 2, 2, 3, 4, 5];
    let entries = times.map(|seconds| entry(&world.team, "secret.read", at(seconds)));
    add(store, &entries).await;
    add(store, &[entry(&world.other_team, "secret.read", at(2))]).await;
    let mut reads = read(store).await;

    for order in [AuditOrder::Oldest, AuditOrder::Newest] {
        let all =
            AuditFilter { order, from: Some(at(2)), ..AuditFilter::newest(world.team.id, 10) };
        let all = AuditFilter { actor_type: Some("nobody".into()), ..all };
        let everything = AuditFilter { actor_type: None, ..all.clone() };
        let listed = reads.audit_entries(&everything).await.unwrap();
        for (count, last) in (1..).zip(&listed) {
            let end = reads.audit_entry_at(&all, count).await.unwrap();
            assert_eq!(end, Some((last.created_at, last.id)), "{order:?} {count}");
            let range = AuditFilter { until: end, ..everything.clone() };
            let found = reads.audit_entries(&range).await.unwrap();
            assert_eq!(found, listed[..count as usize], "{order:?} {count}");
        }
        assert_eq!(listed.len(), 5);
        assert_eq!(reads.audit_entry_at(&all, 6).await.unwrap(), None);
        assert_eq!(reads.audit_entry_at(&all, 0).await.unwrap(), None);
    }
}
