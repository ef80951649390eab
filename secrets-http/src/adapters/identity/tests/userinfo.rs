//! User data from the userinfo endpoint that is missing in the token.

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

async fn enriched(issuer: &Issuer, token: &str) -> Identity {
    let verifier = issuer.verifier(steady());
    let identity = verifier.verify(token).await.unwrap();
    verifier.enrich(token, identity).await
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
async fn an_answer_about_somebody_else_is_not_believed() {
    let other = json!({ "sub": "bob", "email": "b@example.com", "email_verified": true });
    let nobody = json!({ "email": "b@example.com", "email_verified": true });

    for answer in [other, nobody, json!(["alice", "b@example.com"]), json!("alice")] {
        let issuer = with_userinfo(answer).await;
        assert_eq!(enriched(&issuer, &issuer.token(1)).await.email, None);
    }
}

#[tokio::test]
async fn an_issuer_without_the_endpoint_changes_nothing() {
    let issuer = Issuer::start().await;

    assert_eq!(enriched(&issuer, &issuer.token(1)).await.email, None);
}

#[tokio::test]
async fn an_endpoint_that_fails_changes_nothing() {
    let issuer = with_userinfo(json!({})).await;
    issuer.put("/me", StatusCode::UNAUTHORIZED, "");

    assert_eq!(enriched(&issuer, &issuer.token(1)).await.email, None);
    assert_eq!(issuer.asked("/me"), 1);
}
