//! Benchmark of opening a bundle (encrypted export of an environment), compared with decrypting the
//! same number of bytes with plain AES-256-GCM in the same run. The ratio of the two times can be
//! compared between machines.
//!
//! `cargo run --release -p secrets-examples --example bundle_open`. Each bundle is opened 21 times
//! with a key, and the medians are printed. A passphrase adds the time of Argon2id, with the
//! parameters in the header of the bundle.

use std::error::Error;
use std::hint::black_box;
use std::io::Write as _;
use std::time::{Duration, Instant};

use secrets_core::bundle::{
    self, BundleKey, BundleMetadata, BundledSecret, Opener, Recipients, SigningKey, Unlock,
};
use secrets_core::crypto::Plaintext;
use secrets_core::model::{Clock, SystemClock};
use uuid::Uuid;
use xaes_256_gcm::aead::{AeadInOut, KeyInit};
use xaes_256_gcm::aes_gcm::{Aes256Gcm, Tag};

const ROUNDS: usize = 21;
const CHUNK: usize = 65_536 + 16;
const NONCE: [u8; 12] = [0; 12];

/// Bundles to open: for each, the number of secrets and the length of each secret's value in bytes.
const BUNDLES: [(usize, usize); 4] = [(1, 40), (1_000, 40), (1_000, 1_000), (800, 65_536)];

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout();
    for (count, length) in BUNDLES {
        let (key, signing) = (BundleKey::generate(), SigningKey::generate());
        let file = sealed(count, length, &key, &signing)?;
        let signer = Some(signing.signer());
        let opener =
            Opener { unlock: Unlock::Key(key), signer, at_least: 0, now: SystemClock.now() };

        let took = median(|| opener.open_bytes(&file).map_or(0, |opened| opened.flatten().count()));
        let plain = Plain::sealed(&file)?;
        let plain = median(|| plain.open());

        let ratio = took.as_secs_f64() / plain.as_secs_f64();
        writeln!(
            out,
            "{count} secrets of {length} bytes, {} KiB: opened in {took:?}, plain AES-256-GCM \
             {plain:?}, {ratio:.1} times that",
            file.len() / 1024
        )?;
    }
    Ok(())
}

fn sealed(
    count: usize,
    length: usize,
    key: &BundleKey,
    signing: &SigningKey,
) -> Result<Vec<u8>, Box<dyn Error>> {
    let now = SystemClock.now();
    let secrets = (0..count).map(|number| -> Result<_, Box<dyn Error>> {
        Ok(BundledSecret {
            key: format!("KEY_{number:06}").parse()?,
            value: Plaintext::new("kvc_".repeat(length / 4))?,
            description: None,
            version: 1,
            inherited_from: None,
            updated_at: now,
        })
    });
    let secrets = secrets.collect::<Result<Vec<_>, _>>()?;
    let (project, environment) = (Uuid::nil().into(), Uuid::nil().into());
    let metadata =
        BundleMetadata { project, environment, seq: 1, created_at: now, expires_at: None };
    Ok(bundle::seal(&metadata, &secrets, &Recipients::key(key), signing)?)
}

/// Baseline of the comparison: as many bytes as the bundle file has, encrypted with AES-256-GCM in
/// chunks of the same size as in a bundle.
struct Plain {
    cipher: Aes256Gcm,
    chunks: Vec<(Vec<u8>, Tag)>,
}

impl Plain {
    fn sealed(bytes: &[u8]) -> Result<Self, Box<dyn Error>> {
        let cipher = Aes256Gcm::new(&[7; 32].into());
        let chunks = bytes.chunks(CHUNK).map(|chunk| {
            let mut chunk = chunk.to_vec();
            let tag = cipher.encrypt_inout_detached(&NONCE.into(), &[], (&mut *chunk).into());
            Ok((chunk, tag.map_err(|_| "a chunk is too long")?))
        });
        Ok(Self { chunks: chunks.collect::<Result<_, Box<dyn Error>>>()?, cipher })
    }

    /// Decrypts all chunks and returns their number.
    fn open(&self) -> usize {
        let mut buffer = vec![0; CHUNK];
        let opened = self.chunks.iter().map(|(chunk, tag)| {
            let buffer = &mut buffer[..chunk.len()];
            buffer.copy_from_slice(chunk);
            self.cipher.decrypt_inout_detached(&NONCE.into(), &[], buffer.into(), tag)
        });
        opened.flatten().count()
    }
}

fn median<T>(work: impl Fn() -> T) -> Duration {
    let mut times: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            black_box(work());
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[ROUNDS / 2]
}
