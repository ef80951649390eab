//! Tests of the lifetime of cached keys, and of fetching new keys.

use futures_util::FutureExt as _;
use futures_util::future::join_all;

use super::*;

#[tokio::test]
async fn concurrent_requests_share_one_fetch() {
    let issuer = Issuer::start().await;
    issuer.delay(Duration::from_millis(50));
    let verifier = issuer.verifier(steady());
    let token = issuer.token(1);

    let verdicts = join_all((0..50).map(|_| verifier.verify(&token))).await;
    verifier.verify(&token).await.unwrap();

    assert!(verdicts.iter().all(Result::is_ok));
    assert_eq!(issuer.asked("/keys"), 1);
}

#[tokio::test]
async fn ageing_keys_are_renewed_while_they_are_used() {
    let issuer = Issuer::start().await;
    let timings = Timings { refresh_after: short().refresh_after, ..steady() };
    let verifier = issuer.verifier(timings);
    let token = issuer.token(1);
    verifier.verify(&token).await.unwrap();
    sleep(timings.refresh_after).await;
    issuer.delay(Duration::from_millis(100));

    // A verification that waited for the issuer would not be complete when it is first polled.
    let verdicts: Vec<_> =
        (0..20).map(|_| verifier.verify(&token).now_or_never().expect("it waits")).collect();

    assert!(verdicts.iter().all(Result::is_ok));
    while issuer.asked("/keys") < 2 {
        sleep(Duration::from_millis(5)).await;
    }
    sleep(Duration::from_millis(250)).await;
    assert_eq!(issuer.asked("/keys"), 2);
}

#[tokio::test]
async fn a_key_that_was_withdrawn_is_refused_when_the_set_expires() {
    let issuer = Issuer::start().await;
    let (lasting, expiring) = (issuer.verifier(steady()), issuer.verifier(short()));
    for verifier in [&lasting, &expiring] {
        verifier.verify(&issuer.token(1)).await.unwrap();
    }
    issuer.publish(&[2]);

    // The keys of this verifier do not expire during the test, however slow the machine is.
    assert!(lasting.verify(&issuer.token(1)).await.is_ok());
    sleep(short().expire_after).await;

    assert!(is_invalid(&expiring.verify(&issuer.token(1)).await));
    assert!(expiring.verify(&issuer.token(2)).await.is_ok());
}

#[tokio::test]
async fn a_new_key_is_accepted_when_it_is_first_seen() {
    let issuer = Issuer::start().await;
    let verifier = issuer.verifier(steady());
    verifier.verify(&issuer.token(1)).await.unwrap();
    issuer.publish(&[1, 2]);

    let token = issuer.token(2);
    let verdicts = join_all((0..50).map(|_| verifier.verify(&token))).await;

    assert!(verdicts.iter().all(Result::is_ok));
    assert!(verifier.verify(&issuer.token(1)).await.is_ok());
    assert_eq!(issuer.asked("/keys"), 2);
}

#[tokio::test]
async fn keys_that_do_not_exist_are_not_looked_for_too_often() {
    let issuer = Issuer::start().await;
    // The pause does not end during this part of the test, however slow the machine is.
    let verifier = issuer.verifier(steady());
    verifier.verify(&issuer.token(1)).await.unwrap();

    let unknown = (10..60).map(|seed| issuer.token(seed)).collect::<Vec<_>>();
    let verdicts = join_all(unknown.iter().map(|token| verifier.verify(token))).await;
    assert!(verdicts.iter().all(is_invalid));
    assert_eq!(issuer.asked("/keys"), 2);

    issuer.publish(&[1, 2]);
    assert!(is_invalid(&verifier.verify(&issuer.token(2)).await));
    assert_eq!(issuer.asked("/keys"), 2);

    let timings = Timings { search_pause: short().search_pause, ..steady() };
    let verifier = issuer.verifier(timings);
    issuer.publish(&[1]);
    assert!(is_invalid(&verifier.verify(&issuer.token(2)).await));
    issuer.publish(&[1, 2]);
    let before = issuer.asked("/keys");
    sleep(timings.search_pause).await;
    assert!(verifier.verify(&issuer.token(2)).await.is_ok());
    assert_eq!(issuer.asked("/keys"), before + 1);
}

#[tokio::test]
async fn old_keys_are_used_for_a_limited_time_while_the_issuer_is_unavailable() {
    let issuer = Issuer::start().await;
    let timings = Timings { stale_for: Duration::from_secs(6), ..short() };
    let verifier = issuer.verifier(timings);
    let token = issuer.token(1);
    verifier.verify(&token).await.unwrap();
    issuer.fail();

    sleep(timings.expire_after).await;
    assert!(verifier.verify(&token).await.is_ok());
    assert!(is_unavailable(&verifier.verify(&issuer.token(2)).await));
    sleep(timings.stale_for).await;
    assert!(is_unavailable(&verifier.verify(&token).await));

    issuer.publish(&[1]);
    sleep(short().retry_pause).await;
    assert!(verifier.verify(&token).await.is_ok());
}

#[tokio::test]
async fn requests_do_not_wait_for_an_unavailable_issuer() {
    let issuer = Issuer::start().await;
    let fetch = Duration::from_secs(3);
    let verifier = issuer.verifier(Timings { fetch, stale_for: Duration::from_mins(1), ..short() });
    let token = issuer.token(1);
    verifier.verify(&token).await.unwrap();
    issuer.delay(Duration::from_mins(1));
    sleep(short().expire_after).await;
    verifier.verify(&token).await.unwrap();
    sleep(short().retry_pause).await;

    // A verification that waited for the issuer would not be complete when it is first polled.
    let verdict = verifier.verify(&token).now_or_never().expect("it waits");

    assert!(verdict.is_ok());
}

#[tokio::test]
async fn without_keys_tokens_are_neither_valid_nor_invalid() {
    let issuer = Issuer::start().await;
    issuer.fail();
    // The pause after the failure does not end before the last verification.
    let verifier = issuer.verifier(steady());

    let verdicts =
        join_all((0..20).map(|_| async { verifier.verify(&issuer.token(1)).await })).await;

    assert!(verdicts.iter().all(is_unavailable));
    assert!(is_unavailable(&verifier.verify(&issuer.token(1)).await));
    assert_eq!(issuer.asked("/keys"), 1);

    let timings = Timings { retry_pause: short().retry_pause, ..steady() };
    let verifier = issuer.verifier(timings);
    assert!(is_unavailable(&verifier.verify(&issuer.token(1)).await));
    issuer.publish(&[1]);
    sleep(timings.retry_pause).await;
    assert!(verifier.verify(&issuer.token(1)).await.is_ok());
}

#[tokio::test]
async fn a_fetch_continues_if_its_request_is_cancelled() {
    let issuer = Issuer::start().await;
    issuer.delay(Duration::from_millis(100));
    let verifier = issuer.verifier(steady());
    let token = issuer.token(1);

    let leaving = tokio::time::timeout(Duration::from_millis(50), verifier.verify(&token)).await;
    let staying = verifier.verify(&token).await;

    assert!(leaving.is_err() && staying.is_ok());
    assert_eq!(issuer.asked("/keys"), 1);
}

#[tokio::test]
async fn keys_can_be_fetched_ahead() {
    let issuer = Issuer::start().await;
    let verifier = issuer.verifier(steady());

    assert_eq!(verifier.warm().await.unwrap(), 1);
    verifier.verify(&issuer.token(1)).await.unwrap();
    assert_eq!(issuer.asked("/keys"), 1);
}
