//! Verifying and decrypting bundles.

use std::io::{Cursor, Read, Seek, SeekFrom};

use sha2::{Digest, Sha256};

use super::file_key::{FileKey, Shared};
use super::format::{CHUNK, HEADER, Header, MAC, MAGIC, PREFIX, SIGNATURE, Slot, VERSION};
use super::items::Items;
use super::keys::{BundleKey, RecipientKey, Signer};
use super::seal::signed;
use super::stream::ChunkReader;
use super::{BundleError, BundleMetadata, BundledSecret};
use crate::crypto::{Cost, Passphrase};
use crate::model::{SecretKey, Time};

/// Key, passphrase or private key that opens a bundle.
#[derive(Debug)]
pub enum Unlock {
    /// The bundle key that was generated for the bundle.
    Key(BundleKey),
    /// A passphrase. Key derivation takes up to 256 MiB of memory and several seconds, depending on
    /// the parameters in the bundle.
    Passphrase(Passphrase),
    /// The private key for one of the bundle's public-key recipients.
    Private(RecipientKey),
}

/// Options for opening bundles.
#[derive(Debug)]
pub struct Opener {
    /// Key, passphrase or private key.
    pub unlock: Unlock,
    /// Expected signer. Required if `unlock` is a private key, otherwise optional. Without an
    /// expected signer, a bundle is only known to come from someone who knew the key or passphrase.
    pub signer: Option<Signer>,
    /// Minimum sequence number. Pass the number of the last bundle seen for the environment to
    /// protect against rollback to an older bundle. 0 accepts every bundle.
    pub at_least: u64,
    /// Current time, compared with the bundle's expiry time.
    pub now: Time,
}

/// A bundle with a verified signature. Iterating decrypts and returns the secrets, ordered by
/// secret key, and ends after the first error.
pub struct Opened<R> {
    metadata: BundleMetadata,
    signer: Signer,
    items: Items<R>,
    /// Offset of the first chunk in the source, and the total length of all chunks, in bytes.
    chunks: (u64, u64),
    last: Option<SecretKey>,
    is_over: bool,
}

/// Bundle bytes before the chunks, parsed: the header, the MAC and the signature.
struct Head {
    header: Header,
    /// All bundle bytes before the MAC.
    bytes: Vec<u8>,
    mac: [u8; MAC],
    signature: [u8; SIGNATURE],
}

impl Opener {
    /// Opens the bundle that extends from the source's current position to its end.
    ///
    /// The source is read twice: the first pass verifies the signature, and no secret is decrypted
    /// before that. The source must not change in between. Memory use is bounded by 64 KiB plus
    /// twice the size of the largest secret.
    pub fn open<R: Read + Seek>(&self, mut source: R) -> Result<Opened<R>, BundleError> {
        let head = Head::read(&mut source)?;
        let Header { metadata, salt, signer, .. } = &head.header;
        let file_key = self.file_key(&head.header).ok_or(BundleError::NoRecipient)?;
        if !file_key.has_made(&head.mac, salt, &head.bytes) {
            return Err(BundleError::Tampered);
        }
        let signer = Signer::new(*signer);
        self.trust(signer)?;
        let start = source.stream_position()?;
        let (hash, length) = hash(&mut source)?;
        if !signer.has_signed(&head.message(&hash), &head.signature) {
            return Err(BundleError::Tampered);
        }
        if metadata.expires_at.is_some_and(|end| end <= self.now) {
            return Err(BundleError::Expired);
        }
        if metadata.seq < self.at_least {
            return Err(BundleError::Stale);
        }
        source.seek(SeekFrom::Start(start))?;
        let items = Items::new(ChunkReader::new(source, file_key.cipher(salt), length));
        let (metadata, chunks) = (head.header.metadata, (start, length));
        Ok(Opened { metadata, signer, items, chunks, last: None, is_over: false })
    }

    /// Opens a bundle whose bytes are in memory.
    pub fn open_bytes<'a>(
        &self,
        bundle: &'a [u8],
    ) -> Result<Opened<Cursor<&'a [u8]>>, BundleError> {
        self.open(Cursor::new(bundle))
    }

    /// Fails if `signer` is not the expected signer. Anyone can create a bundle for a public key,
    /// so this also fails for a private key without an expected signer.
    fn trust(&self, signer: Signer) -> Result<(), BundleError> {
        let is_trusted = match (self.signer, &self.unlock) {
            (Some(named), _) => named == signer,
            (None, Unlock::Private(_)) => false,
            (None, Unlock::Key(_) | Unlock::Passphrase(_)) => true,
        };
        if is_trusted { Ok(()) } else { Err(BundleError::Untrusted) }
    }

    fn file_key(&self, header: &Header) -> Option<FileKey> {
        header.recipients.iter().find_map(|slot| {
            let (wrapped, salt) = (slot.wrapped(), &header.salt);
            match (&self.unlock, slot) {
                (Unlock::Key(key), Slot::Raw { .. }) => {
                    FileKey::unwrap(wrapped, &key.0, Shared::Raw, salt)
                }
                (Unlock::Passphrase(passphrase), Slot::Argon2id { s, m, it, p, .. }) => {
                    let cost = Cost { memory: *m, passes: *it, lanes: *p };
                    let key = passphrase.derive(cost, &s.0)?;
                    FileKey::unwrap(wrapped, &key, Shared::Argon2id, salt)
                }
                (Unlock::Private(private), Slot::X25519 { enc, .. }) => {
                    FileKey::unwrap_for(&enc.0, wrapped, private, salt)
                }
                _ => None,
            }
        })
    }
}

impl Head {
    fn read(source: &mut impl Read) -> Result<Self, BundleError> {
        let mut bytes = vec![0; PREFIX];
        source.read_exact(&mut bytes)?;
        if !bytes.starts_with(MAGIC) {
            return Err(BundleError::Malformed("it does not start with the bundle magic bytes"));
        }
        if bytes[MAGIC.len()] != VERSION {
            return Err(BundleError::Unsupported("version"));
        }
        let length =
            bytes[MAGIC.len() + 1..].iter().fold(0, |sum, byte| (sum << 8) | usize::from(*byte));
        if length > HEADER {
            return Err(BundleError::Malformed("the header is larger than 16 KiB"));
        }
        bytes.resize(PREFIX + length, 0);
        source.read_exact(&mut bytes[PREFIX..])?;
        let header = Header::read(&bytes[PREFIX..])?;
        let (mut mac, mut signature) = ([0; MAC], [0; SIGNATURE]);
        source.read_exact(&mut mac)?;
        source.read_exact(&mut signature)?;
        Ok(Self { header, bytes, mac, signature })
    }

    fn message(&self, chunks: &[u8; 32]) -> Vec<u8> {
        let head = Sha256::new().chain_update(&self.bytes).chain_update(self.mac).finalize();
        signed(&head.into(), chunks)
    }
}

/// Reads the source to its end and hashes the bytes. Returns the hash and the number of bytes.
fn hash(source: &mut impl Read) -> Result<([u8; 32], u64), BundleError> {
    let (mut hash, mut length) = (Sha256::new(), 0);
    let mut buffer = vec![0; CHUNK];
    loop {
        let read = match source.read(&mut buffer) {
            Ok(0) => return Ok((hash.finalize().into(), length)),
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        hash.update(&buffer[..read]);
        length += read as u64;
    }
}

impl<R> Opened<R> {
    /// Returns the metadata from the header.
    #[must_use]
    pub fn metadata(&self) -> &BundleMetadata {
        &self.metadata
    }

    /// Returns the signer. The signature is verified; unless [`Opener::signer`] was set, the caller
    /// must decide if this signer is trusted.
    #[must_use]
    pub fn signer(&self) -> Signer {
        self.signer
    }
}

impl<R: Read + Seek> Opened<R> {
    /// Restarts at the first secret, so that the secrets can be read a second time without keeping
    /// them in memory.
    pub fn rewind(&mut self) -> Result<(), BundleError> {
        let (start, length) = self.chunks;
        self.items.restart(start, length)?;
        (self.last, self.is_over) = (None, false);
        Ok(())
    }
}

impl<R: Read> Opened<R> {
    fn next_secret(&mut self) -> Result<Option<BundledSecret>, BundleError> {
        let Some(item) = self.items.next()? else { return Ok(None) };
        // The serde error is dropped because it can quote the secret.
        let secret = serde_json::from_slice::<BundledSecret>(item);
        let secret = secret
            .map_err(|_| BundleError::Malformed("a secret has a missing or invalid field"))?;
        if self.last.as_ref().is_some_and(|last| *last >= secret.key) {
            return Err(BundleError::Malformed(
                "the secrets are not sorted by key or contain a duplicate",
            ));
        }
        self.last = Some(secret.key.clone());
        Ok(Some(secret))
    }
}

impl<R: Read> Iterator for Opened<R> {
    type Item = Result<BundledSecret, BundleError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = self.next_secret().transpose();
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}

impl<R> std::fmt::Debug for Opened<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}
