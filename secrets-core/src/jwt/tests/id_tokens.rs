//! Tests of ID tokens from sign-ins with a browser.

use super::*;

const NONCE: &str = "n-0S6_WzA2Mj";

fn id_token(change: impl FnOnce(&mut Value)) -> String {
    let mut claims = claims();
    claims["nonce"] = json!(NONCE);
    change(&mut claims);
    by_rsa(&header(), &claims)
}

/// Verifies an ID token with the keys of the test issuer, at its first use and at a later one.
fn verdict_of(token: &str) -> Result<Identity, JwtError> {
    let keys = published();
    let first = verify_id_token(token, &keys, &expectations(), NONCE, now());
    assert_eq!(verify_id_token(token, &keys, &expectations(), NONCE, now()), first);
    first
}

#[test]
fn an_id_token_has_the_nonce_of_its_sign_in() {
    assert_eq!(verdict_of(&id_token(|_| {})).unwrap().subject, "248289761001");

    for nonce in [json!("other"), json!(""), json!(null), json!([NONCE]), json!(1)] {
        let token = id_token(|claims| claims["nonce"] = nonce.clone());
        assert!(matches!(verdict_of(&token), Err(JwtError::Invalid(_))), "{nonce}");
    }
    assert!(matches!(verdict_of(&by_rsa(&header(), &claims())), Err(JwtError::Invalid(_))));
}

#[test]
fn the_authorized_party_of_an_id_token_is_the_client() {
    let with = |audience: Value, party: Value| {
        verdict_of(&id_token(|claims| {
            claims["aud"] = audience;
            claims["azp"] = party;
        }))
    };

    assert!(with(json!("secrets"), json!("secrets")).is_ok());
    assert!(with(json!(["secrets"]), json!(null)).is_ok());
    assert!(with(json!(["secrets", "other"]), json!("secrets")).is_ok());
    assert!(with(json!(["secrets", "other"]), json!(null)).is_err());
    assert!(with(json!(["secrets", "other"]), json!("other")).is_err());
    assert!(with(json!("secrets"), json!("other")).is_err());
    assert!(with(json!("other"), json!("secrets")).is_err());
}

#[test]
fn an_id_token_is_held_to_the_rules_of_all_tokens() {
    let secret = EncodingKey::from_secret(SECRET);
    let mut claims = claims();
    claims["nonce"] = json!(NONCE);

    for (name, token) in [
        ("issuer", id_token(|claims| claims["iss"] = json!("https://other.example"))),
        ("expired", id_token(|claims| claims["exp"] = json!(NOW - 60))),
        ("none", format!("{}.{}.", part(&json!({"alg": "none"})), part(&claims))),
        ("hs256", signed(&json!({"alg": "HS256"}), &claims, &secret, Algorithm::HS256)),
        ("access token", by_rsa(&heading("typ", json!("at+jwt")), &claims)),
        ("logout token", by_rsa(&heading("typ", json!("logout+jwt")), &claims)),
    ] {
        let verdict = verdict_of(&token);
        assert!(matches!(verdict, Err(JwtError::Invalid(_) | JwtError::Expired)), "{name}");
    }
}
