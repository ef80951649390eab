//! Opening a bundle.

use std::io::{Cursor, Read, Seek, SeekFrom};

use sha2::{Digest, Sha256};

use super::file_key::{FileKey, Shared};
use super::format::{CHUNK, HEADER, Header, MAC, MAGIC, PREFIX, SIGNATURE, Slot, VERSION};
use super::items::Items;
use super::keys::{BundleKey, RecipientKey, Signer};
use super::seal::signed;
use super::stream::ChunkReader;
use super::{About, BundledSecret, Refused};
use crate::crypto::{Cost, Passphrase};
use crate::model::{SecretKey, Time};

/// What opens a bundle.
#[derive(Debug)]
pub enum Unlock {
    /// The key that was drawn for it.
    Key(BundleKey),
    /// A passphrase. Deriving its key takes up to 256 MiB and seconds, as the bundle says.
    Passphrase(Passphrase),
    /// The private key of a pair for whose public key it was made.
    Private(RecipientKey),
}

/// How bundles are opened.
#[derive(Debug)]
pub struct Opener {
    /// With what.
    pub unlock: Unlock,
    /// Who must have signed. May be left out unless a private key unlocks: without it, a bundle is
    /// only known to be from somebody who knew the key or passphrase.
    pub signer: Option<Signer>,
    /// The least number that the bundle may have: that of the last one seen of its environment, so
    /// that nobody brings back an older one. 0 takes any.
    pub at_least: u64,
    /// The present moment, at which it must not have expired.
    pub now: Time,
}

/// A bundle that is proven to be whole and by its signer. Gives its secrets by key, as they are
/// read; after an error, none.
pub struct Opened<R> {
    about: About,
    signer: Signer,
    items: Items<R>,
    /// Where its chunks are in the source, and how many bytes they have.
    chunks: (u64, u64),
    last: Option<SecretKey>,
    is_over: bool,
}

/// What stands before the chunks.
struct Head {
    header: Header,
    /// All up to the mac.
    bytes: Vec<u8>,
    mac: [u8; MAC],
    signature: [u8; SIGNATURE],
}

impl Opener {
    /// Opens a bundle from where its source stands to the end. The source is read twice, the first
    /// time to check the signature: nothing is deciphered before. It must not be changed meanwhile.
    /// Memory is bounded: 64 KiB, and the largest secret twice.
    pub fn open<R: Read + Seek>(&self, mut source: R) -> Result<Opened<R>, Refused> {
        let head = Head::read(&mut source)?;
        let Header { about, salt, signer, .. } = &head.header;
        let file_key = self.file_key(&head.header).ok_or(Refused::NoRecipient)?;
        if !file_key.has_made(&head.mac, salt, &head.bytes) {
            return Err(Refused::Tampered);
        }
        let signer = Signer::new(*signer);
        self.trust(signer)?;
        let start = source.stream_position()?;
        let (hash, length) = hash(&mut source)?;
        if !signer.has_signed(&head.message(&hash), &head.signature) {
            return Err(Refused::Tampered);
        }
        if about.expires_at.is_some_and(|end| end <= self.now) {
            return Err(Refused::Expired);
        }
        if about.seq < self.at_least {
            return Err(Refused::Stale);
        }
        source.seek(SeekFrom::Start(start))?;
        let items = Items::new(ChunkReader::new(source, file_key.cipher(salt), length));
        let (about, chunks) = (head.header.about, (start, length));
        Ok(Opened { about, signer, items, chunks, last: None, is_over: false })
    }

    /// Opens a bundle in memory.
    pub fn open_bytes<'a>(&self, bundle: &'a [u8]) -> Result<Opened<Cursor<&'a [u8]>>, Refused> {
        self.open(Cursor::new(bundle))
    }

    /// Anybody can make a bundle for a public key, so somebody must be named where one is used.
    fn trust(&self, signer: Signer) -> Result<(), Refused> {
        let is_trusted = match (self.signer, &self.unlock) {
            (Some(named), _) => named == signer,
            (None, Unlock::Private(_)) => false,
            (None, Unlock::Key(_) | Unlock::Passphrase(_)) => true,
        };
        if is_trusted { Ok(()) } else { Err(Refused::Untrusted) }
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
    fn read(source: &mut impl Read) -> Result<Self, Refused> {
        let mut bytes = vec![0; PREFIX];
        source.read_exact(&mut bytes)?;
        if !bytes.starts_with(MAGIC) {
            return Err(Refused::Malformed("it does not begin like one"));
        }
        if bytes[MAGIC.len()] != VERSION {
            return Err(Refused::Unsupported("version"));
        }
        let length =
            bytes[MAGIC.len() + 1..].iter().fold(0, |sum, byte| (sum << 8) | usize::from(*byte));
        if length > HEADER {
            return Err(Refused::Malformed("its header is larger than 16 KiB"));
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

/// The hash of all that is left, and how much it was.
fn hash(source: &mut impl Read) -> Result<([u8; 32], u64), Refused> {
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
    /// What the bundle says of itself.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Who signed it. Proven, and whether it is somebody to trust is for whoever asks, unless the
    /// opener named one.
    #[must_use]
    pub fn signer(&self) -> Signer {
        self.signer
    }
}

impl<R: Read + Seek> Opened<R> {
    /// Goes back to the first secret: nothing need be kept of what is looked at twice.
    pub fn rewind(&mut self) -> Result<(), Refused> {
        let (start, length) = self.chunks;
        self.items.restart(start, length)?;
        (self.last, self.is_over) = (None, false);
        Ok(())
    }
}

impl<R: Read> Opened<R> {
    fn next_secret(&mut self) -> Result<Option<BundledSecret>, Refused> {
        let Some(item) = self.items.next()? else { return Ok(None) };
        // The error of the reader would quote what it read.
        let secret = serde_json::from_slice::<BundledSecret>(item);
        let secret =
            secret.map_err(|_| Refused::Malformed("a secret of it is not as it must be"))?;
        if self.last.as_ref().is_some_and(|last| *last >= secret.key) {
            return Err(Refused::Malformed("its secrets are not by key, or one is there twice"));
        }
        self.last = Some(secret.key.clone());
        Ok(Some(secret))
    }
}

impl<R: Read> Iterator for Opened<R> {
    type Item = Result<BundledSecret, Refused>;

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
        f.debug_struct("Opened").field("about", &self.about).finish_non_exhaustive()
    }
}
