//! Service tokens, credentials of sessions, and invitation tokens: the secret strings, and the MACs
//! that are stored instead of them.
//!
//! A service token is `env_` and 256 random bits in the format of [`checked`], so that most typos
//! are detected without a lookup.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::checked::{self, push_base62};
use super::{Keyring, random};
use crate::model::InvitationId;

/// Prefix of a service token.
const SERVICE_PREFIX: &str = "env_";
/// Prefix of the credential of a command-line session.
const CLI_PREFIX: &str = "cli_";
/// Prefix of a browser session's credential.
const BROWSER_PREFIX: &str = "web_";
const LENGTH: usize = 53;

/// A service token, or the credential of a session, as a string. Shown only once, when it is
/// created.
pub struct TokenText(Zeroizing<String>);

/// An invitation token as a string. Derived from the instance's token pepper (a MAC key), so that
/// the service can send the token again without storing it.
pub struct InvitationToken(Zeroizing<String>);

/// MAC of a token (HMAC-SHA256), stored and used for lookup instead of the token.
#[derive(Debug, Clone, Copy, Eq)]
pub struct TokenMac(pub [u8; 32]);

impl TokenText {
    /// Generates a random service token.
    #[must_use]
    pub fn draw() -> Self {
        Self::from_entropy(&Zeroizing::new(random()))
    }

    /// Generates a random credential of a command-line session. It has the same format as a service
    /// token, with another prefix.
    #[must_use]
    pub fn draw_cli() -> Self {
        Self::prefixed(CLI_PREFIX, &Zeroizing::new(random()))
    }

    /// Generates a random credential of a browser session. It has the same format as a service
    /// token, with another prefix.
    #[must_use]
    pub fn draw_browser() -> Self {
        Self::prefixed(BROWSER_PREFIX, &Zeroizing::new(random()))
    }

    /// Creates a service token from given random bits.
    #[must_use]
    pub fn from_entropy(entropy: &[u8; 32]) -> Self {
        Self::prefixed(SERVICE_PREFIX, entropy)
    }

    fn prefixed(prefix: &str, entropy: &[u8; 32]) -> Self {
        Self(checked::write(prefix, entropy))
    }

    /// True if `text` may be a service token or the credential of a session. The prefix must be
    /// right; if `text` has the length of a token, its digits and checksum must be right too. A
    /// string of another length is not checked further.
    #[must_use]
    pub fn is_plausible(text: &str) -> bool {
        let prefixes = [SERVICE_PREFIX, CLI_PREFIX, BROWSER_PREFIX];
        let Some(prefix) = prefixes.into_iter().find(|prefix| text.starts_with(prefix)) else {
            return false;
        };
        text.len() != LENGTH || checked::is_whole(prefix, text)
    }

    /// Returns the first 12 characters, which help users recognize a token.
    #[must_use]
    pub fn prefix(&self) -> String {
        self.0.chars().take(12).collect()
    }

    /// Returns the token as a string.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// A random code of 256 bits, which a client keeps and presents later, such as a device code.
pub struct CodeText(Zeroizing<String>);

impl CodeText {
    /// Generates a random code of 256 bits.
    #[must_use]
    pub(crate) fn draw() -> Self {
        let entropy = Zeroizing::new(random::<32>());
        let mut text = Zeroizing::new(String::with_capacity(43));
        push_base62(&mut text, entropy.as_slice(), 43);
        Self(text)
    }

    /// Returns the code as a string.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl InvitationToken {
    /// Derives the token of an invitation from the invitation ID and the number of times the
    /// invitation was sent: base64url of HMAC-SHA256. Each time the invitation is sent, it gets a
    /// new token.
    #[must_use]
    pub fn derive(keyring: &Keyring, invitation: InvitationId, sending: u32) -> Self {
        let (id, number) = (invitation.uuid(), sending.to_be_bytes());
        let message = [b"invitation".as_slice(), id.as_bytes(), &number];
        let mac = Zeroizing::new(hmac(keyring.pepper().as_bytes(), &message));
        Self(Zeroizing::new(URL_SAFE_NO_PAD.encode(mac.as_slice())))
    }

    /// Returns the invitation token as a string.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<&str> for InvitationToken {
    fn from(given: &str) -> Self {
        Self(Zeroizing::new(given.to_owned()))
    }
}

impl TokenMac {
    /// Computes the MAC of a token with the instance's token pepper (a MAC key).
    #[must_use]
    pub fn of(keyring: &Keyring, text: &str) -> Self {
        Self::keyed(keyring.pepper().as_bytes(), text)
    }

    /// Computes the MAC of a token with a given pepper (MAC key).
    #[must_use]
    pub fn keyed(pepper: &[u8; 32], text: &str) -> Self {
        Self(hmac(pepper, &[b"secrets-core/v1/token\0", text.as_bytes()]))
    }

    /// Computes the MAC of a code that a client exchanges for a token.
    #[must_use]
    pub(crate) fn of_code(keyring: &Keyring, code: &str) -> Self {
        let message = [b"secrets-core/v1/code\0".as_slice(), code.as_bytes()];
        Self(hmac(keyring.pepper().as_bytes(), &message))
    }
}

fn hmac(key: &[u8; 32], message: &[&[u8]]) -> [u8; 32] {
    #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC accepts a 32-byte key");
    for part in message {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

impl PartialEq for TokenMac {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for InvitationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InvitationToken(…)")
    }
}

impl fmt::Debug for TokenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenText(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_and_hashed_as_published() {
        let mut entropy = [0; 32];
        entropy.iter_mut().zip(1..).for_each(|(byte, number)| *byte = number);
        let token = TokenText::from_entropy(&entropy);

        assert_eq!(token.reveal(), "env_0Eoh211G4c8wtVWM00my5rsNSFlKgaWqQ4mb8gdEqno2VMQpv");
        assert!(TokenText::is_plausible(token.reveal()));
        let TokenMac(mac) = TokenMac::keyed(&[0x11; 32], token.reveal());
        let expected = 0x69bc_ad73_1926_af26_6f9b_79ed_8cbb_a3e0_u128;
        assert_eq!(mac[..16], expected.to_be_bytes());
    }

    #[test]
    fn a_mistyped_token_is_recognised() {
        let token = TokenText::draw().reveal().to_owned();
        let typo = format!("{}{}", &token[..52], if token.ends_with('x') { 'y' } else { 'x' });

        assert!(!TokenText::is_plausible(&typo));
        assert!(TokenText::is_plausible("env_short"));
        assert!(!TokenText::is_plausible("eyJhbGciOi"));
    }
}
