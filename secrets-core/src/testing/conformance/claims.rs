//! Conformance rules for concurrent claims of deliveries.

use std::sync::Arc;

use super::{Spawn, at_once, begin, begin_among_others, read};
use crate::store::{DeliveryRecord, Store};
use crate::testing::fixtures::{at, delivery};

/// Only one of many concurrent claims of a delivery succeeds.
pub async fn one_of_many_claims_a_delivery(store: Arc<dyn Store>, spawn: Spawn) {
    let left = delivery(at(0));
    let mut tx = begin(&*store).await;
    tx.insert_delivery(&left).await.unwrap();
    tx.commit().await.unwrap();

    let claimed = DeliveryRecord { attempts: 1, next_attempt_at: at(120), ..left };
    let expected = claimed.clone();
    let succeeded = at_once(&store, spawn, 64, move |store, _| {
        let claimed = claimed.clone();
        async move {
            let mut tx = begin_among_others(&*store).await?;
            tx.claim_delivery(&claimed).await?;
            tx.commit().await
        }
    })
    .await;

    assert_eq!(succeeded, 1);
    assert_eq!(
        read(&*store).await.due_deliveries("invitation", at(120), None, 10).await.unwrap(),
        [expected]
    );
}
