//! Tests with invalid tokens, all of which must be rejected.

use super::*;

/// Values of valid claims in a JSON array, without claim names.
const IN_A_LIST: &str = r#"["https://issuer.example","248289761001","secrets",1800003600,0,0]"#;

fn claim(name: &str, value: Value) -> String {
    by_rsa(&header(), &claiming(name, value))
}

fn head(name: &str, value: Value) -> String {
    by_rsa(&heading(name, value), &claims())
}

fn by_secret(header: &Value, secret: &[u8]) -> String {
    signed(header, &claims(), &EncodingKey::from_secret(secret), Algorithm::HS256)
}

/// Creates a token from a literal header and literal claims, for JSON that a `Value` cannot
/// represent.
fn raw(header: &str, claims: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let message = format!("{}.{}", part(header), part(claims));
    let signature =
        jsonwebtoken::crypto::sign(message.as_bytes(), &rsa(), Algorithm::RS256).unwrap();
    format!("{message}.{signature}")
}

/// Creates a valid token, and replaces its signature (base64url) by the result of `change`.
fn resigned(change: impl Fn(&str) -> String) -> String {
    let token = by_rsa(&header(), &claims());
    let (message, signature) = token.rsplit_once('.').unwrap();
    format!("{message}.{}", change(signature))
}

fn all_refused(cases: &[(&str, String)]) {
    for (name, token) in cases {
        let verdict = verdict(token);
        assert!(
            matches!(verdict, Err(JwtError::Invalid(_) | JwtError::Expired)),
            "{name}: {verdict:?}"
        );
    }
}

#[test]
fn malformed_tokens_are_refused() {
    let good = by_rsa(&header(), &claims());
    let (message, _) = good.rsplit_once('.').unwrap();

    all_refused(&[
        ("nothing", String::new()),
        ("no dots", "token".into()),
        ("dots alone", "..".into()),
        ("no signature part", message.into()),
        ("four parts", format!("{good}.x")),
        ("five parts, encrypted", "a.b.c.d.e".into()),
        ("white space before", format!(" {good}")),
        ("white space after", format!("{good}\n")),
        ("padding", format!("{good}=")),
        ("not base64", format!("!{good}")),
        ("standard base64", resigned(|signature| signature.replace(['-', '_'], "+") + "+/")),
        ("longer than allowed", claim("padding", json!("x".repeat(MAX_LENGTH)))),
        ("header not JSON", raw("alg", &claims().to_string())),
        ("header a list", raw(r#"["RS256"]"#, &claims().to_string())),
        ("claims not JSON", raw(&header().to_string(), "sub")),
        ("claims a list", raw(&header().to_string(), "[]")),
        ("claims a list in the right order", raw(&header().to_string(), IN_A_LIST)),
        ("bytes after the claims", raw(&header().to_string(), &format!("{} x", claims()))),
    ]);
}

#[test]
fn tokens_that_choose_their_algorithm_are_refused() {
    let unsigned = |alg: &str| {
        let header = json!({ "alg": alg, "kid": "rsa" });
        format!("{}.{}.", part(&header), part(&claims()))
    };
    let hs256 = json!({ "alg": "HS256", "kid": "rsa" });
    let modulus = jwk("rsa", &rsa(), Algorithm::RS256)["n"].as_str().unwrap().to_owned();
    let psed = signed(&json!({"alg": "PS256", "kid": "rsa"}), &claims(), &rsa(), Algorithm::PS256);
    let rs512 = signed(&json!({"alg": "RS512", "kid": "rsa"}), &claims(), &rsa(), Algorithm::RS512);

    all_refused(&[
        ("none", unsigned("none")),
        ("none, spelt otherwise", unsigned("nOnE")),
        ("RS256, unsigned", unsigned("RS256")),
        ("no algorithm", by_rsa(&json!({ "kid": "rsa" }), &claims())),
        ("an algorithm that is no text", head("alg", json!(256))),
        ("lower case", head("alg", json!("rs256"))),
        ("HS256 with the public key's file as secret", by_secret(&hs256, RSA)),
        ("HS256 with the public modulus as secret", by_secret(&hs256, modulus.as_bytes())),
        ("HS256 with an empty secret", by_secret(&hs256, b"")),
        ("HS256 without a key's name", by_secret(&json!({ "alg": "HS256" }), SECRET)),
        ("RS256 claiming ES256", head("alg", json!("ES256"))),
        ("RS256 claiming EdDSA", head("alg", json!("EdDSA"))),
        ("RS256 with an elliptic key's name", head("kid", json!("ec"))),
        ("PS256", psed),
        ("RS512", rs512),
    ]);
}

#[test]
fn tokens_that_bring_their_own_key_are_refused() {
    let theirs = ed(9);
    let own = jwk("ed", &theirs, Algorithm::EdDSA);
    let mut with_own = json!({ "alg": "EdDSA", "kid": "ed" });
    with_own["jwk"] = own.clone();

    all_refused(&[
        ("their key inside", signed(&with_own, &claims(), &theirs, Algorithm::EdDSA)),
        ("a key inside, properly signed", head("jwk", own)),
        ("where to fetch keys", head("jku", json!("https://evil.example/keys"))),
        ("where to fetch a certificate", head("x5u", json!("https://evil.example/cert"))),
        ("a certificate inside", head("x5c", json!(["MIIB"]))),
        ("a critical extension", head("crit", json!(["exp"]))),
        ("an unknown critical extension", head("crit", json!(["http://evil.example/x"]))),
        ("an empty list of critical extensions", head("crit", json!([]))),
        ("critical extensions that are null", head("crit", json!(null))),
        ("a logout token", head("typ", json!("logout+jwt"))),
    ]);
}

#[test]
fn tokens_naming_keys_by_tricks_are_unknown() {
    let cases = ["", "../../../dev/null", "/dev/null", "rsa\u{0}", "RSA", "rsa ", "' OR '1'='1"];

    for name in cases {
        assert_eq!(verdict(&head("kid", json!(name))), Err(JwtError::UnknownKey), "{name:?}");
    }
    all_refused(&[("a name that is no text", head("kid", json!(["rsa"])))]);
}

#[test]
fn tokens_not_signed_by_the_key_they_name_are_refused() {
    let good = by_rsa(&header(), &claims());
    let mut other_claims = good.split('.').map(str::to_owned).collect::<Vec<_>>();
    other_claims[1] = part(&claiming("sub", json!("somebody-else")));
    let by_other =
        signed(&json!({"alg": "EdDSA", "kid": "ed"}), &claims(), &ed(2), Algorithm::EdDSA);

    all_refused(&[
        ("claims changed", other_claims.join(".")),
        ("signature empty", resigned(|_| String::new())),
        ("signature cut", resigned(|signature| signature[..8].to_owned())),
        ("signature of zeros", resigned(|signature| "A".repeat(signature.len()))),
        ("signed by another key of the kind", by_other),
    ]);
}

#[test]
fn tokens_of_another_issuer_or_audience_are_refused() {
    all_refused(&[
        ("no issuer", claim("iss", json!(null))),
        ("another issuer", claim("iss", json!("https://evil.example"))),
        ("the issuer with a slash", claim("iss", json!("https://issuer.example/"))),
        ("the issuer in capitals", claim("iss", json!("https://ISSUER.example"))),
        ("a list of issuers with ours", claim("iss", json!(["https://issuer.example"]))),
        ("no audience", claim("aud", json!(null))),
        ("another audience", claim("aud", json!("other"))),
        ("our audience as a prefix", claim("aud", json!("secrets-admin"))),
        ("an empty list of audiences", claim("aud", json!([]))),
        ("other audiences", claim("aud", json!(["a", "b"]))),
        ("audiences that are no text", claim("aud", json!(["secrets", 1]))),
        ("an audience that is an object", claim("aud", json!({ "secrets": true }))),
    ]);
}

#[test]
fn tokens_without_a_subject_are_refused() {
    all_refused(&[
        ("no subject", claim("sub", json!(null))),
        ("an empty subject", claim("sub", json!(""))),
        ("a subject that is a number", claim("sub", json!(7))),
        ("a subject of 256 characters", claim("sub", json!("x".repeat(256)))),
        ("a subject with a zero byte", claim("sub", json!("a\u{0}b"))),
        (
            "two subjects",
            raw(
                &header().to_string(),
                &claims().to_string().replacen('{', r#"{"sub":"other","#, 1),
            ),
        ),
    ]);
}

#[test]
fn tokens_outside_of_their_lifetime_are_refused() {
    all_refused(&[
        ("no expiry", claim("exp", json!(null))),
        ("expired", claim("exp", json!(NOW - 3600))),
        ("expired in 1970", claim("exp", json!(0))),
        ("an expiry that is text", claim("exp", json!("1800003600"))),
        ("an expiry that is true", claim("exp", json!(true))),
        ("a negative expiry", claim("exp", json!(-1))),
        ("an expiry after the year 9999", claim("exp", json!(253_402_300_800_i64))),
        ("an expiry beyond all numbers", claim("exp", json!(1e300))),
        ("an expiry in milliseconds", claim("exp", json!(NOW * 1000))),
        ("not valid yet", claim("nbf", json!(NOW + 3600))),
        ("a beginning that is text", claim("nbf", json!("now"))),
        ("a beginning in a list", claim("nbf", json!([NOW]))),
        ("issued at no time", claim("iat", json!("yesterday"))),
        (
            "a beginning that is null",
            raw(&header().to_string(), &claims().to_string().replacen('{', r#"{"nbf":null,"#, 1)),
        ),
    ]);
}
