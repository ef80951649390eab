//! Conformance rules for the outbox (deliveries of mail and webhooks that are sent after a commit).

use super::{assert_stale, begin, committed};
use crate::model::Subject;
use crate::store::{DeliveryRecord, Store};
use crate::testing::fixtures::{at, delivery};

/// A delivery is listed as due at its `next_attempt_at` and later, with all its fields.
pub async fn a_delivery_is_due_once_its_time_has_come(store: &dyn Store) {
    let full = DeliveryRecord {
        payload: r#"{"ünï":"日本 '\\"}"#.to_owned(),
        attempts: 3,
        created_at: at(5),
        ..delivery(at(10))
    };
    let mut tx = begin(store).await;

    tx.insert_delivery(&full).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.due_deliveries("invitation", at(9), None, 10).await.unwrap(), []);
    assert_eq!(seen.due_deliveries("invitation", at(10), None, 10).await.unwrap(), [full]);
}

/// Deliveries that have been due for the longest time are listed first, up to the limit.
pub async fn the_longest_due_come_first(store: &dyn Store) {
    let all = [30, 10, 20].map(|age| delivery(at(age)));
    let mut tx = begin(store).await;
    for delivery in &all {
        tx.insert_delivery(delivery).await.unwrap();
    }

    let due =
        committed(store, tx).await.due_deliveries("invitation", at(60), None, 2).await.unwrap();

    let [_, oldest, middle] = all;
    assert_eq!(due, [oldest, middle]);
}

/// A list of due deliveries contains only deliveries of the given kind.
pub async fn each_kind_of_delivery_is_listed_separately(store: &dyn Store) {
    let mail = delivery(at(2));
    let call = DeliveryRecord { kind: "call".to_owned(), ..delivery(at(1)) };
    let mut tx = begin(store).await;
    tx.insert_delivery(&mail).await.unwrap();
    tx.insert_delivery(&call).await.unwrap();

    let mut seen = committed(store, tx).await;

    assert_eq!(seen.due_deliveries("invitation", at(9), None, 9).await.unwrap(), [mail]);
    assert_eq!(seen.due_deliveries("call", at(9), None, 9).await.unwrap(), [call]);
    assert_eq!(seen.due_deliveries("", at(9), None, 9).await.unwrap(), []);
}

/// A claimed delivery is not due until the claim ends. A worker that read the delivery before the
/// claim cannot claim it too.
pub async fn a_claimed_delivery_is_not_due(store: &dyn Store) {
    let left = delivery(at(0));
    let claimed = DeliveryRecord { attempts: 1, next_attempt_at: at(120), ..left.clone() };
    let mut tx = begin(store).await;
    tx.insert_delivery(&left).await.unwrap();

    tx.claim_delivery(&claimed).await.unwrap();
    let again = tx.claim_delivery(&claimed).await;

    assert_stale(again, Subject::Resource);
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.due_deliveries("invitation", at(119), None, 10).await.unwrap(), []);
    assert_eq!(seen.due_deliveries("invitation", at(120), None, 10).await.unwrap(), [claimed]);
}

/// A worker cannot delete or postpone a delivery that another worker has claimed since.
pub async fn a_lost_claim_cannot_settle_a_delivery(store: &dyn Store) {
    let left = delivery(at(0));
    let lost = DeliveryRecord { attempts: 1, next_attempt_at: at(120), ..left.clone() };
    let held = DeliveryRecord { attempts: 2, next_attempt_at: at(240), ..left.clone() };
    let mut tx = begin(store).await;
    tx.insert_delivery(&left).await.unwrap();
    tx.claim_delivery(&lost).await.unwrap();
    tx.claim_delivery(&held).await.unwrap();

    assert_stale(tx.delete_delivery(&lost).await, Subject::Resource);
    assert_stale(tx.postpone_delivery(&lost).await, Subject::Resource);

    let due =
        committed(store, tx).await.due_deliveries("invitation", at(240), None, 10).await.unwrap();
    assert_eq!(due, [held]);
}

/// A postponed delivery is due at its new time, and a deleted delivery is not due any more.
pub async fn a_delivery_is_postponed_or_deleted(store: &dyn Store) {
    let [failed, sent] = [delivery(at(0)), delivery(at(0))];
    let later = DeliveryRecord { next_attempt_at: at(5), ..failed.clone() };
    let mut tx = begin(store).await;
    tx.insert_delivery(&failed).await.unwrap();
    tx.insert_delivery(&sent).await.unwrap();

    tx.postpone_delivery(&later).await.unwrap();
    tx.delete_delivery(&sent).await.unwrap();

    assert_stale(tx.delete_delivery(&sent).await, Subject::Resource);
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.due_deliveries("invitation", at(4), None, 10).await.unwrap(), []);
    assert_eq!(seen.due_deliveries("invitation", at(5), None, 10).await.unwrap(), [later]);
}

/// A delivery that is added again under its ID is due at its new time, with its new payload. A
/// worker that has claimed it before cannot delete or postpone it.
pub async fn a_delivery_that_is_added_again_is_one_delivery(store: &dyn Store) {
    let first = delivery(at(0));
    let claimed = DeliveryRecord { attempts: 1, next_attempt_at: at(120), ..first.clone() };
    let again = DeliveryRecord {
        payload: "{\"new\":true}".to_owned(),
        next_attempt_at: at(7),
        created_at: at(6),
        ..first.clone()
    };
    let mut tx = begin(store).await;
    tx.insert_delivery(&first).await.unwrap();
    tx.claim_delivery(&claimed).await.unwrap();

    tx.insert_delivery(&again).await.unwrap();

    assert_stale(tx.delete_delivery(&claimed).await, Subject::Resource);
    assert_stale(tx.postpone_delivery(&claimed).await, Subject::Resource);
    let mut seen = committed(store, tx).await;
    let expected = DeliveryRecord { attempts: 2, created_at: first.created_at, ..again.clone() };
    assert_eq!(seen.due_deliveries("invitation", at(6), None, 9).await.unwrap(), []);
    assert_eq!(seen.due_deliveries("invitation", at(200), None, 9).await.unwrap(), [expected]);
}

/// After `release_claims`, deliveries that would have become due at or before the given time are
/// due now. Later deliveries stay unchanged.
pub async fn deliveries_can_be_made_due_earlier(store: &dyn Store) {
    let [due, soon, late] = [at(0), at(120), at(121)].map(delivery);
    let mut tx = begin(store).await;
    for delivery in [&due, &soon, &late] {
        tx.insert_delivery(delivery).await.unwrap();
    }

    tx.release_claims(at(1), at(120)).await.unwrap();

    let mut seen = committed(store, tx).await;
    let released = DeliveryRecord { next_attempt_at: at(1), ..soon };
    assert_eq!(
        seen.due_deliveries("invitation", at(1), None, 10).await.unwrap(),
        [due.clone(), released.clone()]
    );
    assert_eq!(
        seen.due_deliveries("invitation", at(121), None, 10).await.unwrap(),
        [due, released, late]
    );
}

/// `count_message` counts messages separately for each counter and each time window.
/// `prune_message_counts` deletes the counts of past windows, up to the limit.
pub async fn messages_are_counted_in_their_window(store: &dyn Store) {
    let mut tx = begin(store).await;
    for number in 1..=3 {
        assert_eq!(tx.count_message("sender/ünï '", at(10)).await.unwrap(), number);
    }
    assert_eq!(tx.count_message("sender/ünï '", at(20)).await.unwrap(), 1);
    assert_eq!(tx.count_message("recipient", at(10)).await.unwrap(), 1);
    tx.commit().await.unwrap();

    let mut tx = begin(store).await;
    assert_eq!(tx.count_message("recipient", at(10)).await.unwrap(), 2);
    drop(tx);
    let mut tx = begin(store).await;
    assert_eq!(tx.prune_message_counts(at(10), 9).await.unwrap(), 0);
    assert_eq!(tx.prune_message_counts(at(11), 1).await.unwrap(), 1);
    assert_eq!(tx.prune_message_counts(at(11), 9).await.unwrap(), 1);
    assert_eq!(tx.count_message("recipient", at(10)).await.unwrap(), 1);
    assert_eq!(tx.count_message("sender/ünï '", at(20)).await.unwrap(), 2);
}
