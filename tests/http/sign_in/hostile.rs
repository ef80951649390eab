//! Tests of manipulated sign-ins: the response of an identity provider does not belong to the
//! sign-in that the browser started.

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrets_tests::{Kind, TokenAnswer};
use serde_json::{Value, json};

use super::{begin, serve, starts_no_session};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_with_another_state_is_refused() {
    let (app, provider) = serve(Kind::Memory).await;
    let mut other = app.browser();
    let foreign = begin(&mut other, &provider, "/").await;

    for change in ["", "&state=x", "&state=", "&state=a&state=a"] {
        let mut browser = app.browser();
        let back = begin(&mut browser, &provider, "/").await;
        let (before, rest) = back.split_once("&state=").unwrap();
        let (_, issuer) = rest.split_once('&').unwrap();
        let reply = browser.arrive(&format!("{before}{change}&{issuer}")).await;
        starts_no_session(reply.is(400));
    }
    let mut browser = app.browser();
    begin(&mut browser, &provider, "/").await;
    starts_no_session(browser.arrive(&foreign).await.is(400));
    assert_eq!(provider.exchanges(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_of_another_issuer_is_refused() {
    let (app, provider) = serve(Kind::Memory).await;

    for issuer in ["", "&iss=", "&iss=https://evil.example"] {
        let mut browser = app.browser();
        let back = begin(&mut browser, &provider, "/").await;
        let (before, _) = back.split_once("&iss=").unwrap();
        starts_no_session(browser.arrive(&format!("{before}{issuer}")).await.is(403));
    }
    assert_eq!(provider.exchanges(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_issuer_may_be_left_out_if_the_provider_names_none() {
    let (app, provider) = serve(Kind::Memory).await;
    provider.discovery("authorization_response_iss_parameter_supported", json!(false));

    for (issuer, status) in [("", 200), ("&iss=https://evil.example", 403)] {
        let mut browser = app.browser();
        let back = begin(&mut browser, &provider, "/").await;
        let (before, _) = back.split_once("&iss=").unwrap();
        browser.arrive(&format!("{before}{issuer}")).await.is(status);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_token_with_a_wrong_claim_is_refused() {
    let (app, provider) = serve(Kind::Memory).await;
    let changes: [(&str, Value); 12] = [
        ("nonce", json!("other")),
        ("nonce", json!(null)),
        ("aud", json!("other")),
        ("aud", json!(["secrets web", "other"])),
        ("aud", json!(null)),
        ("azp", json!("other")),
        ("iss", json!("https://evil.example")),
        ("iss", json!(null)),
        ("exp", json!(1)),
        ("exp", json!(null)),
        ("nbf", json!(9_999_999_999_u64)),
        ("sub", json!("")),
    ];

    for (name, value) in changes {
        let wrong = value.clone();
        provider.claims(move |claims| claims[name] = wrong.clone());
        let mut browser = app.browser();
        let back = begin(&mut browser, &provider, "/").await;
        let reply = browser.arrive(&back).await;
        assert_eq!(reply.status, 403, "{name} {value}");
        starts_no_session(&reply);
    }
    provider.claims(|_| {});
    let mut browser = app.browser();
    let back = begin(&mut browser, &provider, "/").await;
    browser.arrive(&back).await.is(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_token_is_signed_with_a_key_of_the_provider() {
    let (app, provider) = serve(Kind::Memory).await;
    let mut pkcs8 = vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    pkcs8.extend([8; 32]);
    let (other_key, shared) =
        (EncodingKey::from_ed_der(&pkcs8), EncodingKey::from_secret(&[7; 32]));
    let header = |algorithm, kid: &str| Header { kid: Some(kid.into()), ..Header::new(algorithm) };
    let access = Header { typ: Some("at+jwt".to_owned()), ..header(Algorithm::EdDSA, "1") };

    for (name, header, key) in [
        ("another key", header(Algorithm::EdDSA, "1"), Some(&other_key)),
        ("an unknown key", header(Algorithm::EdDSA, "2"), Some(&other_key)),
        ("a shared secret", header(Algorithm::HS256, "1"), Some(&shared)),
        ("an access token", access, None),
    ] {
        let mut browser = app.browser();
        let back = begin(&mut browser, &provider, "/").await;
        provider.answer(TokenAnswer::IdToken(provider.id_token(&header, key)));
        let reply = browser.arrive(&back).await;
        assert_eq!(reply.status, 403, "{name}");
        starts_no_session(&reply);
    }
    let mut browser = app.browser();
    let back = begin(&mut browser, &provider, "/").await;
    let signed = provider.id_token(&header(Algorithm::EdDSA, "1"), None);
    let (_, rest) = signed.split_once('.').unwrap();
    let (claims, _) = rest.split_once('.').unwrap();
    // {"alg":"none"}
    provider.answer(TokenAnswer::IdToken(format!("eyJhbGciOiJub25lIn0.{claims}.")));
    starts_no_session(browser.arrive(&back).await.is(403));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_return_path_is_refused() {
    let (app, _provider) = serve(Kind::Memory).await;
    let long = format!("/{}", "a".repeat(1_024));
    let hostile = [
        "",
        "projects",
        "//evil.example",
        "///evil.example",
        "////evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "\\/evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "\t//evil.example",
        " //evil.example",
        "/ /evil.example",
        "https://evil.example",
        "https:evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "@evil.example",
        ".evil.example",
        "/a//evil.example",
        "/..//evil.example",
        "/\u{0}",
        "/\u{2028}evil.example",
        "/sign-in",
        &long,
    ];

    for return_to in hostile {
        let query = serde_urlencoded::to_string([("return_to", return_to)]).unwrap();
        let reply = app.browser().open(&format!("/sign-in?{query}")).await;
        assert_eq!(reply.status, 400, "{return_to:?}");
        assert!(!reply.text().contains("evil"), "{return_to:?}");
        assert!(reply.header("location").is_none() && reply.header("set-cookie").is_none());
    }
    app.browser().open("/sign-in?return_to=/&return_to=/").await.is(400);
}
