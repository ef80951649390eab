//! Tests of the memory budget and of bodies that are sent in parts.

use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Body as _;
use uuid::Uuid;

use super::*;

fn account(number: u128) -> UserId {
    Uuid::from_u128(number).into()
}

fn prepare(budget: &Arc<MemoryBudget>, number: u128) -> Option<Reservation> {
    budget.prepare(account(number)).now_or_never().map(Result::unwrap)
}

#[tokio::test]
async fn two_responses_of_an_account_are_prepared_at_once() {
    let budget = Arc::new(MemoryBudget::new(1_000));

    let prepared: Vec<_> = [1, 1, 1, 2, 2, 2, 3].map(|number| prepare(&budget, number)).into();

    let is_prepared: Vec<_> = prepared.iter().map(Option::is_some).collect();
    assert_eq!(is_prepared, [true, true, false, true, true, false, true]);
    drop(prepared);
    assert!(prepare(&budget, 1).is_some());
    assert!(budget.usage().accounts.is_empty());
}

#[tokio::test]
async fn an_account_that_does_not_read_waits_for_itself_only() {
    let budget = Arc::new(MemoryBudget::new(1_000));
    let unread = prepare(&budget, 1).unwrap().hold(250);

    assert!(prepare(&budget, 1).is_none());
    assert!(prepare(&budget, 2).is_some());
    drop(unread);
    assert!(prepare(&budget, 1).is_some());
}

#[tokio::test]
async fn all_responses_share_the_budget() {
    let budget = Arc::new(MemoryBudget::new(1_000));
    let unread: Vec<_> =
        (1..=4).map(|number| prepare(&budget, number).unwrap().hold(250)).collect();

    assert!(prepare(&budget, 5).is_none());
    drop(unread);
    assert!(prepare(&budget, 5).is_some());
}

#[tokio::test]
async fn the_wait_ends_when_memory_is_released_or_after_a_time() {
    let wait = Duration::from_millis(10);
    let budget = Arc::new(MemoryBudget { wait, ..MemoryBudget::new(1_000) });
    let _unread = prepare(&budget, 1).unwrap().hold(250);
    assert!(matches!(budget.prepare(account(1)).await, Err(Error::Unavailable(_))));

    let budget = Arc::new(MemoryBudget::new(1_000));
    let unread = prepare(&budget, 1).unwrap().hold(250);
    let mut waiting = Box::pin(budget.prepare(account(1)));
    assert!((&mut waiting).now_or_never().is_none());
    drop(unread);

    assert!(waiting.now_or_never().unwrap().is_ok());
}

#[tokio::test]
async fn requests_use_the_same_budget() {
    let budget = Arc::new(MemoryBudget::new(1_000));
    let receive = |number, bytes| {
        let mut reserved = announce(&budget, number, bytes)?;
        arrive(&mut reserved, bytes).then_some(reserved)
    };

    let large = receive(1, 5_000);
    assert!(large.is_some(), "a body larger than the budget is received alone");
    assert!(receive(1, 1).is_none() && receive(2, 1).is_none());
    assert!(prepare(&budget, 2).is_none());
    drop(large);
    let _shares = [receive(1, 100).unwrap(), receive(1, 150).unwrap()];
    assert!(receive(1, 1).is_none());
    assert!(prepare(&budget, 1).is_none());
    assert!(receive(2, 250).is_some());
}

fn announce(budget: &Arc<MemoryBudget>, number: u128, bytes: u64) -> Option<Reservation> {
    budget.announce(account(number), bytes).now_or_never().map(Result::unwrap)
}

fn arrive(reserved: &mut Reservation, bytes: u64) -> bool {
    reserved.receive_up_to(bytes, Duration::ZERO).now_or_never().is_some()
}

#[tokio::test]
async fn bodies_that_are_announced_and_not_sent_keep_only_their_account_waiting() {
    let budget = Arc::new(MemoryBudget::new(1_000));

    let mut slow: Vec<_> = (1..=8).map(|number| announce(&budget, number, 250).unwrap()).collect();
    assert!(slow.iter_mut().all(|body| arrive(body, 50)));

    assert_eq!(budget.used(), 400);
    assert!(announce(&budget, 1, 1).is_none() && prepare(&budget, 1).is_none());
    let mut other = announce(&budget, 9, 250).unwrap();
    assert!(arrive(&mut other, 250) && prepare(&budget, 9).is_none());
    assert!(arrive(&mut slow[0], 250) && !arrive(&mut slow[1], 250), "the budget is the limit");
    drop(other);
    assert!(arrive(&mut slow[1], 250));
    drop(slow);
    assert_eq!(budget.used(), 0);
    assert!(budget.usage().accounts.is_empty());
}

#[tokio::test]
async fn the_waits_of_a_body_have_one_limit() {
    let wait = Duration::from_millis(50);
    let budget = Arc::new(MemoryBudget { wait, ..MemoryBudget::new(1 << 20) });
    let body = BodyMemory::default();
    body.count_for(&budget, account(1));
    body.announce(1 << 18).await.unwrap();
    let others: Vec<_> = (2..6)
        .map(|number| {
            let mut other = announce(&budget, number, 1 << 18).unwrap();
            assert!(arrive(&mut other, 1 << 18));
            other
        })
        .collect();

    assert!(body.receive(1).await.is_err());
    assert!(body.waited() >= wait);
    drop(others);

    let mut reserved = announce(&budget, 1, 1 << 18).unwrap();
    assert!(reserved.receive_up_to(1 << 18, wait).await.is_ok(), "free memory needs no wait");
}

#[tokio::test]
async fn a_body_is_reserved_in_parts_until_the_last_clone_is_dropped() {
    let budget = Arc::new(MemoryBudget::new(1 << 20));
    let body = BodyMemory::default();
    body.announce(1 << 20).await.unwrap();
    body.receive(1 << 20).await.unwrap();
    assert_eq!(budget.used(), 0, "the body of an anonymous request is not counted");

    body.count_for(&budget, account(1));
    let part = PART as u64;
    body.announce(part).await.unwrap();
    body.receive(PART).await.unwrap();
    assert_eq!(budget.used(), 0, "a small body is not counted");
    body.announce(3 * part).await.unwrap();
    for (arrived, used) in [(1, part), (PART, part), (PART + 1, 2 * part), (3 * PART, 3 * part)] {
        body.receive(arrived).await.unwrap();
        assert_eq!(budget.used(), used);
    }

    let clone = body.clone();
    drop(body);
    assert_eq!(budget.used(), 3 * part);
    drop(clone);
    assert_eq!(budget.used(), 0);
}

#[tokio::test]
async fn work_uses_the_same_budget_and_no_share_of_an_account() {
    let budget = Arc::new(MemoryBudget::new(1_000));
    let work = WorkBudget(Arc::clone(&budget));
    let reserve = |bytes| work.reserve(None, bytes).now_or_never().map(Result::unwrap);
    let _unread = prepare(&budget, 1).unwrap().hold(250);

    let running = reserve(500).unwrap();

    assert_eq!(budget.used(), 750);
    assert!(reserve(1).is_none(), "work uses half of the budget");
    drop(running);
    assert_eq!(budget.used(), 250);
    assert!(reserve(500).is_some());
}

#[tokio::test]
async fn responses_in_preparation_count_with_their_size() {
    let budget = Arc::new(MemoryBudget::new(1_000));
    let work = WorkBudget(Arc::clone(&budget));
    let reserve = |number, bytes| {
        work.reserve(Some(account(number)), bytes).now_or_never().map(Result::unwrap)
    };

    let first = reserve(1, 200).unwrap();

    assert!(reserve(1, 100).is_none(), "the share of an account is 250 bytes");
    assert!(reserve(1, 50).is_some() && reserve(2, 250).is_some());
    drop(first);
    assert!(reserve(1, 100).is_some());
    assert_eq!(budget.used(), 0);
}

#[tokio::test]
async fn an_account_has_one_turn_at_a_time() {
    let budget = Arc::new(MemoryBudget::new(1_000));
    let turn = |number| budget.turn(account(number)).now_or_never().map(Result::unwrap);

    let first = turn(1);

    assert!(first.is_some() && turn(1).is_none() && turn(2).is_some());
    drop(first);
    assert!(turn(1).is_some());
}

#[tokio::test]
async fn a_body_is_sent_in_parts_and_its_memory_is_held_until_the_end() {
    let budget = Arc::new(MemoryBudget::new(1_000_000));
    let text: Vec<u8> = (0..200_000_u32).map(|number| number.to_le_bytes()[0]).collect();
    let answer = prepare(&budget, 1);
    let mut body = Parts::new(Full::new(Bytes::from(text.clone())), answer);
    assert_eq!(body.size_hint().exact(), Some(200_000));
    assert_eq!(budget.usage().all, Share { bytes: 200_000, ..Share::default() });

    let mut sent = Vec::new();
    while let Some(part) = body.frame().await {
        let part = part.unwrap().into_data().unwrap();
        assert!(part.len() <= PART);
        sent.extend_from_slice(&part);
        assert_eq!(body.size_hint().exact(), Some((200_000 - sent.len()) as u64));
    }

    assert!(sent == text);
    assert!(body.is_end_stream());
    drop(body);
    assert_eq!(budget.usage().all, Share::default());
}
