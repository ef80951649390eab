//! Tests with invalid and malicious responses of an issuer.

use super::*;

async fn verdict(issuer: &Issuer) -> Result<Identity, Unverified> {
    issuer.verifier(steady()).verify(&issuer.token(1)).await
}

async fn reason(issuer: &Issuer) -> String {
    text(verdict(issuer).await)
}

fn text(verdict: Result<Identity, Unverified>) -> String {
    match verdict {
        Err(Unverified::Unavailable(reason)) => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_document_of_another_issuer_is_refused() {
    let issuer = Issuer::start().await;
    let url = issuer.url();
    issuer.discovery(&json!({ "issuer": format!("{url}/"), "jwks_uri": format!("{url}/keys") }));

    assert!(reason(&issuer).await.ends_with("the discovery document of another issuer"));
    assert_eq!(issuer.asked("/keys"), 0);
}

#[tokio::test]
async fn a_slash_at_the_end_of_an_issuer_is_part_of_its_name_only() {
    let issuer = Issuer::start().await;
    let name = format!("{}/", issuer.url());
    issuer.discovery(&json!({ "issuer": name, "jwks_uri": format!("{name}keys") }));
    let expectations = Expectations { issuer: name.clone(), audience: "secrets".into() };
    let settings = OidcSettings { expectations, jwks_url: None, timings: steady() };

    let identity = verifier(settings).verify(&issuer.token_with(1, "iss", json!(name))).await;

    assert_eq!(identity.unwrap().issuer, name);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let issuer = Issuer::start().await;
    issuer.put(DISCOVERY, StatusCode::FOUND, "");

    assert!(reason(&issuer).await.ends_with("answered 302 Found"));
    assert_eq!(issuer.asked("/keys"), 0);
}

#[tokio::test]
async fn a_document_is_at_most_256_kib() {
    let issuer = Issuer::start().await;
    let set = json!({ "keys": [jwk(1)] }).to_string();
    let padded = |length: usize| set.clone() + &" ".repeat(length - set.len());

    issuer.put("/keys", StatusCode::OK, padded(256 * 1024 + 1));
    assert!(reason(&issuer).await.ends_with("the response is too large"));
    issuer.put("/keys", StatusCode::OK, padded(256 * 1024));
    assert!(verdict(&issuer).await.is_ok());
}

#[tokio::test]
async fn a_set_holds_at_most_fifty_keys() {
    let issuer = Issuer::start().await;

    issuer.publish(&(1..=51).collect::<Vec<_>>());
    assert!(reason(&issuer).await.ends_with("a key set of more than 50 keys"));
    issuer.publish(&(1..=50).collect::<Vec<_>>());
    assert!(verdict(&issuer).await.is_ok());
}

#[tokio::test]
async fn a_slow_answer_reaches_a_timeout() {
    let issuer = Issuer::start().await;
    let hasty = Timings { fetch: Duration::from_millis(200), ..steady() };
    issuer.delay(hasty.fetch * 2);

    let verdict = issuer.verifier(hasty).verify(&issuer.token(1)).await;

    assert!(text(verdict).ends_with("timeout: no complete response"));
}

#[tokio::test]
async fn an_invalid_document_is_refused() {
    let issuer = Issuer::start().await;

    issuer.put("/keys", StatusCode::OK, "<html>");
    assert!(reason(&issuer).await.ends_with("not a JSON Web Key Set"));
    issuer.put(DISCOVERY, StatusCode::OK, r#"["issuer", "keys"]"#);
    assert!(reason(&issuer).await.ends_with("not a discovery document"));
    issuer.put(DISCOVERY, StatusCode::OK, "{}");
    assert!(reason(&issuer).await.ends_with("not a discovery document"));
}

#[tokio::test]
async fn an_unreachable_issuer_is_named() {
    let expectations =
        Expectations { issuer: "http://127.0.0.1:1".into(), audience: "secrets".into() };
    let settings = OidcSettings { expectations, jwks_url: None, timings: steady() };

    let Err(Unverified::Unavailable(reason)) = verifier(settings).verify("token").await else {
        panic!("port 1 accepts connections");
    };

    let reason = reason.to_string();
    assert!(reason.starts_with("http://127.0.0.1:1/.well-known/openid-configuration: "));
    assert!(reason.to_lowercase().contains("connection refused"), "{reason}");
}

#[tokio::test]
async fn an_invalid_url_is_not_fetched() {
    let issuer = Issuer::start().await;
    let name = issuer.url();

    for jwks in ["file:///etc/passwd", "/keys", "ftp://127.0.0.1/keys", ""] {
        issuer.discovery(&json!({ "issuer": name, "jwks_uri": jwks }));
        assert_eq!(reason(&issuer).await, "the identity provider's jwks_uri is not a usable URL");
    }
}
