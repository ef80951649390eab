//! Encryption of data that the service lets a client store and send back, such as the content of a
//! cookie.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use zeroize::Zeroizing;

use super::cipher::Cipher;
use super::{Keyring, Undecryptable, random};

/// Maximum length in bytes of a string with encrypted state. Longer strings are rejected without
/// decoding.
const MAX_LENGTH: usize = 8 * 1024;

/// Encryption of data that a client stores for the service, for one purpose. The client can neither
/// read nor change the data, and every node of the service can decrypt it.
pub(crate) struct ClientState {
    purpose: &'static str,
    cipher: Cipher,
}

impl ClientState {
    /// Derives the encryption key for one purpose from the keys of this instance of the service.
    pub(crate) fn of(keyring: &Keyring, purpose: &'static str) -> Self {
        let info = ["secrets-core/v1/client-state/", purpose].concat();
        let key =
            keyring.pepper().derive(Some(keyring.instance().uuid().as_bytes()), info.as_bytes());
        Self { purpose, cipher: Cipher::new(&key) }
    }

    /// Encrypts data for the client and encodes the result as a base64url string.
    pub(crate) fn seal(&self, state: &[u8]) -> String {
        let mut sealed = Vec::new();
        self.cipher.seal_into(&mut sealed, &random(), self.purpose.as_bytes(), state);
        URL_SAFE_NO_PAD.encode(sealed)
    }

    /// Decrypts a string that [`seal`](Self::seal) returned. Fails if the string was changed.
    pub(crate) fn open(&self, text: &str) -> Result<Zeroizing<Vec<u8>>, Undecryptable> {
        if text.len() > MAX_LENGTH {
            return Err(Undecryptable);
        }
        let sealed = URL_SAFE_NO_PAD.decode(text).map_err(|_| Undecryptable)?;
        self.cipher.open(&sealed, self.purpose.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_same_instance_and_purpose_opens_unchanged_state() {
        let (keyring, other) = (Keyring::generate().await, Keyring::generate().await);
        let state = ClientState::of(&keyring, "sign-in");
        let sealed = state.seal(b"state");

        assert_eq!(*ClientState::of(&keyring, "sign-in").open(&sealed).unwrap(), b"state");
        assert!(ClientState::of(&other, "sign-in").open(&sealed).is_err());
        assert!(ClientState::of(&keyring, "other").open(&sealed).is_err());
        for place in [0, 30, sealed.len() - 2] {
            let mut changed = sealed.clone().into_bytes();
            changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
            assert!(state.open(std::str::from_utf8(&changed).unwrap()).is_err(), "{place}");
        }
        assert!(state.open("").is_err());
    }

    #[tokio::test]
    async fn state_opens_up_to_the_maximum_length_of_its_text() {
        let state = ClientState::of(&Keyring::generate().await, "sign-in");
        // Nonce and tag take 40 bytes, and base64 encodes three bytes as four characters.
        let [longest, longer] = [6_104, 6_105].map(|bytes| state.seal(&vec![7; bytes]));

        assert_eq!(longest.len(), 8_192);
        assert!(state.open(&longest).is_ok());
        assert!(state.open(&longer).is_err());
    }
}
