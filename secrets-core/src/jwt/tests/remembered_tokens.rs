//! Tests of tokens that a key set has verified before.

use std::mem;

use super::*;

const BAD_SIGNATURE: Result<Identity, JwtError> =
    Err(JwtError::Invalid("the signature is not valid"));

/// Returns a key set with the public key of `ed(seed)`.
fn set_of(seed: u8) -> KeySet {
    key_set(&[jwk("ed", &ed(seed), Algorithm::EdDSA)])
}

/// Creates a token with a valid signature by `ed(1)`, with this type and these claims.
fn token(typ: &str, claims: &Value) -> String {
    signed(&json!({"alg": "EdDSA", "kid": "ed", "typ": typ}), claims, &ed(1), Algorithm::EdDSA)
}

fn check(token: &str, set: &KeySet) -> Result<Identity, JwtError> {
    verify(token, set, &expectations(), now())
}

#[test]
fn a_verified_signature_is_not_verified_again() {
    let (mut set, mut others) = (set_of(1), set_of(2));
    let known = token("JWT", &claims());
    check(&known, &set).unwrap();

    // From here on, each verification of a signature by `ed(1)` fails.
    mem::swap(&mut set.keys, &mut others.keys);

    for _ in 1..1_000 {
        assert!(check(&known, &set).is_ok());
    }
    let new = token("JWT", &claiming("sub", json!("someone else")));
    assert_eq!(check(&new, &set), BAD_SIGNATURE);
}

#[test]
fn a_token_made_of_parts_of_two_verified_tokens_is_refused() {
    let set = set_of(1);
    let first = token("JWT", &claims());
    let second = token("at+jwt", &claiming("sub", json!("someone else")));
    assert!(check(&first, &set).is_ok() && check(&second, &set).is_ok());

    for replaced in 0..3 {
        let mut parts: Vec<_> = first.split('.').collect();
        parts[replaced] = second.split('.').nth(replaced).unwrap();
        let mixed = parts.join(".");

        assert_eq!(check(&mixed, &set), BAD_SIGNATURE, "{replaced}");
        assert_eq!(check(&mixed, &set), BAD_SIGNATURE, "{replaced}, at the second use");
    }
}

#[test]
fn a_key_set_does_not_remember_the_tokens_of_another() {
    let known = token("JWT", &claims());
    assert!(check(&known, &set_of(1)).is_ok());

    let same_id = check(&known, &set_of(2));
    let without = key_set(&[jwk("ec", &ec(), Algorithm::ES256)]);

    assert_eq!(same_id, BAD_SIGNATURE);
    assert_eq!(check(&known, &without), Err(JwtError::UnknownKey));
}

#[test]
fn issuer_audience_and_times_are_checked_at_each_use() {
    let set = set_of(1);
    let mut claims = claims();
    claims["nonce"] = json!("n-1");
    let (access, id) = (token("at+jwt", &claims), token("JWT", &claims));
    assert!(check(&access, &set).is_ok() && check(&id, &set).is_ok());
    let other = Expectations { audience: "other".into(), ..expectations() };
    let id_token = |token, nonce| verify_id_token(token, &set, &expectations(), nonce, now());

    let later = now() + TimeDelta::hours(2);
    assert_eq!(verify(&id, &set, &expectations(), later), Err(JwtError::Expired));
    let earlier = now() - TimeDelta::hours(2);
    assert!(matches!(verify(&id, &set, &expectations(), earlier), Err(JwtError::Invalid(_))));
    assert!(matches!(verify(&id, &set, &other, now()), Err(JwtError::Invalid(_))));
    assert!(matches!(id_token(&id, "n-2"), Err(JwtError::Invalid(_))));
    assert!(matches!(id_token(&access, "n-1"), Err(JwtError::Invalid(_))));
    assert!(id_token(&id, "n-1").is_ok());
}

#[test]
fn an_id_token_is_verified_at_each_use() {
    let (mut set, mut others) = (set_of(1), set_of(2));
    let mut claims = claims();
    claims["nonce"] = json!("n-1");
    let known = token("JWT", &claims);
    assert!(check(&known, &set).is_ok());
    mem::swap(&mut set.keys, &mut others.keys);

    let again = verify_id_token(&known, &set, &expectations(), "n-1", now());

    assert_eq!(again, BAD_SIGNATURE);
}

#[test]
fn a_token_of_a_configured_key_is_remembered_too() {
    let single = |secret: &[u8]| KeySet::single(VerificationKey::shared(secret).unwrap());
    let (mut set, mut other) = (single(SECRET), single(&[7; 32]));
    let secret = EncodingKey::from_secret(SECRET);
    let known = signed(&json!({ "alg": "HS256" }), &claims(), &secret, Algorithm::HS256);
    assert_eq!(check(&known, &other), BAD_SIGNATURE);
    assert!(check(&known, &set).is_ok());

    mem::swap(&mut set.keys, &mut other.keys);

    assert!(check(&known, &set).is_ok());
}

#[test]
fn a_token_that_is_used_after_its_end_is_forgotten() {
    let (mut set, mut others) = (set_of(1), set_of(2));
    let known = token("JWT", &claims());
    assert!(check(&known, &set).is_ok());
    let later = now() + TimeDelta::hours(2);
    assert_eq!(verify(&known, &set, &expectations(), later), Err(JwtError::Expired));

    mem::swap(&mut set.keys, &mut others.keys);

    assert_eq!(check(&known, &set), BAD_SIGNATURE);
}

#[test]
fn the_memory_for_claims_is_bounded() {
    let set = set_of(1);
    let mut claims = claims();
    claims["aud"] = json!(vec!["a"; 300]);
    let json = claims.to_string();
    let parsed = || TokenClaims::parse(json.as_bytes());
    let size = parsed().unwrap().size();
    assert!(size > 300 * size_of::<String>(), "{size} bytes");

    for number in 0..4_000 {
        set.remembered(&format!("token {number}"), parsed).unwrap();
    }

    let used = set.remembered.weight();
    assert!(used <= 16 << 20 && used > 8 << 20, "{used} bytes");
}

#[test]
fn the_debug_text_of_a_key_set_shows_no_claims() {
    let set = set_of(1);
    assert!(check(&token("JWT", &claims()), &set).is_ok());

    let shown = format!("{set:?}");

    assert!(shown.starts_with("KeySet { keys: [VerificationKey {"), "{shown}");
    assert!(!shown.contains("248289761001"), "{shown}");
}
