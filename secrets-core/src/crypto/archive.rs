//! Archive: a file encrypted with a passphrase.
//!
//! ```text
//!  0   8  "SCEXPORT"
//!  8   1  version: 1
//!  9   4  Argon2id memory in KiB, big-endian
//! 13   4  Argon2id passes, big-endian
//! 17   1  Argon2id lanes
//! 18  16  salt
//! 34  24  nonce
//! 58      ciphertext, then a tag of 16 bytes
//! ```
//!
//! The key is 32 bytes of Argon2id (RFC 9106, version 0x13) over the passphrase's UTF-8 bytes and
//! the salt. The contents are encrypted with XAES-256-GCM; the first 34 bytes are the associated
//! data.

use std::fmt;

use zeroize::Zeroizing;

use super::cipher::Cipher;
use super::passphrase::{Cost, Passphrase};
use super::{Undecryptable, random};

/// Encryption key of an archive, derived from a passphrase, with the file header needed to derive
/// it again.
pub struct ArchiveKey {
    header: [u8; HEADER],
    cipher: Cipher,
}

/// Encryption and decryption of archive files.
#[derive(Debug, Clone, Copy)]
pub struct Archive;

const MAGIC: &[u8; 8] = b"SCEXPORT";
const VERSION: u8 = 1;
const HEADER: usize = 34;

impl ArchiveKey {
    /// Derives an encryption key for a new file. Takes 64 MiB of memory and up to about a second;
    /// call this function on a thread that may block.
    #[must_use]
    pub fn derive(passphrase: &Passphrase) -> Self {
        #[expect(
            clippy::expect_used,
            reason = "the parameters are a constant within Argon2's bounds"
        )]
        Self::of(passphrase, Cost::NEW, random()).expect("Argon2 accepts these parameters")
    }

    fn of(passphrase: &Passphrase, cost: Cost, salt: [u8; 16]) -> Option<Self> {
        let key = passphrase.derive(cost, &salt)?;
        let Cost { memory, passes, lanes } = cost;
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(MAGIC);
        header[8] = VERSION;
        header[9..13].copy_from_slice(&memory.to_be_bytes());
        header[13..17].copy_from_slice(&passes.to_be_bytes());
        header[17] = lanes;
        header[18..].copy_from_slice(&salt);
        Some(Self { header, cipher: Cipher::new(&key) })
    }
}

impl Archive {
    /// Encrypts `contents` and returns the bytes of an archive file.
    #[must_use]
    pub fn seal(key: &ArchiveKey, contents: &[u8]) -> Vec<u8> {
        let mut file = key.header.to_vec();
        key.cipher.seal_into(&mut file, &random(), &key.header, contents);
        file
    }

    /// Decrypts an archive file. A header with Argon2id parameters above 256 MiB of memory or below
    /// the safe minimum is rejected before any key derivation.
    pub fn open(file: &[u8], passphrase: &Passphrase) -> Result<Zeroizing<Vec<u8>>, Undecryptable> {
        let (header, sealed) = file.split_first_chunk::<HEADER>().ok_or(Undecryptable)?;
        let (cost, salt) = parse_header(header).ok_or(Undecryptable)?;
        let key = ArchiveKey::of(passphrase, cost, salt).ok_or(Undecryptable)?;
        key.cipher.open(sealed, header)
    }
}

fn parse_header(header: &[u8; HEADER]) -> Option<(Cost, [u8; 16])> {
    let number = |at: usize| header.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let cost = Cost { memory: number(9)?, passes: number(13)?, lanes: header[17] };
    let is_ours = header.starts_with(MAGIC) && header[8] == VERSION;
    (is_ours && cost.is_bounded()).then_some((cost, header[18..].try_into().ok()?))
}

impl fmt::Debug for ArchiveKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ArchiveKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use argon2::{Algorithm, Argon2, Params, Version};

    use super::super::Key;
    use super::*;

    /// Weakest Argon2id parameters that the format accepts, to keep the tests fast.
    const MIN_COST: Cost = Cost { memory: 19_456, passes: 2, lanes: 1 };

    fn passphrase(text: &str) -> Passphrase {
        Passphrase::new(text.to_owned()).unwrap()
    }

    fn sealed(contents: &[u8]) -> Vec<u8> {
        let key = ArchiveKey::of(&passphrase("correct horse"), MIN_COST, random()).unwrap();
        Archive::seal(&key, contents)
    }

    #[test]
    fn a_file_opens_only_with_its_passphrase() {
        let file = sealed(b"kvc_value");

        let opened = Archive::open(&file, &passphrase("correct horse")).unwrap();

        assert_eq!(opened.as_slice(), b"kvc_value");
        assert!(Archive::open(&file, &passphrase("Correct horse")).is_err());
        assert!(!file.windows(4).any(|bytes| bytes == b"kvc_"));
    }

    #[test]
    fn a_file_that_was_changed_anywhere_does_not_open() {
        let file = sealed(b"kvc");

        for place in 0..file.len() {
            // Changed Argon2id parameters could make the test slow.
            if (9..18).contains(&place) {
                continue;
            }
            let mut changed = file.clone();
            changed[place] ^= 1;
            let opened = Archive::open(&changed, &passphrase("correct horse"));
            assert!(opened.is_err(), "byte {place}");
        }
        for length in [0, 8, 33, 34, 58, 73, file.len() - 1] {
            assert!(Archive::open(&file[..length], &passphrase("correct horse")).is_err());
        }
    }

    #[test]
    fn costs_that_are_out_of_bounds_are_refused_before_they_are_paid() {
        let file = sealed(b"kvc");
        let with = |at: usize, number: u32| {
            let mut file = file.clone();
            file[at..at + 4].copy_from_slice(&number.to_be_bytes());
            file
        };

        for changed in [with(9, u32::MAX), with(9, 1_024), with(13, 1), with(13, u32::MAX)] {
            assert!(Archive::open(&changed, &passphrase("correct horse")).is_err());
        }
        for lanes in [0, 9, 255] {
            let mut changed = file.clone();
            changed[17] = lanes;
            assert!(Archive::open(&changed, &passphrase("correct horse")).is_err());
        }
    }

    #[test]
    fn only_a_header_of_this_version_with_bounded_costs_is_parsed() {
        let file = sealed(b"kvc");
        let header: [u8; HEADER] = *file.first_chunk().unwrap();
        let with = |at: usize, byte: u8| {
            let mut changed = header;
            changed[at] = byte;
            changed
        };

        assert_eq!(parse_header(&header).map(|(cost, _)| cost), Some(MIN_COST));
        for (field, changed) in
            [("magic", with(0, b's')), ("version", with(8, 2)), ("lanes", with(17, 0))]
        {
            assert!(parse_header(&changed).is_none(), "{field}");
        }
    }

    #[test]
    fn the_published_costs_are_written_into_a_new_file() {
        let file = Archive::seal(&ArchiveKey::derive(&passphrase("correct horse")), b"kvc");

        assert_eq!(&file[..9], b"SCEXPORT\x01");
        assert_eq!(file[9..18], [0, 1, 0, 0, 0, 0, 0, 3, 4]);
        assert_eq!(file.len(), 34 + 24 + 3 + 16);
        let opened = Archive::open(&file, &passphrase("correct horse")).unwrap();
        assert_eq!(opened.as_slice(), b"kvc");
    }

    #[test]
    fn an_archive_uses_argon2id_and_xaes_256_gcm() {
        let file = sealed(b"kvc");
        let mut key = Zeroizing::new([0; 32]);
        Argon2::new(
            Algorithm::Argon2id,
            Version::V0x13,
            Params::new(19_456, 2, 1, Some(32)).unwrap(),
        )
        .hash_password_into(b"correct horse", &file[18..34], key.as_mut_slice())
        .unwrap();

        let opened = Cipher::new(&Key::from_bytes(key)).open(&file[34..], &file[..34]).unwrap();

        assert_eq!(opened.as_slice(), b"kvc");
    }
}
