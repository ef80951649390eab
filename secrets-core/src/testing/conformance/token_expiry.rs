//! Conformance rules for the expiry of service tokens.

use super::{assert_stale, begin, committed};
use crate::model::Subject;
use crate::store::{Store, TokenRecord, TokenScope};
use crate::testing::fixtures::{World, at, token};

/// A lookup finds a service token even after its expiry time: the store does not check the expiry.
pub async fn an_expired_token_is_found(store: &dyn Store) {
    let world = World::build(store).await;
    let expired =
        TokenRecord { expires_at: Some(at(-1_000_000)), ..token(&world.team, &world.owner) };
    let mut tx = begin(store).await;

    tx.insert_token(&expired, &TokenScope::default()).await.unwrap();

    assert_eq!(committed(store, tx).await.token_by_mac(&expired.mac).await.unwrap(), Some(expired));
}

/// Service tokens that expire within a period are listed, soonest expiry first, until their expiry
/// is marked as announced.
pub async fn expiring_tokens_are_listed_until_they_are_announced(store: &dyn Store) {
    let world = World::build(store).await;
    let expiring = |at| TokenRecord { expires_at: at, ..token(&world.team, &world.owner) };
    let (first, second) = (expiring(Some(at(101))), expiring(Some(at(200))));
    let announced = TokenRecord { expiry_announced: true, ..expiring(Some(at(150))) };
    let others = [expiring(Some(at(100))), expiring(Some(at(201))), expiring(None), announced];
    let mut tx = begin(store).await;
    for token in [&second, &first].into_iter().chain(&others) {
        tx.insert_token(token, &TokenScope::default()).await.unwrap();
    }
    let mut seen = committed(store, tx).await;
    let all = [first.clone(), second.clone()];
    assert_eq!(seen.expiring_tokens(at(100), at(200), 9).await.unwrap(), all);
    assert_eq!(seen.expiring_tokens(at(100), at(200), 1).await.unwrap(), all[..1]);
    drop(seen);

    let mut tx = begin(store).await;
    tx.mark_expiry_announced(first.id).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.expiring_tokens(at(100), at(200), 9).await.unwrap(), all[1..]);
    let marked = TokenRecord { expiry_announced: true, ..first.clone() };
    assert_eq!(seen.token(first.id).await.unwrap(), Some(marked));
    drop(seen);
    let mut tx = begin(store).await;
    assert_stale(tx.mark_expiry_announced(first.id).await, Subject::Token);
    drop(tx);
    let mut tx = begin(store).await;
    let unknown = token(&world.team, &world.owner).id;
    assert_stale(tx.mark_expiry_announced(unknown).await, Subject::Token);
}
