//! Fuzz target of tokens and keys in text form.

use super::assert_no_echo;
use crate::bundle::{BundleKey, PublicKey, RecipientKey, Signer};
use crate::crypto::{TokenText, checked};

/// Prefixes of all tokens and keys.
const PREFIXES: [&str; 7] = ["env_", "cli_", "web_", "scbk_", "scbx_", "scbp_", "scbs_"];

/// Checks that each token and key is accepted in one text form only, that decoding reverses
/// encoding, and that a text with a changed byte is rejected.
pub fn token(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        parse(text);
    }
    if let Some(bits) = bytes.first_chunk::<32>() {
        encode(bits, bytes);
    }
}

/// Checks that no two different texts are accepted for the same token or key.
fn parse(text: &str) {
    for prefix in PREFIXES {
        if let Some(bits) = checked::read(prefix, text) {
            assert_eq!(*checked::write(prefix, &bits), text, "a token has one text");
        }
    }
    let tokens = &PREFIXES[..3];
    let is_token = tokens.iter().any(|prefix| checked::read(prefix, text).is_some());
    let has_prefix = tokens.iter().any(|prefix| text.starts_with(prefix));
    assert!(!is_token || TokenText::is_plausible(text), "a valid token is plausible");
    assert!(has_prefix || !TokenText::is_plausible(text), "a token has a prefix");

    if let Ok(key) = text.parse::<BundleKey>() {
        assert_eq!(*key.reveal(), text);
    }
    if let Ok(key) = text.parse::<RecipientKey>() {
        assert_eq!(*key.reveal(), text);
    }
    match text.parse::<PublicKey>() {
        Ok(key) => assert_eq!(key.to_string(), text),
        Err(error) => assert_no_echo(text.as_bytes(), &error.to_string(), ""),
    }
    if let Ok(signer) = text.parse::<Signer>() {
        assert_eq!(signer.to_string(), text);
    }
}

/// Checks that the text of a token contains the 256 bits from which it was made, and that a text
/// with one changed byte is rejected. The position and the new value of this byte are taken from
/// the input.
fn encode(bits: &[u8; 32], bytes: &[u8]) {
    let [place, byte] = [bytes[31], bytes[30] & 0x7f];
    for prefix in PREFIXES {
        let text = checked::write(prefix, bits);
        assert!(checked::read(prefix, &text).is_some_and(|read| *read == *bits));

        let mut changed = text.as_bytes().to_vec();
        let place = usize::from(place) % changed.len();
        if changed[place] != byte {
            changed[place] = byte;
            let changed = String::from_utf8_lossy(&changed);
            assert!(checked::read(prefix, &changed).is_none(), "a changed token is refused");
        }
    }
    let token = TokenText::from_entropy(bits);
    assert!(TokenText::is_plausible(token.reveal()));
}
