//! Fuzz target of the responses of proxy functions.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use chrono::DateTime;
use serde_json::{Value, json};
use uuid::Uuid;

use super::response::response;
use super::{Fault, Heading, IV, LIMIT, OpenedAnswer, Proxy, Step, Zeroizing};
use crate::crypto::Plaintext;
use crate::ports::rotator::ServerCode;

/// Shared secret of the published test vector.
const SECRET: &str = "kvc_shared_0123456789abcdefghijklmnop";
/// Nonce of the request in the published test vector.
const NONCE: u128 = 0x76a7_8c49_c01d_945c_9504_0e7c_f294_7b29;

/// Fuzz target: decrypts the input as a response of the proxy function. Then checks a response
/// whose outcome is the first line of the input and whose payload is the rest of the input.
pub fn proxy_response(bytes: &[u8]) {
    opened(bytes);
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or_default();
    let (outcome, payload) = bytes.split_at(end);
    let Ok(outcome) = std::str::from_utf8(outcome) else { return };
    let payload = payload.strip_prefix(b"\n").unwrap_or(payload);
    result(outcome, payload);
    sealed(outcome, payload);
}

/// Checks that an input that is a valid response to one request is rejected as a response to
/// another request, with another shared secret, and with another outcome.
fn opened(bytes: &[u8]) {
    let heading = heading();
    let Ok(_) = heading.open(&proxy(SECRET), bytes) else { return };
    let other = Heading { sequence: heading.sequence + 1, ..heading };
    assert!(other.open(&proxy(SECRET), bytes).is_err());
    assert!(heading.open(&proxy("kvc_other"), bytes).is_err());
    let mut changed: Value = serde_json::from_slice(bytes).unwrap();
    changed["outcome"] = json!(format!("{}x", changed["outcome"]));
    assert!(heading.open(&proxy(SECRET), changed.to_string().as_bytes()).is_err());
}

/// Converts a response to a result. Checks that the result contains no text of the proxy function,
/// except a server identity and a server's error code, each in its format.
fn result(outcome: &str, payload: &[u8]) {
    let opened =
        OpenedAnswer { outcome: outcome.to_owned(), payload: Zeroizing::new(payload.to_vec()) };
    let error = match opened.result() {
        Ok(applied) => {
            let identity = applied.identity.unwrap_or_default();
            assert!(identity.len() <= 64 && outcome == "ok");
            return assert!(identity.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'));
        }
        Err(error) => error,
    };
    let is_own = [Fault::ProxyRefused, Fault::ProxyUnavailable, Fault::ProxyUntrusted];
    assert!(!is_own.contains(&error.fault), "a function cannot report this fault");
    let code = error.code.as_ref().map(ServerCode::as_str).unwrap_or_default();
    let is_code = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    assert!(code.len() <= 16 && code.bytes().all(is_code), "a server code is not any text");
}

/// Signs and encrypts a response. Checks that decrypting it returns its content, and that
/// decrypting a changed response fails or returns the same content.
fn sealed(outcome: &str, payload: &[u8]) {
    let (heading, shared) = (heading(), proxy(SECRET));
    let answer = response(&shared, &heading, outcome, ([5; IV], payload));
    let opened = heading.open(&shared, &answer);
    if answer.len() > LIMIT {
        return assert!(opened.is_err());
    }
    assert!(opened.is_ok_and(|opened| is_same(&opened, outcome, payload)));

    let mut changed = answer;
    for place in (0..changed.len()).step_by(changed.len() / 16 + 1) {
        changed[place] ^= 0x20;
        if let Ok(opened) = heading.open(&shared, &changed) {
            // Possible only if the change affects the case of a hex digit in a JSON escape
            // sequence.
            assert!(is_same(&opened, outcome, payload), "a changed response opens");
        }
        changed[place] ^= 0x20;
    }
}

fn is_same(opened: &OpenedAnswer, outcome: &str, payload: &[u8]) -> bool {
    opened.outcome == outcome && *opened.payload == payload
}

/// Returns the unencrypted fields of the request in the published test vector.
fn heading() -> Heading {
    Heading {
        at: DateTime::from_timestamp(1_795_219_200, 0).unwrap(),
        nonce: NONCE.to_be_bytes(),
        rotation: Uuid::from_u128(0xdd).into(),
        sequence: 3,
        step: Step::Apply,
    }
}

fn proxy(secret: &str) -> Proxy {
    Proxy {
        lambda_arn: String::new(),
        region: String::new(),
        shared_secret: Plaintext::new(secret.to_owned()).unwrap(),
    }
}
