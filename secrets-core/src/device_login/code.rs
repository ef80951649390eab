//! User codes: the codes that users type to approve a login.

use std::fmt;

use serde::Deserialize;

use crate::crypto::{Keyring, TokenMac, random};

/// Letters of user codes: consonants that are easy to distinguish and form no words (RFC 8628,
/// section 6.1).
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

/// Number of letters in a user code. There are 20⁸ possible codes, and only few of them are valid
/// at any time.
const LENGTH: usize = 8;

/// A user code as typed: in any case, with or without the hyphen.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UserCode(String);

impl UserCode {
    /// Creates a user code from the string that a user typed, without validation.
    pub fn new(typed: impl Into<String>) -> Self {
        Self(typed.into())
    }

    /// Generates a random user code.
    pub(super) fn draw() -> Self {
        let mut code = String::with_capacity(LENGTH + 1);
        while code.len() < LENGTH {
            let [byte] = random();
            // Bytes from 240 on would make the first letters more likely.
            if byte < 240 {
                code.push(char::from(LETTERS[usize::from(byte % 20)]));
            }
        }
        code.insert(LENGTH / 2, '-');
        Self(code)
    }

    /// Returns the user code as a string, with its hyphen.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Computes the MAC that is stored instead of the code; `None` if the code is not valid.
    pub(super) fn mac(&self, keyring: &Keyring) -> Option<TokenMac> {
        let plain: String = self
            .0
            .chars()
            .filter(|c| !matches!(c, '-' | ' '))
            .map(|c| c.to_ascii_uppercase())
            .collect();
        let is_code = plain.len() == LENGTH && plain.bytes().all(|byte| LETTERS.contains(&byte));
        is_code.then(|| TokenMac::of_code(keyring, &plain))
    }
}

crate::crypto::implement_revealed!(UserCode);

impl fmt::Debug for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserCode(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_two_groups_of_four_consonants() {
        for _ in 0..100 {
            let code = UserCode::draw();
            let (first, second) = code.reveal().split_once('-').unwrap();

            assert_eq!((first.len(), second.len()), (4, 4));
            assert!(code.reveal().bytes().all(|byte| byte == b'-' || LETTERS.contains(&byte)));
        }
    }
}
