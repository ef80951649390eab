//! Tests of key sets: usable keys, and the tokens they verify.

use super::*;

fn without(mut jwk: Value, name: &str) -> Value {
    jwk.as_object_mut().unwrap().remove(name);
    jwk
}

fn with(mut jwk: Value, name: &str, value: Value) -> Value {
    jwk[name] = value;
    jwk
}

fn usable(key: &Value) -> usize {
    KeySet::parse(json!({ "keys": [key] }).to_string().as_bytes()).unwrap().len()
}

fn an_rsa_key() -> Value {
    jwk("rsa", &rsa(), Algorithm::RS256)
}

#[test]
fn the_use_of_a_key_is_optional() {
    assert_eq!(usable(&without(an_rsa_key(), "alg")), 1);
    assert_eq!(usable(&without(an_rsa_key(), "use")), 1);
    assert_eq!(usable(&with(an_rsa_key(), "key_ops", json!(["verify"]))), 1);
}

#[test]
fn keys_that_are_not_for_signatures_we_accept_are_left_out() {
    let cases = [
        ("symmetric", json!({"kty": "oct", "kid": "a", "k": "c2VjcmV0", "alg": "HS256"})),
        ("for encryption", with(an_rsa_key(), "use", json!("enc"))),
        ("for signing only", with(an_rsa_key(), "key_ops", json!(["sign"]))),
        ("of an algorithm not accepted", with(an_rsa_key(), "alg", json!("PS256"))),
        ("of another family's algorithm", with(an_rsa_key(), "alg", json!("ES256"))),
        ("declared symmetric", with(an_rsa_key(), "alg", json!("HS256"))),
        ("on another curve", with(jwk("ec", &ec(), Algorithm::ES256), "crv", json!("P-384"))),
        ("without its number", without(an_rsa_key(), "n")),
        ("with a number that is none", with(an_rsa_key(), "n", json!("!"))),
        ("of 1024 bits", with(an_rsa_key(), "n", json!(URL_SAFE_NO_PAD.encode([0xff; 128])))),
        ("of an unknown type", json!({"kty": "AKP", "kid": "a"})),
        ("not an object", json!(7)),
    ];

    for (name, key) in cases {
        assert_eq!(usable(&key), 0, "{name}");
    }
}

#[test]
fn one_odd_key_does_not_spoil_the_set() {
    let keys = key_set(&[json!({"kty": "AKP"}), json!("odd"), an_rsa_key()]);

    let identity = verify(&by_rsa(&header(), &claims()), &keys, &expectations(), now());

    assert!(identity.is_ok());
}

#[test]
fn a_document_that_is_no_key_set_is_refused() {
    let fifty_one = vec![json!({}); 51];

    assert_eq!(KeySet::parse(b"[]").unwrap_err(), BadKeySet::Malformed);
    assert_eq!(KeySet::parse(b"[[]]").unwrap_err(), BadKeySet::Malformed);
    assert_eq!(KeySet::parse(b"{}").unwrap_err(), BadKeySet::Malformed);
    assert_eq!(KeySet::parse(b"<html>").unwrap_err(), BadKeySet::Malformed);
    let too_many = KeySet::parse(json!({ "keys": fifty_one }).to_string().as_bytes());
    assert_eq!(too_many.unwrap_err(), BadKeySet::TooMany);
    assert!(KeySet::parse(br#"{"keys": []}"#).unwrap().is_empty());
}

#[test]
fn a_key_id_is_optional_if_only_one_key_matches() {
    let unnamed = by_rsa(&json!({ "alg": "RS256" }), &claims());
    let one = key_set(&[an_rsa_key(), jwk("ec", &ec(), Algorithm::ES256)]);
    let two = key_set(&[an_rsa_key(), with(an_rsa_key(), "kid", json!("rsa-2"))]);

    assert!(verify(&unnamed, &one, &expectations(), now()).is_ok());
    let ambiguous = verify(&unnamed, &two, &expectations(), now());
    assert_eq!(ambiguous, Err(JwtError::Invalid("has no key ID")));
}

#[test]
fn keys_with_the_same_id_differ_by_their_algorithms() {
    let named = |key| with(key, "kid", json!("same"));
    let keys = key_set(&[named(jwk("", &ec(), Algorithm::ES256)), named(an_rsa_key())]);

    let token = by_rsa(&heading("kid", json!("same")), &claims());

    assert!(verify(&token, &keys, &expectations(), now()).is_ok());
}

#[test]
fn a_token_of_a_key_not_in_the_set_asks_for_a_newer_set() {
    let token = by_rsa(&heading("kid", json!("next")), &claims());

    assert_eq!(verdict(&token), Err(JwtError::UnknownKey));
}

#[test]
fn a_token_no_key_could_help_does_not_ask_for_a_newer_set() {
    let secret = EncodingKey::from_secret(SECRET);
    let symmetric = json!({ "alg": "HS256", "kid": "next" });
    let token = signed(&symmetric, &claims(), &secret, Algorithm::HS256);

    assert_eq!(verdict(&token), Err(JwtError::Invalid("its algorithm is not accepted")));
}
