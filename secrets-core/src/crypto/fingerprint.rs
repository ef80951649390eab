//! MACs that identify scan findings and e-mail addresses.
//!
//! A finding is often short or guessable, so a plain hash of it could be reversed by brute force.
//! The key is derived from a key of the instance, separately for each team and project. A copy of
//! the database alone therefore reveals nothing, and findings cannot be compared across teams.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::{Keyring, random};
use crate::model::{EmailAddress, ProjectId, TeamId};

/// MAC of a scan finding or an e-mail address (HMAC-SHA256).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

/// MAC key with which fingerprints are computed.
pub(crate) struct FingerprintKey(Zeroizing<[u8; 32]>);

impl FingerprintKey {
    /// Derives the MAC key for the scan findings of a team: one key for each project, and one for
    /// findings outside all projects.
    pub(crate) fn of(keyring: &Keyring, team: TeamId, project: Option<ProjectId>) -> Self {
        let (team, project) = (team.uuid(), project.map(ProjectId::uuid).unwrap_or_default());
        let parts: [&[u8]; 3] = [b"secrets-core/v1/finding", team.as_bytes(), project.as_bytes()];
        Self(Zeroizing::new(mac(keyring.pepper().as_bytes(), &parts)))
    }

    /// Derives the MAC key for the names of rate-limit counters. The nodes of an instance may share
    /// these counters through another server, to which the original names must not be sent.
    pub(crate) fn of_rate_limits(keyring: &Keyring) -> Self {
        let parts: [&[u8]; 1] = [b"secrets-core/v1/rate-limit"];
        Self(Zeroizing::new(mac(keyring.pepper().as_bytes(), &parts)))
    }

    /// Generates a random MAC key, for comparing the findings within a single scan.
    pub(crate) fn draw() -> Self {
        Self(Zeroizing::new(random()))
    }

    /// Computes the fingerprint of a list of parts. Each part is prefixed with its length, so that
    /// different lists never produce the same input.
    pub(crate) fn fingerprint(&self, parts: &[&[u8]]) -> Fingerprint {
        Fingerprint(mac(&self.0, parts))
    }
}

impl Fingerprint {
    /// Computes the MAC of an e-mail address, for rate-limit counters that must not contain the
    /// address itself.
    pub(crate) fn of_address(keyring: &Keyring, address: &EmailAddress) -> Self {
        let parts: [&[u8]; 2] = [b"secrets-core/v1/address", address.as_str().as_bytes()];
        Self(mac(keyring.pepper().as_bytes(), &parts))
    }
}

fn mac(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC accepts a 32-byte key");
    for part in parts {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        let key = FingerprintKey::draw();

        let [joined, apart, otherwise] =
            [[&b"ab"[..], b"c"], [b"a", b"bc"], [b"ab", b"c"]].map(|parts| key.fingerprint(&parts));

        assert_ne!(joined, apart);
        assert_eq!(joined, otherwise);
        assert_ne!(joined, FingerprintKey::draw().fingerprint(&[b"ab", b"c"]));
    }

    #[test]
    fn a_fingerprint_is_printed_in_hexadecimal() {
        let mut bytes = [0; 32];
        bytes[0] = 0x0f;
        bytes[31] = 0xa0;

        assert_eq!(Fingerprint(bytes).to_string(), format!("0f{}a0", "00".repeat(30)));
    }
}
