//! Fuzz targets of JSON Web Tokens and of key sets.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::DateTime;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

use crate::jwt::{BadKeySet, Expectations, JwtError, KeySet, verify};
use crate::model::{Identity, Time};

/// Current time of the verification, as Unix time.
const NOW: u32 = 1_800_000_000;

const ISSUER: &str = "https://issuer.example";
const AUDIENCE: &str = "secrets";

/// Header fields with which a token is never accepted.
const FORBIDDEN_FIELDS: [&str; 5] = ["crit", "jwk", "jku", "x5u", "x5c"];

/// Maximum number of keys in a key set.
const MAX_KEYS: usize = 50;

/// Signing key of the test issuer, with its published key set.
struct Issuer {
    private: EncodingKey,
    /// Bytes of the public key.
    public: Vec<u8>,
    keys: KeySet,
}

static TEST_ISSUER: LazyLock<Issuer> = LazyLock::new(|| {
    let mut pkcs8 = vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    pkcs8.extend([1; 32]);
    let private = EncodingKey::from_ed_der(&pkcs8);
    let jwk = Jwk::from_encoding_key(&private, Algorithm::EdDSA).unwrap();
    let mut jwk = serde_json::to_value(jwk).unwrap();
    jwk["kid"] = json!("ed");
    let public = URL_SAFE_NO_PAD.decode(jwk["x"].as_str().unwrap()).unwrap();
    let set = KeySet::parse(json!({ "keys": [jwk] }).to_string().as_bytes()).unwrap();
    Issuer { private, public, keys: set }
});

/// Verifies the input as a token. Then verifies tokens whose header is the first line of the input,
/// and whose claims are the rest.
pub fn jwt(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(identity) = verified(text) {
        assert_eq!(identity.issuer, ISSUER);
    }
    let (header, claims) = text.split_once('\n').unwrap_or((text, ""));
    let token = signed(header, claims, &TEST_ISSUER.private, Algorithm::EdDSA);
    if let Ok(identity) = verified(&token) {
        assert_acceptable(header, claims, &identity);
        let (message, _) = token.rsplit_once('.').unwrap();
        assert!(verified(&format!("{message}.")).is_err(), "a token without a signature");
    }
    // The public key as the secret of a symmetric signature.
    let secret = EncodingKey::from_secret(&TEST_ISSUER.public);
    assert!(verified(&signed(header, claims, &secret, Algorithm::HS256)).is_err());

    let is_subject =
        (1..=255).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    let claims = json!({ "iss": ISSUER, "aud": [AUDIENCE], "sub": text, "exp": NOW }).to_string();
    let header = r#"{"alg":"EdDSA","kid":"ed","typ":"JWT"}"#;
    let token = signed(header, &claims, &TEST_ISSUER.private, Algorithm::EdDSA);
    // Longer tokens are rejected for their length.
    assert_eq!(verified(&token).is_ok_and(|identity| identity.subject == text), is_subject);
}

fn verified(token: &str) -> Result<Identity, JwtError> {
    let expectations = Expectations { issuer: ISSUER.to_owned(), audience: AUDIENCE.to_owned() };
    verify(token, &TEST_ISSUER.keys, &expectations, now())
}

fn now() -> Time {
    DateTime::from_timestamp(NOW.into(), 0).unwrap()
}

fn signed(header: &str, claims: &str, key: &EncodingKey, algorithm: Algorithm) -> String {
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), key, algorithm).unwrap();
    format!("{message}.{signature}")
}

/// Checks that the header and the claims of an accepted token meet all requirements.
fn assert_acceptable(header: &str, claims: &str, identity: &Identity) {
    let [header, claims] = [header, claims].map(serde_json::from_str::<Value>);
    // Fields that are not used may have values that this type cannot represent.
    let (Ok(header), Ok(claims)) = (header, claims) else { return };
    assert!(header.is_object() && claims.is_object());
    assert_eq!(header["alg"], "EdDSA");
    assert!(header["kid"].is_null() || header["kid"] == "ed");
    assert!(FORBIDDEN_FIELDS.iter().all(|field| header.get(field).is_none()));
    let types = ["jwt", "at+jwt", "application/at+jwt"];
    let typ = header["typ"].as_str().unwrap_or("jwt").to_ascii_lowercase();
    assert!(types.contains(&typ.as_str()));

    assert_eq!(claims["iss"], ISSUER);
    let is_listed = claims["aud"].as_array().is_some_and(|list| list.contains(&json!(AUDIENCE)));
    assert!(is_listed || claims["aud"] == AUDIENCE);
    assert!(claims["exp"].as_f64().unwrap() > f64::from(NOW) - 60.0);
    assert!(claims["nbf"].as_f64().unwrap_or_default() < f64::from(NOW) + 61.0);

    assert_eq!(claims["sub"], identity.subject.as_str());
    assert!(identity.email.as_deref().is_none_or(|email| claims["email"] == email));
    let is_verified = claims["email_verified"] == true || claims["email_verified"] == "true";
    assert!(is_verified || !identity.email_verified);
}

/// Parses the input as a key set, and verifies tokens without a signature with it.
pub fn key_set(bytes: &[u8]) {
    let document = serde_json::from_slice::<Value>(bytes).unwrap_or_default();
    let listed = document["keys"].as_array();
    let set = match KeySet::parse(bytes) {
        Ok(set) => set,
        Err(BadKeySet::TooMany) => {
            return assert!(listed.is_none_or(|keys| keys.len() > MAX_KEYS));
        }
        Err(BadKeySet::Malformed) => return,
    };
    // Fields that are not used may have values that `Value` cannot represent.
    let Some(listed) = listed else { return };
    let usable = listed.iter().filter(|key| is_usable(key)).count();
    assert!(listed.len() <= MAX_KEYS && set.len() <= usable, "only public signature keys are used");
    assert_eq!(KeySet::parse(bytes).map(|again| again.len()), Ok(set.len()));

    let shown = format!("{set:?}");
    for field in ["n", "x", "y", "d", "k"] {
        let material = listed.iter().filter_map(|key| key[field].as_str());
        for material in material.filter(|material| material.len() >= 32) {
            let is_id = listed
                .iter()
                .any(|key| key["kid"].as_str().is_some_and(|id| id.contains(material)));
            assert!(is_id || !shown.contains(material), "`Debug` shows a key");
        }
    }

    let expectations = Expectations { issuer: ISSUER.to_owned(), audience: AUDIENCE.to_owned() };
    let claims = json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": NOW }).to_string();
    for algorithm in ["none", "HS256", "RS256", "ES256", "EdDSA"] {
        for id in listed.iter().map(|key| &key["kid"]).chain([&Value::Null]) {
            let header = json!({ "alg": algorithm, "kid": id }).to_string();
            let [header, claims] = [&header, &claims].map(|part| URL_SAFE_NO_PAD.encode(part));
            let token = format!("{header}.{claims}.");
            assert!(verify(&token, &set, &expectations, now()).is_err());
        }
    }
}

/// True for a JSON Web Key that can be a public key for signatures.
fn is_usable(key: &Value) -> bool {
    let is_public = ["RSA", "EC", "OKP"].iter().any(|kind| key["kty"] == *kind);
    is_public && (key["use"].is_null() || key["use"] == "sig")
}
