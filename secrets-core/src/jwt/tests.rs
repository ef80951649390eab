//! Tests with valid and invalid tokens. Each invalid token has exactly one flaw, which is the name
//! of its test case. Its signature is valid, unless the signature is the flaw.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::*;

mod bad_tokens;
mod id_tokens;
mod key_sets;
mod remembered_tokens;

const RSA: &[u8] = include_bytes!("testdata/rsa.pem");
const EC: &[u8] = include_bytes!("testdata/ec.pem");
const SECRET: &[u8] = b"kvc_a-shared-secret-of-more-than-32-bytes";

/// Current time in these tests.
const NOW: i64 = 1_800_000_000;

fn now() -> Time {
    DateTime::from_timestamp(NOW, 0).unwrap()
}

fn expectations() -> Expectations {
    Expectations { issuer: "https://issuer.example".into(), audience: "secrets".into() }
}

fn rsa() -> EncodingKey {
    EncodingKey::from_rsa_pem(RSA).unwrap()
}

fn ec() -> EncodingKey {
    EncodingKey::from_ec_pem(EC).unwrap()
}

fn ed(seed: u8) -> EncodingKey {
    let mut pkcs8 = vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    pkcs8.extend([seed; 32]);
    EncodingKey::from_ed_der(&pkcs8)
}

/// Returns the public part of a key as a JSON Web Key, as an issuer publishes it.
fn jwk(id: &str, key: &EncodingKey, algorithm: Algorithm) -> Value {
    let mut jwk = serde_json::to_value(Jwk::from_encoding_key(key, algorithm).unwrap()).unwrap();
    jwk["kid"] = json!(id);
    jwk["use"] = json!("sig");
    jwk
}

fn key_set(keys: &[Value]) -> KeySet {
    KeySet::parse(json!({ "keys": keys }).to_string().as_bytes()).unwrap()
}

/// Returns the public keys of the test issuer, one of each kind.
fn published() -> KeySet {
    key_set(&[
        jwk("rsa", &rsa(), Algorithm::RS256),
        jwk("ec", &ec(), Algorithm::ES256),
        jwk("ed", &ed(1), Algorithm::EdDSA),
    ])
}

fn claims() -> Value {
    json!({
        "iss": "https://issuer.example",
        "aud": "secrets",
        "sub": "248289761001",
        "exp": NOW + 3600,
        "nbf": NOW - 10,
        "iat": NOW - 10,
    })
}

/// Returns valid claims with one claim replaced, or removed if the value is `null`.
fn claiming(name: &str, value: Value) -> Value {
    let mut claims = claims();
    if value.is_null() {
        claims.as_object_mut().unwrap().remove(name);
    } else {
        claims[name] = value;
    }
    claims
}

fn part(json: &Value) -> String {
    URL_SAFE_NO_PAD.encode(json.to_string())
}

/// Creates a token with a valid signature from any header and claims.
fn signed(header: &Value, claims: &Value, key: &EncodingKey, algorithm: Algorithm) -> String {
    let message = format!("{}.{}", part(header), part(claims));
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), key, algorithm).unwrap();
    format!("{message}.{signature}")
}

fn by_rsa(header: &Value, claims: &Value) -> String {
    signed(header, claims, &rsa(), Algorithm::RS256)
}

fn header() -> Value {
    json!({ "alg": "RS256", "kid": "rsa", "typ": "JWT" })
}

/// Returns a valid token header with one parameter replaced.
fn heading(name: &str, value: Value) -> Value {
    let mut header = header();
    header[name] = value;
    header
}

/// Verifies a token with the keys of the test issuer, at its first use and at a later one.
fn verdict(token: &str) -> Result<Identity, JwtError> {
    let keys = published();
    let first = verify(token, &keys, &expectations(), now());
    assert_eq!(verify(token, &keys, &expectations(), now()), first);
    first
}

#[test]
fn each_kind_of_published_key_is_accepted() {
    let rsa = by_rsa(&header(), &claims());
    let ec = signed(&json!({"alg": "ES256", "kid": "ec"}), &claims(), &ec(), Algorithm::ES256);
    let ed = signed(&json!({"alg": "EdDSA", "kid": "ed"}), &claims(), &ed(1), Algorithm::EdDSA);

    assert_eq!(verdict(&rsa).unwrap().subject, "248289761001");
    assert_eq!(verdict(&ec).unwrap().subject, "248289761001");
    assert_eq!(verdict(&ed).unwrap().subject, "248289761001");
}

#[test]
fn an_identity_has_the_claims_of_the_token() {
    let mut claims = claims();
    claims["email"] = json!("alice@example.com");
    claims["email_verified"] = json!(true);
    claims["name"] = json!("Alice Example");
    claims["given_name"] = json!("Alice");
    claims["family_name"] = json!("Example");
    claims["picture"] = json!("https://example.com/alice.png");

    let identity = verdict(&by_rsa(&header(), &claims)).unwrap();

    let expected = Identity {
        issuer: "https://issuer.example".into(),
        subject: "248289761001".into(),
        email: Some("alice@example.com".into()),
        email_verified: true,
        name: Some("Alice Example".into()),
        given_name: Some("Alice".into()),
        family_name: Some("Example".into()),
        picture: Some("https://example.com/alice.png".into()),
        token: None,
    };
    assert_eq!(identity, expected);
}

#[test]
fn an_address_is_unverified_without_the_claim() {
    let verified = |value: Value| {
        let mut claims = claiming("email", json!("alice@example.com"));
        claims["email_verified"] = value;
        verdict(&by_rsa(&header(), &claims)).unwrap().email_verified
    };

    assert!(verified(json!(true)));
    assert!(verified(json!("true")));
    assert!(!verified(json!("yes")));
    assert!(!verified(json!(1)));
    assert!(!verified(json!(null)));
}

#[test]
fn a_profile_that_is_not_text_counts_as_missing() {
    let email = |value| verdict(&by_rsa(&header(), &claiming("email", value))).unwrap().email;

    assert_eq!(email(json!(["alice@example.com"])), None);
    assert_eq!(email(json!("")), None);
    assert_eq!(email(json!("alice\u{0}@example.com")), None);
}

#[test]
fn missing_claims_are_completed_and_others_kept() {
    let mut identity = verdict(&by_rsa(&header(), &claiming("name", json!("Alice")))).unwrap();
    let profile = |json: Value| serde_json::from_value::<Profile>(json).unwrap();

    let verified = json!({"email": "a@example.com", "email_verified": true, "name": "Bob"});
    let unverified = json!({"email": "b@example.com"});
    identity = profile(verified).complete(identity);
    identity = profile(unverified).complete(identity);

    assert_eq!(identity.email.as_deref(), Some("a@example.com"));
    assert!(identity.email_verified);
    assert_eq!(identity.name.as_deref(), Some("Alice"));
}

#[test]
fn clocks_may_differ_by_a_minute() {
    let expired_for = |seconds| verdict(&by_rsa(&header(), &claiming("exp", json!(NOW - seconds))));
    let begins_in = |seconds| verdict(&by_rsa(&header(), &claiming("nbf", json!(NOW + seconds))));

    assert!(expired_for(59).is_ok());
    assert_eq!(expired_for(60), Err(JwtError::Expired));
    assert!(begins_in(60).is_ok());
    assert_eq!(begins_in(61), Err(JwtError::Invalid("not valid yet")));
}

#[test]
fn times_with_fractions_and_audiences_in_lists_are_fine() {
    let whole = claiming("exp", json!(1_800_000_600.75));
    let listed = claiming("aud", json!(["account", "secrets"]));
    let untyped = json!({ "alg": "RS256", "kid": "rsa" });

    assert!(verdict(&by_rsa(&header(), &whole)).is_ok());
    assert!(verdict(&by_rsa(&header(), &listed)).is_ok());
    assert!(verdict(&by_rsa(&untyped, &claims())).is_ok());
    assert!(verdict(&by_rsa(&heading("typ", json!("at+JWT")), &claims())).is_ok());
}

#[test]
fn a_shared_secret_is_used_for_hs256_only() {
    let keys = KeySet::single(VerificationKey::shared(SECRET).unwrap());
    let secret = EncodingKey::from_secret(SECRET);
    let check = |token: &str| verify(token, &keys, &expectations(), now());
    let hs256 = json!({ "alg": "HS256", "kid": "any" });

    assert!(check(&signed(&hs256, &claims(), &secret, Algorithm::HS256)).is_ok());
    let other = EncodingKey::from_secret(b"kvc_another-secret-of-more-than-32-bytes");
    assert!(check(&signed(&hs256, &claims(), &other, Algorithm::HS256)).is_err());
    assert!(
        check(&signed(&json!({"alg": "HS512"}), &claims(), &secret, Algorithm::HS512)).is_err()
    );
    assert!(check(&by_rsa(&header(), &claims())).is_err());
}

#[test]
fn a_short_secret_is_refused() {
    assert_eq!(VerificationKey::shared(&[7; 31]).unwrap_err(), WeakSecret);
    assert!(VerificationKey::shared(&[7; 32]).is_ok());
}

#[test]
fn a_development_key_signs_for_a_day() {
    let key = DevKey::generate().unwrap();
    let again = DevKey::from_seed(Zeroizing::new(*key.seed())).unwrap();
    let token = key.sign("dev@example.com", now()).unwrap();
    let check = |keys: &KeySet, now| verify(&token, keys, &DevKey::expectations(), now);

    let identity = check(&again.keys(), now()).unwrap();
    assert_eq!(identity.issuer, "secrets-dev");
    assert_eq!(identity.subject, "dev@example.com");
    assert_eq!(identity.email.as_deref(), Some("dev@example.com"));
    assert!(identity.email_verified);
    assert!(check(&again.keys(), now() + TimeDelta::hours(24)).is_ok());
    assert!(check(&again.keys(), now() + TimeDelta::hours(24) + TimeDelta::minutes(1)).is_err());
    assert!(check(&DevKey::generate().unwrap().keys(), now()).is_err());
}

#[test]
fn nothing_prints_a_key() {
    let key = VerificationKey::shared(SECRET).unwrap();
    let dev = DevKey::from_seed(Zeroizing::new([0x41; 32])).unwrap();

    assert_eq!(format!("{key:?}"), "VerificationKey { id: None, algorithm: HS256, .. }");
    assert_eq!(format!("{dev:?}"), "DevKey { .. }");
}

#[test]
fn a_code_of_the_development_key_is_valid_for_five_minutes() {
    let key = DevKey::generate().unwrap();
    let code = key.code("dev@example.com", now());

    let read = key.read_code(&code, now() + TimeDelta::seconds(299)).unwrap();
    assert_eq!((read.email.as_str(), read.issued_at), ("dev@example.com", now()));
    assert_ne!(read.id, key.read_code(&key.code("dev@example.com", now()), now()).unwrap().id);
    assert_eq!(key.read_code(&code, now() + TimeDelta::minutes(5)), None);
    assert_eq!(DevKey::generate().unwrap().read_code(&code, now()), None);
    for place in [0, 25, 45, code.len() - 2] {
        let mut changed = code.clone().into_bytes();
        changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
        assert_eq!(key.read_code(std::str::from_utf8(&changed).unwrap(), now()), None, "{place}");
    }
    for wrong in ["", "AAAA", &"A".repeat(2_000)] {
        assert_eq!(key.read_code(wrong, now()), None);
    }
}
