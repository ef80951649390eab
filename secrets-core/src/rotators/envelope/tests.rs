use chrono::DateTime;
use serde_json::{Value, json};
use uuid::Uuid;

use super::response::response;
use super::*;
use crate::crypto::Plaintext;
use crate::ports::rotator::{Applied, TargetError};

const SECRET: &str = "kvc_shared_0123456789abcdefghijklmnop";

fn proxy(secret: &str) -> Proxy {
    Proxy {
        lambda_arn: "arn:aws:lambda:eu-central-1:123456789012:function:rotate".to_owned(),
        region: "eu-central-1".to_owned(),
        shared_secret: Plaintext::new(secret.to_owned()).unwrap(),
    }
}

fn heading(step: Step) -> Heading {
    let at = DateTime::from_timestamp(1_795_219_200, 0).unwrap();
    Heading::draw(at, Uuid::from_u128(7).into(), 3, step)
}

/// Builds a signed and encrypted response, as the proxy function would send it.
fn answered(heading: &Heading, outcome: &str, inside: &Value) -> Vec<u8> {
    let payload = inside.to_string();
    response(&proxy(SECRET), heading, outcome, (random(), payload.as_bytes()))
}

fn result(heading: &Heading, answer: &[u8]) -> Result<Applied, TargetError> {
    heading.open(&proxy(SECRET), answer)?.result()
}

fn untrusted() -> Result<Applied, TargetError> {
    Err(Fault::ProxyUntrusted.into())
}

#[test]
fn only_the_heading_of_a_request_is_unencrypted() {
    let heading = heading(Step::Apply);

    let payload = heading.seal(&proxy(SECRET), b"kvc_inside").unwrap();

    let request: Value = serde_json::from_slice(&payload).unwrap();
    let fields: Vec<_> = request.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["config", "ct", "kid", "nonce", "seq", "sig", "step", "ts", "v"]);
    assert_eq!(request["config"], "00000000-0000-0000-0000-000000000007");
    assert_eq!((&request["seq"], &request["step"]), (&json!(3), &json!("apply")));
    assert!(!payload.windows(4).any(|bytes| bytes == b"kvc_"));
}

#[test]
fn two_requests_share_no_random_value() {
    let (first, second) = (heading(Step::Test), heading(Step::Test));

    assert_ne!(first.nonce, second.nonce);
    let [one, other] = [(); 2].map(|()| first.seal(&proxy(SECRET), b"kvc_inside").unwrap());
    assert_ne!(one, other);
}

#[test]
fn a_request_has_a_bound() {
    let heading = heading(Step::Apply);

    assert!(heading.seal(&proxy(SECRET), &[b'x'; 11_000]).is_some());
    assert!(heading.seal(&proxy(SECRET), &[b'x'; LIMIT]).is_none());
}

#[test]
fn an_answer_has_the_outcome_of_its_request() {
    let heading = heading(Step::Apply);
    let open = |outcome, inside: Value| result(&heading, &answered(&heading, outcome, &inside));

    let applied = open("ok", json!({"identity": "7301", "sent_in_clear": true}));
    assert_eq!(applied, Ok(Applied { identity: Some("7301".to_owned()), sent_in_clear: true }));
    assert_eq!(open("ok", json!({})), Ok(Applied::default()));
    for fault in Fault::ALL {
        let expected = if fault.code().starts_with("proxy_") { Fault::Protocol } else { fault };
        assert_eq!(open(fault.code(), json!({})), Err(expected.into()));
    }
    let refused = open("privilege_missing", json!({"state": "42501"})).unwrap_err();
    assert_eq!(refused.code.unwrap().as_str(), "42501");
}

#[test]
fn a_signed_answer_with_an_unknown_outcome_is_an_error() {
    let heading = heading(Step::Apply);
    let open = |outcome, inside: Value| result(&heading, &answered(&heading, outcome, &inside));

    for (outcome, inside) in [
        ("ok", json!({"identity": "<script>"})),
        ("ok", json!({"identity": ""})),
        ("ok", json!({"identity": "1".repeat(65)})),
        ("ok", json!({"message": "kvc_text of a server"})),
        ("ok", json!({"state": "42501"})),
        ("ok", json!([])),
        ("OK", json!({})),
        ("", json!({})),
        ("no such fault", json!({})),
    ] {
        assert_eq!(open(outcome, inside.clone()), Err(Fault::Protocol.into()), "{inside}");
    }
    // An invalid code is left out.
    let refused = open("busy", json!({"state": "<scr>"})).unwrap_err();
    assert_eq!(refused, Fault::Busy.into());
}

#[test]
fn an_answer_with_any_bit_changed_is_refused() {
    let heading = heading(Step::Apply);
    let answer = answered(&heading, "ok", &json!({"identity": "7301"}));
    assert!(result(&heading, &answer).is_ok());

    for place in 0..answer.len() {
        for bit in 0..8 {
            let mut changed = answer.clone();
            changed[place] ^= 1 << bit;
            assert_eq!(result(&heading, &changed), untrusted(), "byte {place}, bit {bit}");
        }
    }
}

#[test]
fn an_answer_that_was_cut_or_grew_is_refused() {
    let heading = heading(Step::Apply);
    let answer = answered(&heading, "ok", &json!({}));

    for length in 0..answer.len() {
        assert_eq!(result(&heading, &answer[..length]), untrusted());
    }
    let padded = [answer.as_slice(), &[b' '; LIMIT]].concat();
    assert_eq!(result(&heading, &padded), untrusted());
    let text = String::from_utf8(answer).unwrap();
    for more in [r#"{"v":1,"#, r#"{"note":1,"#] {
        let changed = text.replacen('{', more, 1);
        assert_eq!(result(&heading, changed.as_bytes()), untrusted(), "{more}");
    }
}

#[test]
fn an_answer_to_another_request_is_refused() {
    let asked = heading(Step::Apply);
    let answer = answered(&asked, "ok", &json!({}));

    let others = [
        Heading { nonce: random(), ..asked },
        Heading { sequence: 4, ..asked },
        Heading { step: Step::Verify, ..asked },
    ];
    for other in others {
        assert_eq!(result(&other, &answer), untrusted());
    }
}

#[test]
fn an_answer_signed_with_another_secret_is_refused() {
    let heading = heading(Step::Apply);
    let answer = answered(&heading, "ok", &json!({}));

    let opened = heading.open(&proxy("kvc_shared_0123456789abcdefghijklmnoq"), &answer);

    assert_eq!(opened.err(), Some(Fault::ProxyUntrusted));
}

#[test]
fn a_request_is_no_answer_to_itself() {
    let heading = heading(Step::Apply);
    let payload = heading.seal(&proxy(SECRET), b"{}").unwrap();
    let request: Value = serde_json::from_slice(&payload).unwrap();
    let mut answer = json!({"v": 1, "outcome": "ok"});
    for field in ["nonce", "seq", "step", "ct", "sig"] {
        answer[field] = request[field].clone();
    }

    assert_eq!(result(&heading, &payload), untrusted());
    assert_eq!(result(&heading, answer.to_string().as_bytes()), untrusted());
}
