//! Tests of the golden vectors of service tokens.

use secrets_core::crypto::{TokenMac, TokenText};
use serde::Deserialize;

use crate::{Bytes, section};

#[derive(Deserialize)]
struct Vector {
    name: String,
    valid: bool,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    entropy: Bytes,
    #[serde(default)]
    pepper: Bytes,
    token: String,
    #[serde(default)]
    mac: Bytes,
}

#[test]
fn a_token_is_made_of_its_entropy_and_known_by_its_mac() {
    for vector in section::<Vector>("token.json", "vectors", |vector| vector.valid) {
        let token = TokenText::from_entropy(vector.entropy.array());
        let TokenMac(mac) = TokenMac::keyed(vector.pepper.array(), &vector.token);

        assert_eq!(token.reveal(), vector.token, "{}", vector.name);
        assert_eq!(mac.as_slice(), vector.mac.0, "{}", vector.name);
        assert!(TokenText::is_plausible(&vector.token), "{}", vector.name);
    }
}

#[test]
fn a_text_that_is_no_token_is_refused_unless_only_its_length_is_wrong() {
    for vector in section::<Vector>("token.json", "vectors", |vector| !vector.valid) {
        let looked_up = vector.reason == "length";

        assert_eq!(TokenText::is_plausible(&vector.token), looked_up, "{}", vector.name);
    }
}
