//! Keyed hashes by which findings of scans are known again.
//!
//! What a scan finds is often short or guessable: a plain hash of it could be searched. Under a key
//! of the installation, and another for each team and project, it says nothing to whoever holds
//! the database alone, and nothing of one team's finding to another.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::{Keyring, random};
use crate::model::{ProjectId, TeamId};

/// The keyed hash of something that was found (HMAC-SHA256).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

/// Makes fingerprints.
pub(crate) struct FingerprintKey(Zeroizing<[u8; 32]>);

impl FingerprintKey {
    /// The key of a team's findings in a project, or in none.
    pub(crate) fn of(keyring: &Keyring, team: TeamId, project: Option<ProjectId>) -> Self {
        let (team, project) = (team.uuid(), project.map(ProjectId::uuid).unwrap_or_default());
        let parts: [&[u8]; 3] = [b"secrets-core/v1/finding", team.as_bytes(), project.as_bytes()];
        Self(Zeroizing::new(mac(keyring.pepper().as_bytes(), &parts)))
    }

    /// A key that nobody keeps, for comparing within one scan.
    pub(crate) fn draw() -> Self {
        Self(Zeroizing::new(random()))
    }

    /// The fingerprint of these parts: each counts with its length, so that none runs into the next.
    pub(crate) fn fingerprint(&self, parts: &[&[u8]]) -> Fingerprint {
        Fingerprint(mac(&self.0, parts))
    }
}

fn mac(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of 32 bytes");
    for part in parts {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
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
}
