//! Tests of the userinfo endpoint, which provides the user data that a token lacks.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

async fn with_userinfo(answer: Value) -> Issuer {
    let issuer = Issuer::start().await;
    let url = issuer.url();
    issuer.discovery(&json!({
        "issuer": url,
        "jwks_uri": format!("{url}/keys"),
        "userinfo_endpoint": format!("{url}/me"),
    }));
    issuer.put("/me", StatusCode::OK, answer.to_string());
    issuer
}

/// Starts a userinfo endpoint that closes each connection without a response. Returns the issuer
/// and the number of connections to the endpoint.
async fn with_broken_userinfo() -> (Issuer, Arc<AtomicUsize>) {
    let issuer = Issuer::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (url, address) = (issuer.url(), listener.local_addr().unwrap());
    issuer.discovery(&json!({
        "issuer": url,
        "jwks_uri": format!("{url}/keys"),
        "userinfo_endpoint": format!("http://{address}/me"),
    }));
    let connections = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&connections);
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            counter.fetch_add(1, Ordering::SeqCst);
        }
    });
    (issuer, connections)
}

async fn enriched(issuer: &Issuer, token: &str) -> Identity {
    let verifier = issuer.verifier(steady());
    let identity = verifier.verify(token).await.unwrap();
    verifier.enrich(token, identity).await.unwrap()
}

fn is_unavailable(outcome: &Result<Identity, Unverified>) -> bool {
    matches!(outcome, Err(Unverified::Unavailable(_)))
}

#[tokio::test]
async fn an_address_the_token_lacks_is_asked_for() {
    let answer =
        json!({ "sub": "alice", "email": "a@example.com", "email_verified": true, "name": "A" });
    let issuer = with_userinfo(answer).await;
    let token = issuer.token(1);

    let identity = enriched(&issuer, &token).await;

    assert_eq!(identity.email.as_deref(), Some("a@example.com"));
    assert!(identity.email_verified);
    assert_eq!(identity.name.as_deref(), Some("A"));
    let credential = issuer.0.lock().unwrap().credential.clone().unwrap();
    assert_eq!(credential.to_str().unwrap(), format!("Bearer {token}"));
}

#[tokio::test]
async fn an_address_the_token_has_is_not_asked_for() {
    let issuer = with_userinfo(json!({ "sub": "alice", "email": "b@example.com" })).await;
    let token = issuer.token_with(1, "email", json!("a@example.com"));

    let identity = enriched(&issuer, &token).await;

    assert_eq!(identity.email.as_deref(), Some("a@example.com"));
    assert_eq!(issuer.asked("/me"), 0);
}

#[tokio::test]
async fn an_answer_about_another_user_is_refused() {
    let other = json!({ "sub": "bob", "email": "b@example.com", "email_verified": true });
    let without_subject = json!({ "email": "b@example.com", "email_verified": true });

    for answer in [other, without_subject] {
        let issuer = with_userinfo(answer).await;
        assert_eq!(enriched(&issuer, &issuer.token(1)).await.email, None);
    }
}

#[tokio::test]
async fn an_answer_that_is_no_object_is_a_failure() {
    for answer in [json!(["alice", "b@example.com"]), json!("alice")] {
        let issuer = with_userinfo(answer).await;
        let (verifier, token) = (issuer.verifier(steady()), issuer.token(1));
        let identity = verifier.verify(&token).await.unwrap();

        assert!(is_unavailable(&verifier.enrich(&token, identity).await));
    }
}

#[tokio::test]
async fn an_issuer_without_the_endpoint_changes_nothing() {
    let issuer = Issuer::start().await;

    assert_eq!(enriched(&issuer, &issuer.token(1)).await.email, None);
}

/// Checks that a refusal of one user's token is not remembered: the next request is sent to the
/// endpoint again.
#[tokio::test]
async fn a_token_that_the_endpoint_refuses_is_invalid() {
    let issuer = with_userinfo(json!({})).await;
    issuer.put("/me", StatusCode::UNAUTHORIZED, "");
    let (verifier, token) = (issuer.verifier(steady()), issuer.token(1));
    let identity = verifier.verify(&token).await.unwrap();

    for asked in 1..=2 {
        let outcome = verifier.enrich(&token, identity.clone()).await;
        assert!(matches!(outcome, Err(Unverified::Invalid)));
        assert_eq!(issuer.asked("/me"), asked);
    }
}

/// Checks that an error status fails only the sign-in that got it: another user signs in right
/// after it.
#[tokio::test]
async fn an_error_status_fails_one_sign_in_and_no_other() {
    for status in [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::INTERNAL_SERVER_ERROR,
        StatusCode::BAD_GATEWAY,
        StatusCode::FOUND,
    ] {
        let issuer = with_userinfo(json!({ "sub": "bob", "email": "b@example.com" })).await;
        let working = issuer.0.lock().unwrap().documents["/me"].clone();
        let (verifier, alice) = (issuer.verifier(steady()), issuer.token(1));
        let bob = issuer.token_with(1, "sub", json!("bob"));
        let identities =
            (verifier.verify(&alice).await.unwrap(), verifier.verify(&bob).await.unwrap());

        issuer.put("/me", status, "");
        let failed = verifier.enrich(&alice, identities.0).await;
        issuer.put("/me", working.0, working.1);
        let signed_in = verifier.enrich(&bob, identities.1).await.unwrap();

        assert!(is_unavailable(&failed), "{status}");
        assert_eq!(signed_in.email.as_deref(), Some("b@example.com"), "{status}");
    }
}

#[tokio::test]
async fn an_endpoint_that_did_not_respond_is_not_asked_at_once() {
    let (issuer, connections) = with_broken_userinfo().await;
    let (verifier, token) = (issuer.verifier(steady()), issuer.token(1));
    let identity = verifier.verify(&token).await.unwrap();

    for _ in 0..20 {
        assert!(is_unavailable(&verifier.enrich(&token, identity.clone()).await));
    }

    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_endpoint_that_did_not_respond_is_asked_again_after_a_pause() {
    let issuer = with_userinfo(json!({ "sub": "alice", "email": "a@example.com" })).await;
    let hasty =
        Timings { fetch: Duration::from_secs(2), retry_pause: short().retry_pause, ..steady() };
    let (verifier, token) = (issuer.verifier(hasty), issuer.token(1));
    let identity = verifier.verify(&token).await.unwrap();
    // Caches the discovery document, so that only the request to the endpoint is too slow.
    verifier.enrich(&token, identity.clone()).await.unwrap();

    issuer.delay(Duration::from_secs(30));
    let failed = verifier.enrich(&token, identity.clone()).await;
    issuer.delay(Duration::ZERO);
    sleep(hasty.retry_pause).await;
    let again = verifier.enrich(&token, identity).await.unwrap();

    assert!(is_unavailable(&failed));
    assert_eq!(again.email.as_deref(), Some("a@example.com"));
}

#[tokio::test]
async fn a_discovery_that_failed_is_not_repeated_at_once() {
    let issuer = with_userinfo(json!({ "sub": "alice", "email": "a@example.com" })).await;
    let (verifier, token) = (issuer.verifier(steady()), issuer.token(1));
    let identity = verifier.verify(&token).await.unwrap();
    issuer.put(DISCOVERY, StatusCode::INTERNAL_SERVER_ERROR, "no");
    let before = issuer.asked(DISCOVERY);

    for _ in 0..20 {
        assert!(is_unavailable(&verifier.enrich(&token, identity.clone()).await));
    }

    assert_eq!((issuer.asked(DISCOVERY), issuer.asked("/me")), (before + 1, 0));
}

#[tokio::test]
async fn discovery_is_cached() {
    let issuer = with_userinfo(json!({ "sub": "alice", "email": "a@example.com" })).await;
    let (verifier, token) = (issuer.verifier(steady()), issuer.token(1));
    let identity = verifier.verify(&token).await.unwrap();
    let before = issuer.asked(DISCOVERY);

    for _ in 0..20 {
        verifier.enrich(&token, identity.clone()).await.unwrap();
    }

    assert_eq!((issuer.asked(DISCOVERY), issuer.asked("/me")), (before + 1, 20));
}

/// Checks that a sign-in fails if it waits longer than the request timeout for the earlier requests
/// to finish.
#[tokio::test]
async fn the_issuer_gets_one_request_at_a_time() {
    let issuer = with_userinfo(json!({ "sub": "alice", "email": "a@example.com" })).await;
    let hasty = Timings { fetch: Duration::from_secs(2), ..short() };
    let (verifier, token) = (issuer.verifier(hasty), issuer.token(1));
    let identity = verifier.verify(&token).await.unwrap();
    issuer.delay(Duration::from_secs(5));

    let attempts = (0..8).map(|_| verifier.enrich(&token, identity.clone()));
    let outcomes = futures_util::future::join_all(attempts).await;

    assert!(outcomes.iter().all(is_unavailable));
    assert!(issuer.asked("/me") + issuer.asked(DISCOVERY) <= 3);
}
