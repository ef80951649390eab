//! Conformance rules for scans and findings.

use chrono::TimeDelta;

use super::{assert_duplicate, assert_stale, begin, committed};
use crate::crypto::{Fingerprint, random};
use crate::model::scans::FindingStatus::{FalsePositive, Ignored, Resolved, Unresolved};
use crate::model::scans::{Severity, SourceKind};
use crate::model::{FindingId, ScanId, Subject};
use crate::store::{FindingRecord, KeptScans, ScanRecord, SecretLocation, Store};
use crate::testing::fixtures::{World, at, finding, scan};

/// A scan is loaded with all its fields, and its findings are loaded in order.
pub async fn a_scan_is_stored_with_its_findings(store: &dyn Store) {
    let world = World::build(store).await;
    let full = ScanRecord {
        project: Some(world.project.id),
        source: SourceKind::Files,
        source_name: Some("Ünï 日本 '\"".to_owned()),
        source_commit: Some("0f1e2d".to_owned()),
        high: 1,
        medium: 2,
        low: u32::MAX,
        is_truncated: true,
        secrets_compared: 10_000,
        completed_at: at(5),
        ..scan(&world.team, &world.owner)
    };
    let second = FindingRecord {
        description: String::new(),
        severity: Severity::Low,
        path: Some("a b/ü\\'.env".to_owned()),
        line: Some(u32::MAX),
        column: Some(1),
        commit: Some("0f1e2d".to_owned()),
        redacted: Some("gh…x".to_owned()),
        entropy: Some(412),
        secret: Some(SecretLocation {
            project: world.project.id,
            environment: world.staging.id,
            key: "KEY".to_owned(),
        }),
        status: Ignored,
        comment: Some("known".to_owned()),
        updated_at: at(9),
        updated_by: Some(world.member.id.uuid()),
        ..finding(&full, 1)
    };
    let first = finding(&full, 0);
    let mut tx = begin(store).await;

    tx.insert_scan(&full, &[second.clone(), first.clone()]).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.scan(full.id).await.unwrap(), Some(full.clone()));
    assert_eq!(seen.finding(full.id, second.id).await.unwrap(), Some(second.clone()));
    assert_eq!(seen.findings(full.id).await.unwrap(), [first, second]);
}

/// A lookup finds no scan or finding with an unknown ID, and no finding of another scan.
pub async fn an_unknown_scan_or_finding_is_not_found(store: &dyn Store) {
    let world = World::build(store).await;
    let [known, other] = [0, 1].map(|_| scan(&world.team, &world.owner));
    let held = finding(&known, 0);
    let mut tx = begin(store).await;
    tx.insert_scan(&known, std::slice::from_ref(&held)).await.unwrap();
    tx.insert_scan(&other, &[]).await.unwrap();

    let mut seen = committed(store, tx).await;

    assert_eq!(seen.scan(ScanId::draw(at(0))).await.unwrap(), None);
    assert_eq!(seen.findings(ScanId::draw(at(0))).await.unwrap(), []);
    assert_eq!(seen.finding(other.id, held.id).await.unwrap(), None);
    assert_eq!(seen.finding(known.id, FindingId::draw(at(0))).await.unwrap(), None);
}

/// Scan IDs are unique. A refused insertion stores no finding.
pub async fn a_scan_id_is_unique(store: &dyn Store) {
    let world = World::build(store).await;
    let first = scan(&world.team, &world.owner);
    let mut tx = begin(store).await;
    tx.insert_scan(&first, &[]).await.unwrap();

    let again = tx.insert_scan(&first, &[finding(&first, 0)]).await;

    assert_duplicate(again, Subject::Scan);
    assert_eq!(committed(store, tx).await.findings(first.id).await.unwrap(), []);
}

/// Scans of a team are listed newest first, up to the limit. The list can be restricted to one
/// project.
pub async fn scans_come_newest_first(store: &dyn Store) {
    let world = World::build(store).await;
    let made = |age, team, user| ScanRecord { created_at: at(age), ..scan(team, user) };
    let oldest = made(1, &world.team, &world.owner);
    let newest =
        ScanRecord { project: Some(world.project.id), ..made(3, &world.team, &world.owner) };
    let others = made(2, &world.other_team, &world.outsider);
    let mut tx = begin(store).await;
    for scan in [&newest, &oldest, &others] {
        tx.insert_scan(scan, &[]).await.unwrap();
    }

    let mut seen = committed(store, tx).await;

    let (team, other) = (world.team.id, world.other_team.id);
    let both = seen.scans(&[team, other], None, 9).await.unwrap();
    assert_eq!(both, [newest.clone(), others.clone(), oldest.clone()]);
    let first = seen.scans(&[team, other], None, 2).await.unwrap();
    assert_eq!(first, [newest.clone(), others]);
    assert_eq!(seen.scans(&[team], None, 9).await.unwrap(), [newest.clone(), oldest]);
    let project = seen.scans(&[team], Some(world.project.id), 9).await.unwrap();
    assert_eq!(project, [newest]);
    assert_eq!(seen.scans(&[other], Some(world.project.id), 9).await.unwrap(), []);
    assert_eq!(seen.scans(&[], None, 9).await.unwrap(), []);
}

/// A scan of a deleted project is not found.
pub async fn a_scan_of_a_deleted_project_is_not_found(store: &dyn Store) {
    let world = World::build(store).await;
    let held = ScanRecord { project: Some(world.project.id), ..scan(&world.team, &world.owner) };
    let free = scan(&world.team, &world.owner);
    let mut tx = begin(store).await;
    tx.insert_scan(&held, &[]).await.unwrap();
    tx.insert_scan(&free, &[]).await.unwrap();

    tx.delete_project(world.project.id, at(1)).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.scan(held.id).await.unwrap(), None);
    assert_eq!(seen.scans(&[world.team.id], None, 9).await.unwrap(), [free]);
}

/// An update replaces status and comment of a finding, and nothing else.
pub async fn status_and_comment_of_a_finding_are_kept(store: &dyn Store) {
    let world = World::build(store).await;
    let of = scan(&world.team, &world.owner);
    let [before, other] = [0, 1].map(|position| finding(&of, position));
    let mut tx = begin(store).await;
    tx.insert_scan(&of, &[before.clone(), other.clone()]).await.unwrap();
    let after = FindingRecord {
        status: Resolved,
        comment: Some("rotated".to_owned()),
        updated_at: at(0) + TimeDelta::hours(1),
        updated_by: Some(world.member.id.uuid()),
        ..before.clone()
    };

    let changed = FindingRecord { rule: "another".to_owned(), position: 7, ..after.clone() };
    tx.update_finding(&changed).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.findings(of.id).await.unwrap(), [after, other]);
}

/// Updating a deleted finding or deleting a deleted scan fails with `Stale`.
pub async fn a_scan_or_finding_that_is_gone_is_stale(store: &dyn Store) {
    let world = World::build(store).await;
    let of = scan(&world.team, &world.owner);
    let held = finding(&of, 0);
    let mut tx = begin(store).await;
    tx.insert_scan(&of, std::slice::from_ref(&held)).await.unwrap();
    tx.delete_scan(of.id).await.unwrap();

    assert_stale(tx.update_finding(&held).await, Subject::Finding);
    assert_stale(tx.delete_scan(of.id).await, Subject::Scan);
}

/// Deleting a scan deletes its findings, and no findings of other scans.
pub async fn a_deleted_scan_is_gone_with_its_findings(store: &dyn Store) {
    let world = World::build(store).await;
    let [gone, kept] = [0, 1].map(|_| scan(&world.team, &world.owner));
    let [lost, held] = [finding(&gone, 0), finding(&kept, 0)];
    let mut tx = begin(store).await;
    tx.insert_scan(&gone, std::slice::from_ref(&lost)).await.unwrap();
    tx.insert_scan(&kept, std::slice::from_ref(&held)).await.unwrap();

    tx.delete_scan(gone.id).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.scan(gone.id).await.unwrap(), None);
    assert_eq!(seen.finding(gone.id, lost.id).await.unwrap(), None);
    assert_eq!(seen.findings(kept.id).await.unwrap(), [held]);
}

/// The status that a team saves for a fingerprint applies only to this team, until the team saves
/// another status. Deleting scans does not delete the status.
pub async fn the_mark_of_a_fingerprint_applies_to_later_scans(store: &dyn Store) {
    let world = World::build(store).await;
    let (team, other) = (world.team.id, world.other_team.id);
    let mut known = [0; 3].map(|_| Fingerprint(random()));
    known.sort_unstable();
    let [first, second, third] = known;
    let mut tx = begin(store).await;

    tx.mark(team, first, Some(Ignored)).await.unwrap();
    tx.mark(team, first, Some(FalsePositive)).await.unwrap();
    tx.mark(team, second, Some(Ignored)).await.unwrap();
    tx.mark(other, third, Some(Ignored)).await.unwrap();

    let mut seen = committed(store, tx).await;
    let asked = [third, second, first, first];
    let marks = seen.marks(team, &asked).await.unwrap();
    assert_eq!(marks, [(first, FalsePositive), (second, Ignored)]);
    assert_eq!(seen.marks(other, &asked).await.unwrap(), [(third, Ignored)]);
    assert_eq!(seen.marks(team, &[]).await.unwrap(), []);
}

/// The status that a team saved for a fingerprint can be removed.
pub async fn a_mark_can_be_removed(store: &dyn Store) {
    let world = World::build(store).await;
    let fingerprint = Fingerprint(random());
    let mut tx = begin(store).await;
    tx.mark(world.team.id, fingerprint, Some(Ignored)).await.unwrap();

    tx.mark(world.team.id, fingerprint, None).await.unwrap();
    tx.mark(world.team.id, Fingerprint(random()), None).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.marks(world.team.id, &[fingerprint]).await.unwrap(), []);
}

/// A scan may have a thousand findings, and `marks` accepts a thousand fingerprints in one call.
pub async fn a_thousand_findings_are_inserted_at_once(store: &dyn Store) {
    let world = World::build(store).await;
    let of = scan(&world.team, &world.owner);
    let many: Vec<_> = (0..1_001).map(|position| finding(&of, position)).collect();
    let fingerprints: Vec<_> = many.iter().map(|finding| finding.fingerprint).collect();
    let mut tx = begin(store).await;
    tx.mark(world.team.id, fingerprints[1_000], Some(Ignored)).await.unwrap();

    tx.insert_scan(&of, &many).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.findings(of.id).await.unwrap(), many);
    let marks = seen.marks(world.team.id, &fingerprints).await.unwrap();
    assert_eq!(marks, [(fingerprints[1_000], Ignored)]);
    assert!(many.iter().all(|finding| finding.status == Unresolved));
}

/// Pruning deletes old scans with their findings, oldest first, up to the limit. It keeps the
/// statuses saved for fingerprints.
pub async fn old_scans_are_pruned(store: &dyn Store) {
    let world = World::build(store).await;
    let aged = |age| ScanRecord { created_at: at(age), ..scan(&world.team, &world.owner) };
    let [first, second, third, young] = [1, 2, 3, 10].map(aged);
    let found = finding(&first, 0);
    let mut tx = begin(store).await;
    tx.mark(world.team.id, found.fingerprint, Some(Ignored)).await.unwrap();
    tx.insert_scan(&first, std::slice::from_ref(&found)).await.unwrap();
    for scan in [&third, &second, &young] {
        tx.insert_scan(scan, &[]).await.unwrap();
    }

    let two = tx.prune_scans(at(10), 2).await.unwrap();
    let third = tx.scan(third.id).await.unwrap();
    let one = tx.prune_scans(at(10), 9).await.unwrap();
    let none = tx.prune_scans(at(10), 9).await.unwrap();

    assert_eq!((two, one, none), (2, 1, 0));
    assert!(third.is_some());
    let mut seen = committed(store, tx).await;
    for (scan, is_left) in [(&first, false), (&second, false), (&young, true)] {
        assert_eq!(seen.scan(scan.id).await.unwrap().is_some(), is_left);
    }
    assert_eq!(seen.findings(first.id).await.unwrap(), []);
    let marks = seen.marks(world.team.id, &[found.fingerprint]).await.unwrap();
    assert_eq!(marks, [(found.fingerprint, Ignored)]);
}

/// `prune_excess_scans` deletes scans with their findings, oldest first, up to the limit: those in
/// the project of the given scan or, if it has no project, those of its team without a project. It
/// keeps the newest scans, the scans of other projects and teams, and the statuses saved for
/// fingerprints. Scans with and without findings are counted separately.
pub async fn excess_scans_are_pruned(store: &dyn Store) {
    let world = World::build(store).await;
    let (team, project) = (world.team.id, Some(world.project.id));
    let clean = ScanRecord { high: 0, medium: 0, low: 0, ..scan(&world.team, &world.owner) };
    let of_none =
        |age| ScanRecord { id: ScanId::draw(at(0)), created_at: at(age), ..clean.clone() };
    let of_project = [4, 1, 3, 2].map(|age| ScanRecord { project, low: 1, ..of_none(age) });
    let [newest, oldest, third, second] = &of_project;
    let keep = |scans| KeptScans { scans, findings: u32::MAX };
    let without = [5, 6].map(|age| ScanRecord { project, ..of_none(age) });
    let of_team = [5, 1].map(of_none);
    let other = ScanRecord { created_at: at(1), ..scan(&world.other_team, &world.outsider) };
    let found = finding(oldest, 0);
    let mut tx = begin(store).await;
    tx.mark(team, found.fingerprint, Some(Ignored)).await.unwrap();
    for scan in of_project.iter().chain(&without).chain(&of_team).chain([&other]) {
        let findings = std::slice::from_ref(&found);
        let findings = if scan.id == oldest.id { findings } else { &[] };
        tx.insert_scan(scan, findings).await.unwrap();
    }

    assert_eq!(tx.prune_excess_scans(newest, keep(4), 9).await.unwrap(), 0);
    assert_eq!(tx.prune_excess_scans(newest, keep(1), 1).await.unwrap(), 1);
    assert_eq!(tx.scan(oldest.id).await.unwrap(), None);
    assert_eq!(tx.prune_excess_scans(oldest, keep(1), 9).await.unwrap(), 2);
    assert_eq!(tx.scan(second.id).await.unwrap(), None);
    assert_eq!(tx.scan(third.id).await.unwrap(), None);
    let left = tx.scans(&[team], project, 9).await.unwrap();
    assert_eq!(left, [without[1].clone(), without[0].clone(), newest.clone()]);
    assert_eq!(tx.prune_excess_scans(&without[0], keep(1), 9).await.unwrap(), 1);
    assert_eq!(tx.prune_excess_scans(&of_team[0], keep(1), 9).await.unwrap(), 1);

    let mut seen = committed(store, tx).await;
    let left = seen.scans(&[team, world.other_team.id], None, 9).await.unwrap();
    let [of_team, _] = of_team;
    assert_eq!(left.len(), 4);
    for kept in [&without[1], newest, &of_team, &other] {
        assert!(left.contains(kept), "{kept:?}");
    }
    assert_eq!(seen.findings(oldest.id).await.unwrap(), []);
    let marks = seen.marks(team, &[found.fingerprint]).await.unwrap();
    assert_eq!(marks, [(found.fingerprint, Ignored)]);
}

/// `prune_excess_scans` deletes the oldest scans of a team, in all its projects, until the
/// remaining scans have at most the given number of findings. Scans of deleted projects are counted
/// and deleted too. Scans without findings are counted separately, each as one finding. If more
/// must be deleted than the limit allows, the next call continues.
pub async fn scans_with_excess_findings_of_a_team_are_pruned(store: &dyn Store) {
    let world = World::build(store).await;
    let (team, project) = (world.team.id, Some(world.project.id));
    let aged = |age, low, project| {
        let created_at = at(age);
        ScanRecord { project, low, created_at, ..scan(&world.team, &world.owner) }
    };
    // Scans are deleted in the order of their age, which is not the order of their insertion.
    let full =
        [(7, 3, None), (1, 2, project), (3, 4, project), (2, 5, None), (5, 1, None), (6, 1, None)]
            .map(|(age, low, project)| aged(age, low, project));
    let clean = [1, 2, 3].map(|age| aged(age, 0, None));
    let other = ScanRecord { low: 9, ..scan(&world.other_team, &world.outsider) };
    let mut tx = begin(store).await;
    for scan in full.iter().chain(&clean).chain([&other]) {
        tx.insert_scan(scan, &[finding(scan, 0)]).await.unwrap();
    }
    tx.delete_project(world.project.id, at(60)).await.unwrap();
    let keep = |findings| KeptScans { scans: u32::MAX, findings };

    assert_eq!(tx.prune_excess_scans(&full[0], keep(16), 9).await.unwrap(), 0);
    assert_eq!(tx.prune_excess_scans(&full[0], keep(14), 9).await.unwrap(), 1);
    assert_eq!(tx.findings(full[1].id).await.unwrap(), []);
    // Scans with 5, 4, 1 and 1 findings are in excess. The first two have at least six findings.
    assert_eq!(tx.prune_excess_scans(&full[0], keep(3), 6).await.unwrap(), 2);
    assert_eq!(tx.findings(full[2].id).await.unwrap(), []);
    assert_eq!(tx.prune_excess_scans(&full[0], keep(4), 6).await.unwrap(), 1);
    assert_eq!(tx.prune_excess_scans(&clean[0], keep(2), 9).await.unwrap(), 1);

    let left = committed(store, tx).await.scans(&[team, other.team], None, 9).await.unwrap();
    assert_eq!(left.len(), 5);
    for kept in [&full[0], &full[5], &clean[1], &clean[2], &other] {
        assert!(left.contains(kept), "{kept:?}");
    }
}

/// `count_marks` counts the fingerprints for which a team has saved a status, also those of the
/// same transaction.
pub async fn marks_of_a_team_are_counted(store: &dyn Store) {
    let world = World::build(store).await;
    let (team, other) = (world.team.id, world.other_team.id);
    let [first, second] = [0; 2].map(|_| Fingerprint(random()));
    let mut tx = begin(store).await;
    assert_eq!(tx.count_marks(team).await.unwrap(), 0);

    tx.mark(team, first, Some(Ignored)).await.unwrap();
    tx.mark(team, first, Some(FalsePositive)).await.unwrap();
    tx.mark(team, second, Some(Ignored)).await.unwrap();
    tx.mark(other, second, Some(Ignored)).await.unwrap();

    assert_eq!(tx.count_marks(team).await.unwrap(), 2);
    tx.mark(team, second, None).await.unwrap();
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.count_marks(team).await.unwrap(), 1);
    assert_eq!(seen.count_marks(other).await.unwrap(), 1);
}
