//! Conformance rules for rotation attempts, and for the records that are deleted with a rotation.

use super::rotations_of_projects::elsewhere;
use super::{assert_duplicate, assert_stale, begin, committed, purge};
use crate::model::rotations::{AttemptState, Outcome, Slot, TriggerType};
use crate::model::{AttemptId, ProjectId, Subject};
use crate::store::{
    AttemptRecord, PurgeProgress, Reads, RotationRecord, Store, Tx, WebhookDeliveryRecord,
    WebhookRecord,
};
use crate::testing::fixtures::{
    World, at, attempt, concluded, keys, rotation, sealed, webhook, webhook_delivery,
};

/// An attempt is loaded with all its fields.
pub async fn all_fields_of_an_attempt_survive(store: &dyn Store) {
    let world = World::build(store).await;
    let of = rotation(&world.staging, "orders");
    let full = AttemptRecord {
        slot: Slot::B,
        pending: Some(sealed(&[0, 255])),
        state: AttemptState::RollingBack,
        trigger: TriggerType::Manual,
        triggered_by: Some(world.owner.id.uuid()),
        tries: u32::MAX,
        resumed: u32::MAX,
        error_code: Some("code".to_owned()),
        error_message: Some("Ünï '\"".to_owned()),
        started_at: at(1),
        ..attempt(&of, u64::try_from(i64::MAX).unwrap())
    };
    let over = concluded(&attempt(&of, 1), at(9));
    let mut tx = begin(store).await;
    tx.insert_rotation(&of, &[]).await.unwrap();

    tx.insert_attempt(&full).await.unwrap();
    tx.insert_attempt(&over).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.open_attempt(of.id).await.unwrap(), Some(full.clone()));
    assert_eq!(seen.attempt(full.id).await.unwrap(), Some(full));
    assert_eq!(seen.attempt(over.id).await.unwrap(), Some(over));
    assert_eq!(seen.attempt(AttemptId::draw(at(0))).await.unwrap(), None);
}

/// An attempt can be stored with every state and every outcome.
pub async fn every_state_of_an_attempt_survives(store: &dyn Store) {
    let world = World::build(store).await;
    let of = rotation(&world.staging, "orders");
    let first = attempt(&of, 1);
    let mut tx = begin(store).await;
    tx.insert_rotation(&of, &[]).await.unwrap();
    tx.insert_attempt(&first).await.unwrap();

    for state in AttemptState::ALL {
        let changed = AttemptRecord { state: *state, ..first.clone() };
        tx.update_attempt(&changed).await.unwrap();
        assert_eq!(tx.attempt(first.id).await.unwrap(), Some(changed));
    }
    tx.update_attempt(&concluded(&first, at(1))).await.unwrap();
    for (sequence, outcome) in (2..).zip(Outcome::ALL) {
        let over = concluded(&attempt(&of, sequence), at(1));
        let over = AttemptRecord { outcome: Some(*outcome), ..over };
        tx.insert_attempt(&over).await.unwrap();
        assert_eq!(tx.attempt(over.id).await.unwrap(), Some(over));
    }
}

/// `insert_attempt` fails with `Duplicate` while the rotation has an unfinished attempt, and
/// succeeds after that attempt has ended.
pub async fn one_attempt_of_a_rotation_is_open(store: &dyn Store) {
    let world = World::build(store).await;
    let [of, other] = ["a", "b"].map(|name| rotation(&world.staging, name));
    let (first, second) = (attempt(&of, 1), attempt(&of, 2));
    let mut tx = begin(store).await;
    tx.insert_rotation(&of, &[]).await.unwrap();
    tx.insert_rotation(&other, &[]).await.unwrap();
    tx.insert_attempt(&first).await.unwrap();

    assert_duplicate(tx.insert_attempt(&second).await, Subject::Rotation);
    tx.insert_attempt(&attempt(&other, 1)).await.unwrap();
    tx.update_attempt(&concluded(&first, at(5))).await.unwrap();
    assert_eq!(tx.open_attempt(of.id).await.unwrap(), None);
    tx.insert_attempt(&second).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.open_attempt(of.id).await.unwrap(), Some(second));
}

/// Inserting an attempt fails if another attempt of the rotation, finished or unfinished, has the
/// same sequence number.
pub async fn the_number_of_an_attempt_is_given_once(store: &dyn Store) {
    let world = World::build(store).await;
    let of = rotation(&world.staging, "orders");
    let over = concluded(&attempt(&of, 1), at(5));
    let mut tx = begin(store).await;
    tx.insert_rotation(&of, &[]).await.unwrap();
    tx.insert_attempt(&over).await.unwrap();

    assert_duplicate(tx.insert_attempt(&attempt(&of, 1)).await, Subject::Rotation);
    let again = concluded(&attempt(&of, 1), at(6));
    assert_duplicate(tx.insert_attempt(&again).await, Subject::Rotation);

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.concluded_attempts(of.id, 9).await.unwrap(), [over]);
}

/// Attempts that have ended are listed by sequence number, newest first, up to the limit.
pub async fn concluded_attempts_come_newest_first(store: &dyn Store) {
    let world = World::build(store).await;
    let of = rotation(&world.staging, "orders");
    // The clock may have been set back between the attempts.
    let [first, second, third] = [(1, 30), (2, 10), (3, 20)]
        .map(|(sequence, age)| concluded(&attempt(&of, sequence), at(age)));
    let mut tx = begin(store).await;
    tx.insert_rotation(&of, &[]).await.unwrap();
    for attempt in [&second, &third, &first, &attempt(&of, 4)] {
        tx.insert_attempt(attempt).await.unwrap();
    }

    let mut seen = committed(store, tx).await;

    let found = seen.concluded_attempts(of.id, 9).await.unwrap();
    assert_eq!(found, [third.clone(), second.clone(), first]);
    assert_eq!(seen.concluded_attempts(of.id, 2).await.unwrap(), [third, second]);
    assert_eq!(seen.concluded_attempts(of.id, 0).await.unwrap(), []);
}

/// An update changes the progress of an attempt, but not its ID or its rotation.
pub async fn an_update_stores_the_progress_of_an_attempt(store: &dyn Store) {
    let world = World::build(store).await;
    let [of, other] = ["a", "b"].map(|name| rotation(&world.staging, name));
    let before = attempt(&of, 1);
    let after = AttemptRecord {
        pending: Some(sealed(b"another")),
        state: AttemptState::Applying,
        tries: 2,
        resumed: 3,
        outcome: Some(Outcome::Failed),
        error_code: Some("code".to_owned()),
        error_message: Some("message".to_owned()),
        completed_at: Some(at(9)),
        ..before.clone()
    };
    let changed = AttemptRecord {
        rotation: other.id,
        sequence: 7,
        slot: Slot::B,
        trigger: TriggerType::Manual,
        triggered_by: Some(world.owner.id.uuid()),
        started_at: at(5),
        ..after.clone()
    };
    let mut tx = begin(store).await;
    tx.insert_rotation(&of, &[]).await.unwrap();
    tx.insert_rotation(&other, &[]).await.unwrap();
    tx.insert_attempt(&before).await.unwrap();

    tx.update_attempt(&changed).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.attempt(before.id).await.unwrap(), Some(after.clone()));
    assert_eq!(seen.concluded_attempts(of.id, 9).await.unwrap(), [after]);
}

/// An attempt that has ended never changes, and a deleted attempt cannot be updated.
pub async fn a_concluded_attempt_never_changes(store: &dyn Store) {
    let world = World::build(store).await;
    let of = rotation(&world.staging, "orders");
    let over = concluded(&attempt(&of, 1), at(5));
    let mut tx = begin(store).await;
    tx.insert_rotation(&of, &[]).await.unwrap();
    tx.insert_attempt(&over).await.unwrap();

    let reopened = AttemptRecord { completed_at: None, outcome: None, ..over.clone() };
    let changed = AttemptRecord { outcome: Some(Outcome::Failed), ..over.clone() };
    for update in [reopened, changed, over.clone(), attempt(&of, 2)] {
        assert_stale(tx.update_attempt(&update).await, Subject::Rotation);
    }

    assert_eq!(committed(store, tx).await.attempt(over.id).await.unwrap(), Some(over));
}

/// Deleting a rotation deletes its attempts, reserved secret keys, webhooks and deliveries. The
/// records of other rotations are kept.
pub async fn deleting_a_rotation_deletes_its_records(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    let gone = laden(&mut tx, &world).await;
    let kept = elsewhere(&mut tx, &world).await;
    let kept_webhook = webhook(&kept);
    tx.insert_attempt(&attempt(&kept, 1)).await.unwrap();
    tx.insert_webhook(&kept_webhook).await.unwrap();

    tx.delete_rotation(gone.rotation.id).await.unwrap();

    tx.insert_rotation(&rotation(&world.staging, "orders"), &keys(&["KEY"])).await.unwrap();
    let mut seen = committed(store, tx).await;
    gone.assert_gone(seen.as_mut()).await;
    assert!(seen.open_attempt(kept.id).await.unwrap().is_some());
    assert_eq!(seen.webhooks(kept.id).await.unwrap(), [kept_webhook]);
    let managed = seen.managed_keys(kept.environment, &keys(&["KEY"])).await.unwrap();
    assert_eq!(managed, keys(&["KEY"]));
}

/// Deleting an environment and purging it deletes its rotations with all records that belong to
/// them.
pub async fn deleting_an_environment_deletes_its_rotations(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    let gone = laden(&mut tx, &world).await;
    let kept = rotation(&world.production, "kept");
    tx.insert_rotation(&kept, &keys(&["KEY"])).await.unwrap();

    tx.delete_environment(world.staging.id).await.unwrap();

    let mut seen = committed(store, tx).await;
    let place = seen.rotation_location(gone.rotation.id).await.unwrap().unwrap();
    assert!(place.is_deleted && place.is_purged());
    purge(store, ProjectId::from(world.staging.id.uuid())).await;
    gone.assert_gone(seen.as_mut()).await;
    assert_eq!(seen.managed_keys(world.staging.id, &keys(&["KEY"])).await.unwrap(), []);
    assert_eq!(seen.rotations(world.production.id).await.unwrap(), [kept]);
}

/// Purging a project deletes its rotations.
pub async fn a_purged_project_has_no_rotations(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    let gone = laden(&mut tx, &world).await;
    let kept = elsewhere(&mut tx, &world).await;
    tx.delete_project(world.project.id, at(1)).await.unwrap();

    let project = world.project.id;
    while tx.purge_project(project, at(2), 10).await.unwrap() == PurgeProgress::Partial {}

    let mut seen = committed(store, tx).await;
    gone.assert_gone(seen.as_mut()).await;
    assert_eq!(seen.managed_keys(world.staging.id, &keys(&["KEY"])).await.unwrap(), []);
    assert_eq!(seen.rotation(kept.id).await.unwrap(), Some(kept));
}

/// Deleting a team deletes the rotations in its projects.
pub async fn a_deleted_team_has_no_rotations(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    let gone = laden(&mut tx, &world).await;
    let kept = elsewhere(&mut tx, &world).await;

    tx.delete_team(world.team.id, at(2)).await.unwrap();

    let mut seen = committed(store, tx).await;
    gone.assert_gone(seen.as_mut()).await;
    assert_eq!(seen.managed_keys(world.staging.id, &keys(&["KEY"])).await.unwrap(), []);
    assert_eq!(seen.due_rotations(at(99), None, 9).await.unwrap(), []);
    assert_eq!(seen.rotation(kept.id).await.unwrap(), Some(kept));
}

/// Test data: a rotation with two attempts, a reserved secret key, a webhook and a delivery.
struct Laden {
    rotation: RotationRecord,
    attempts: [AttemptRecord; 2],
    webhook: WebhookRecord,
    delivery: WebhookDeliveryRecord,
}

async fn laden(tx: &mut Box<dyn Tx>, world: &World) -> Laden {
    let mut rotation = rotation(&world.staging, "orders");
    rotation.schedule.work_at = Some(at(0));
    let attempts = [concluded(&attempt(&rotation, 1), at(1)), attempt(&rotation, 2)];
    let webhook = webhook(&rotation);
    let delivery = webhook_delivery(&webhook, at(1));
    tx.insert_rotation(&rotation, &keys(&["KEY"])).await.unwrap();
    for attempt in &attempts {
        tx.insert_attempt(attempt).await.unwrap();
    }
    tx.insert_webhook(&webhook).await.unwrap();
    tx.insert_webhook_delivery(&delivery).await.unwrap();
    Laden { rotation, attempts, webhook, delivery }
}

impl Laden {
    async fn assert_gone(&self, seen: &mut dyn Reads) {
        let id = self.rotation.id;
        assert_eq!(seen.rotation(id).await.unwrap(), None);
        assert!(seen.rotation_location(id).await.unwrap().is_none());
        for attempt in &self.attempts {
            assert_eq!(seen.attempt(attempt.id).await.unwrap(), None);
        }
        assert_eq!(seen.open_attempt(id).await.unwrap(), None);
        assert_eq!(seen.concluded_attempts(id, 9).await.unwrap(), []);
        assert_eq!(seen.webhooks(id).await.unwrap(), []);
        assert_eq!(seen.webhook(self.webhook.id).await.unwrap(), None);
        assert_eq!(seen.webhook_delivery(self.delivery.id).await.unwrap(), None);
    }
}

/// Pruning deletes attempts that ended before a given time, oldest first, up to the limit. It keeps
/// the last attempt of each rotation, and unfinished attempts.
pub async fn old_attempts_are_pruned(store: &dyn Store) {
    let world = World::build(store).await;
    let busy = RotationRecord { sequence: 5, ..rotation(&world.staging, "busy") };
    let idle = RotationRecord { sequence: 1, ..rotation(&world.staging, "idle") };
    let over = |of: &RotationRecord, sequence, age| concluded(&attempt(of, sequence), at(age));
    let [first, second, third] = [(1, 1), (2, 2), (3, 3)].map(|(of, age)| over(&busy, of, age));
    let (young, open, only) = (over(&busy, 4, 10), attempt(&busy, 5), over(&idle, 1, 1));
    let mut tx = begin(store).await;
    for rotation in [&busy, &idle] {
        tx.insert_rotation(rotation, &[]).await.unwrap();
    }
    for attempt in [&third, &first, &second, &young, &open, &only] {
        tx.insert_attempt(attempt).await.unwrap();
    }

    let two = tx.prune_attempts(at(10), 2).await.unwrap();
    let left = tx.concluded_attempts(busy.id, 9).await.unwrap();
    let one = tx.prune_attempts(at(10), 9).await.unwrap();
    let none = tx.prune_attempts(at(10), 9).await.unwrap();

    assert_eq!((two, one, none), (2, 1, 0));
    assert_eq!(left, [young.clone(), third]);
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.concluded_attempts(busy.id, 9).await.unwrap(), [young]);
    assert_eq!(seen.open_attempt(busy.id).await.unwrap(), Some(open));
    assert_eq!(seen.concluded_attempts(idle.id, 9).await.unwrap(), [only]);
}

/// Trimming deletes finished attempts of a rotation, except the newest ones, up to the limit. It
/// deletes no unfinished attempt, and no attempt of another rotation.
pub async fn surplus_attempts_are_deleted(store: &dyn Store) {
    let world = World::build(store).await;
    let [of, other] = ["a", "b"].map(|name| rotation(&world.staging, name));
    let open = attempt(&of, 1);
    // Not every sequence number is that of an attempt.
    let [first, second, third, fourth, fifth] =
        [2, 3, 10, 11, 20].map(|sequence| concluded(&attempt(&of, sequence), at(9)));
    let others = [3, 2, 1].map(|sequence| concluded(&attempt(&other, sequence), at(9)));
    let mut tx = begin(store).await;
    tx.insert_rotation(&of, &[]).await.unwrap();
    tx.insert_rotation(&other, &[]).await.unwrap();
    for attempt in [&third, &first, &open, &fifth, &second, &fourth].into_iter().chain(&others) {
        tx.insert_attempt(attempt).await.unwrap();
    }

    let none = tx.trim_attempts(of.id, 5, 9).await.unwrap();
    let two = tx.trim_attempts(of.id, 2, 2).await.unwrap();
    let left = tx.concluded_attempts(of.id, 9).await.unwrap().len();
    let one = tx.trim_attempts(of.id, 2, 2).await.unwrap();

    assert_eq!((none, two, left, one), (0, 2, 3, 1));
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.concluded_attempts(of.id, 9).await.unwrap(), [fifth, fourth]);
    assert_eq!(seen.open_attempt(of.id).await.unwrap(), Some(open));
    assert_eq!(seen.concluded_attempts(other.id, 9).await.unwrap(), others);
}

/// A rotation that is trimmed at each new attempt keeps few finished attempts, and its unfinished
/// attempt.
pub async fn a_trimmed_rotation_has_few_attempts(store: &dyn Store) {
    let world = World::build(store).await;
    let of = rotation(&world.staging, "orders");
    let mut tx = begin(store).await;
    tx.insert_rotation(&of, &[]).await.unwrap();

    for sequence in 1..=20 {
        let begun = attempt(&of, sequence);
        tx.insert_attempt(&begun).await.unwrap();
        tx.trim_attempts(of.id, 2, 3).await.unwrap();
        assert_eq!(tx.open_attempt(of.id).await.unwrap(), Some(begun.clone()));
        tx.update_attempt(&concluded(&begun, at(1))).await.unwrap();
    }

    let left = committed(store, tx).await.concluded_attempts(of.id, 99).await.unwrap();
    let left: Vec<_> = left.iter().map(|attempt| attempt.sequence).collect();
    assert_eq!(left, [20, 19, 18]);
}
