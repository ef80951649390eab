//! Tests of the golden vectors of XAES-256-GCM, the cipher that encrypts records and keys.

use serde::Deserialize;
use shake::Shake128;
use shake::digest::{ExtendableOutput, Update, XofReader};
use xaes_256_gcm::aead::{self, Aead, KeyInit, Payload};
use xaes_256_gcm::{Nonce, Xaes256Gcm};

use crate::{Bytes, section};

#[derive(Deserialize)]
struct Vector {
    name: String,
    valid: bool,
    key: Bytes,
    nonce: Bytes,
    aad: Bytes,
    #[serde(default)]
    plaintext: Bytes,
    ciphertext: Bytes,
}

#[test]
fn a_valid_ciphertext_opens_and_is_made_again() {
    for vector in section::<Vector>("xaes.json", "vectors", |vector| vector.valid) {
        let (key, nonce) = (vector.key.array(), vector.nonce.array());

        assert_eq!(open(key, nonce, &vector), Ok(vector.plaintext.0.clone()), "{}", vector.name);
        let sealed = seal(key, nonce, &vector.plaintext.0, &vector.aad.0);
        assert_eq!(sealed, vector.ciphertext.0, "{}", vector.name);
    }
}

#[test]
fn any_other_ciphertext_is_refused() {
    for vector in section::<Vector>("xaes.json", "vectors", |vector| !vector.valid) {
        let opened = open(vector.key.array(), vector.nonce.array(), &vector);

        assert_eq!(opened, Err(aead::Error), "{}", vector.name);
    }
}

#[test]
fn ten_thousand_ciphertexts_are_those_of_the_specification() {
    #[derive(Deserialize)]
    struct Accumulated {
        iterations: u32,
        hash: Bytes,
    }

    for vector in section::<Accumulated>("xaes.json", "accumulated", |_| true) {
        let mut random = Shake128::default().finalize_xof();
        let mut ciphertexts = Shake128::default();
        for _ in 0..vector.iterations {
            let (key, nonce) = (draw(&mut random), draw(&mut random));
            let plaintext = draw_sized(&mut random);
            let aad = draw_sized(&mut random);
            ciphertexts.update(&seal(&key, &nonce, &plaintext, &aad));
        }

        let hash: [u8; 32] = draw(&mut ciphertexts.finalize_xof());
        assert_eq!(hash.as_slice(), vector.hash.0);
    }
}

fn open(key: &[u8; 32], nonce: &[u8; 24], vector: &Vector) -> aead::Result<Vec<u8>> {
    let payload = Payload { msg: &vector.ciphertext.0, aad: &vector.aad.0 };
    Xaes256Gcm::new(key.into()).decrypt(&Nonce::from(*nonce), payload)
}

fn seal(key: &[u8; 32], nonce: &[u8; 24], msg: &[u8], aad: &[u8]) -> Vec<u8> {
    Xaes256Gcm::new(key.into()).encrypt(&Nonce::from(*nonce), Payload { msg, aad }).unwrap()
}

fn draw<const N: usize>(random: &mut impl XofReader) -> [u8; N] {
    let mut bytes = [0; N];
    random.read(&mut bytes);
    bytes
}

fn draw_sized(random: &mut impl XofReader) -> Vec<u8> {
    let [length] = draw(random);
    let mut bytes = vec![0; usize::from(length)];
    random.read(&mut bytes);
    bytes
}
