//! Creating bundles.

use sha2::{Digest, Sha256};

use super::BundleMetadata;
use super::file_key::FileKey;
use super::format::{Header, MAC, MAGIC, SIGNATURE, VERSION};
use super::keys::SigningKey;
use super::recipients::Recipients;
use super::secret::BundledSecret;
use super::stream::ChunkWriter;
use crate::crypto::random;
use crate::model::{Error, Result};

/// Creates a bundle with these secrets, which must be sorted by secret key without duplicates.
///
/// # Errors
///
/// Fails if a reader would reject the bundle: secret keys out of order or duplicate, or a sequence
/// number above 2^53 - 1.
pub fn seal(
    metadata: &BundleMetadata,
    secrets: &[BundledSecret],
    recipients: &Recipients,
    signing: &SigningKey,
) -> Result<Vec<u8>> {
    if !secrets.is_sorted_by(|one, next| one.key < next.key) {
        return Err(Error::internal("the secrets of a bundle are not sorted by key"));
    }
    seal_payload(metadata, recipients, signing, |chunks| {
        serde_json::to_writer(chunks, secrets).map_err(Error::internal)
    })
}

/// Creates a bundle whose payload is written by `write`.
pub(super) fn seal_payload(
    metadata: &BundleMetadata,
    recipients: &Recipients,
    signing: &SigningKey,
    write: impl FnOnce(&mut ChunkWriter<'_>) -> Result<()>,
) -> Result<Vec<u8>> {
    let (file_key, salt) = (FileKey::generate(), random());
    let slots = recipients.slots(&file_key, &salt);
    let header = slots.and_then(|recipients| {
        let signer = signing.signer().bytes();
        Header { metadata: metadata.clone(), salt, signer, recipients }.write()
    });
    let header = header.ok_or_else(|| Error::internal("the bundle header is invalid"))?;

    let mut file = MAGIC.to_vec();
    file.push(VERSION);
    file.extend_from_slice(&u32::try_from(header.len()).map_err(Error::internal)?.to_be_bytes());
    file.extend_from_slice(&header);
    let mac = file_key.mac(&salt, &file);
    file.extend_from_slice(&mac);
    let head = file.len();
    file.extend_from_slice(&[0; SIGNATURE]);

    let mut chunks = ChunkWriter::new(&mut file, file_key.cipher(&salt));
    write(&mut chunks)?;
    chunks.finish();

    let (head, rest) = file.split_at_mut(head);
    let (signature, chunks) = rest.split_at_mut(SIGNATURE);
    let message = signed(&Sha256::digest(&*head).into(), &Sha256::digest(&*chunks).into());
    signature.copy_from_slice(&signing.sign(&message));
    Ok(file)
}

/// Builds the message that the signer of a bundle signs: the hash of all bytes up to the end of the
/// MAC, and the hash of the chunks.
pub(super) fn signed(head: &[u8; MAC], chunks: &[u8; 32]) -> Vec<u8> {
    [b"scb1/sig\0".as_slice(), head, chunks].concat()
}
