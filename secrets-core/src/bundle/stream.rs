//! Chunked encryption of the payload: 64 KiB per chunk, each bound to its position (the STREAM
//! construction, as in age).

use std::io::{self, Read, Seek, SeekFrom, Write};

use xaes_256_gcm::aead::AeadInOut;
use xaes_256_gcm::aes_gcm::{Aes256Gcm, Nonce, Tag};
use zeroize::Zeroizing;

use super::BundleError;
use super::format::{CHUNK, TAG};

/// Writer that splits its input into chunks and encrypts each of them.
pub(super) struct ChunkWriter<'a> {
    out: &'a mut Vec<u8>,
    cipher: Aes256Gcm,
    buffer: Zeroizing<Vec<u8>>,
    number: u64,
}

/// Reader that decrypts one chunk at a time.
pub(super) struct ChunkReader<R> {
    source: R,
    cipher: Aes256Gcm,
    buffer: Zeroizing<Vec<u8>>,
    /// Number of encrypted bytes that are still to be read from the source.
    left: u64,
    number: u64,
}

impl<'a> ChunkWriter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>, cipher: Aes256Gcm) -> Self {
        let buffer = Zeroizing::new(Vec::with_capacity(CHUNK));
        Self { out, cipher, buffer, number: 0 }
    }

    /// Encrypts the remaining bytes as a chunk that is marked as the last one.
    pub(super) fn finish(mut self) {
        self.seal(true);
    }

    fn seal(&mut self, is_last: bool) {
        #[expect(clippy::expect_used, reason = "64 KiB are within the limits of AES-GCM")]
        let tag = self
            .cipher
            .encrypt_inout_detached(
                &Nonce::from(nonce(self.number, is_last)),
                &[],
                self.buffer.as_mut_slice().into(),
            )
            .expect("AES-GCM can encrypt 64 KiB");
        self.out.extend_from_slice(&self.buffer);
        self.out.extend_from_slice(&tag);
        self.buffer.clear();
        self.number += 1;
    }
}

impl Write for ChunkWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A full buffer is kept until more data arrives: it may be the last chunk, which is marked.
        if self.buffer.len() == CHUNK && !bytes.is_empty() {
            self.seal(false);
        }
        let taken = bytes.len().min(CHUNK - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<R: Read> ChunkReader<R> {
    /// Creates a reader that decrypts the next `left` bytes of the source.
    pub(super) fn new(source: R, cipher: Aes256Gcm, left: u64) -> Self {
        Self { source, cipher, buffer: Zeroizing::new(Vec::new()), left, number: 0 }
    }

    /// Restarts decryption with the first chunk, at offset `start` of the source. The chunks are
    /// `left` bytes long in total.
    pub(super) fn restart(&mut self, start: u64, left: u64) -> Result<(), BundleError>
    where
        R: Seek,
    {
        self.source.seek(SeekFrom::Start(start))?;
        self.buffer.clear();
        (self.left, self.number) = (left, 0);
        Ok(())
    }

    /// Returns the plaintext of the current chunk.
    pub(super) fn plain(&self) -> &[u8] {
        &self.buffer
    }

    /// Decrypts the next chunk. Returns false after the last chunk.
    pub(super) fn advance(&mut self) -> Result<bool, BundleError> {
        if self.left == 0 {
            if self.number == 0 {
                return Err(BundleError::Tampered);
            }
            self.buffer.clear();
            return Ok(false);
        }
        let max_size = CHUNK + TAG;
        let size = usize::try_from(self.left).map_or(max_size, |left| left.min(max_size));
        self.buffer.resize(size, 0);
        self.source.read_exact(&mut self.buffer)?;
        self.left = self.left.saturating_sub(size as u64);
        // No chunk is empty, not even the last: a payload is at least `[]`.
        let plain =
            size.checked_sub(TAG).filter(|plain| *plain > 0).ok_or(BundleError::Tampered)?;
        let (ciphertext, tag) = self.buffer.split_at_mut(plain);
        let tag: [u8; TAG] = (&*tag).try_into().map_err(|_| BundleError::Tampered)?;
        let opened = self.cipher.decrypt_inout_detached(
            &Nonce::from(nonce(self.number, self.left == 0)),
            &[],
            ciphertext.into(),
            &Tag::from(tag),
        );
        opened.map_err(|_| BundleError::Tampered)?;
        self.buffer.truncate(plain);
        self.number += 1;
        Ok(true)
    }
}

fn nonce(number: u64, is_last: bool) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[3..11].copy_from_slice(&number.to_be_bytes());
    nonce[11] = u8::from(is_last);
    nonce
}
