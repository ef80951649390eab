//! Responses as the proxy function sends them, for tests.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use super::*;

/// Builds a signed and encrypted response to a request, with this initialization vector.
pub(super) fn response(
    proxy: &Proxy,
    heading: &Heading,
    outcome: &str,
    (iv, payload): ([u8; IV], &[u8]),
) -> Vec<u8> {
    let secret = Shared(&proxy.shared_secret);
    let mut answer = Answer {
        v: 1,
        nonce: heading.nonce(),
        seq: heading.sequence,
        step: heading.step.as_str().to_owned(),
        outcome: outcome.to_owned(),
        ct: String::new(),
        sig: String::new(),
    };
    let aad = answer.associated_data();
    let sealing = Sealing { iv, aad: aad.as_bytes(), plaintext: payload };
    answer.ct = URL_SAFE_NO_PAD.encode(secret.seal(&heading.nonce, ANSWER_CIPHER, &sealing));
    answer.sig = hex::encode(secret.sign(MAC, answer.signed_message().as_bytes()));
    serde_json::to_vec(&answer).unwrap()
}
