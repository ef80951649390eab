//! Message format between this service and the proxy function in the target's network, version 1.
//!
//! ```text
//! request  {"v":1,"kid":…,"ts":…,"nonce":…,"config":…,"seq":…,"step":…,"ct":…,"sig":…}
//! response {"v":1,"nonce":…,"seq":…,"step":…,"outcome":…,"ct":…,"sig":…}
//!
//! kid      key ID, 16 hex digits: the first 8 bytes of HKDF(secret, no salt, "lambda/kid")
//! ts       Unix time in seconds
//! nonce    16 random bytes; a response repeats its request's nonce
//! config   the rotation's UUID; nil if the step belongs to no rotation
//! seq      number of the attempt; 0 if the step belongs to no attempt
//! step     test, apply, verify or lock
//! outcome  ok, or an error code
//! ct       12 random bytes, the payload under AES-256-GCM, and the 16-byte tag
//! sig      HMAC-SHA256 as 64 lower-case hex digits
//! ```
//!
//! `nonce` and `ct` are base64url without padding. The encryption and MAC keys are HKDF-SHA256 of
//! the bytes of the secret that service and function share:
//!
//! ```text
//! request  cipher  salt: the nonce's bytes   info: "lambda/enc"
//! response cipher  salt: the nonce's bytes   info: "lambda/enc/answer"
//! both     MAC     no salt                   info: "lambda/mac"
//! ```
//!
//! In the strings below, a field is its text in the JSON, and a number is decimal. No field
//! contains a dot:
//!
//! ```text
//! request  associated data of ct  v1.KID.TS.NONCE.CONFIG.SEQ.STEP
//!          message of sig         v1.TS.NONCE.HEX(SHA-256(KID.CONFIG.SEQ.STEP.CT))
//! response associated data of ct  v1.answer.NONCE.SEQ.STEP.OUTCOME
//!          message of sig         v1.answer.NONCE.HEX(SHA-256(SEQ.STEP.OUTCOME.CT))
//! ```
//!
//! Request and response are encrypted with different keys and with random cipher nonces, so that
//! two responses to the same request reveal nothing. The payloads are described in [`Asked`].

#[cfg(feature = "testing")]
pub(crate) mod fuzz;
mod payload;
#[cfg(any(test, feature = "testing"))]
mod response;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::crypto::message::{IV, Sealing, Shared};
use crate::crypto::random;
use crate::model::{RotationId, Time};
use crate::ports::rotator::{Fault, Proxy};

pub use payload::Asked;

/// Maximum size in bytes of a request to the proxy function, and of its response.
pub const LIMIT: usize = 16 * 1024;

const KID: &str = "lambda/kid";
const MAC: &str = "lambda/mac";
const REQUEST_CIPHER: &str = "lambda/enc";
const ANSWER_CIPHER: &str = "lambda/enc/answer";

/// Step of a rotation or connection test that the proxy function executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Log in as the administrator and check the privileges.
    Test,
    /// Set the password of a rotated user.
    Apply,
    /// Log in as the rotated user and check the user's privileges.
    Verify,
    /// Disable the login of a rotated user.
    Lock,
}

/// Unencrypted fields of a request to the proxy function. The response must contain the same nonce,
/// sequence and step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heading {
    /// Creation time of the request.
    pub at: Time,
    /// Random nonce, different for each request.
    pub nonce: [u8; 16],
    /// Rotation ID; nil if the step belongs to no rotation.
    pub rotation: RotationId,
    /// Number of the rotation attempt; 0 if the step belongs to no attempt.
    pub sequence: u64,
    /// Step that the proxy function executes.
    pub step: Step,
}

/// Response of the proxy function, authenticated and decrypted.
pub struct OpenedAnswer {
    /// Outcome of the step: `ok`, or an error code.
    pub outcome: String,
    /// Payload of the response, as JSON.
    pub payload: Zeroizing<Vec<u8>>,
}

#[derive(Serialize)]
struct Request<'a> {
    v: u8,
    kid: &'a str,
    ts: i64,
    nonce: &'a str,
    config: &'a str,
    seq: u64,
    step: &'a str,
    ct: &'a str,
    sig: &'a str,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    v: u8,
    nonce: String,
    seq: u64,
    step: String,
    outcome: String,
    ct: String,
    sig: String,
}

impl Step {
    /// Returns the name of the step, as used in messages to and from the proxy function.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Apply => "apply",
            Self::Verify => "verify",
            Self::Lock => "lock",
        }
    }
}

impl Heading {
    /// Creates the unencrypted fields of a new request, with a random nonce.
    #[must_use]
    pub fn draw(at: Time, rotation: RotationId, sequence: u64, step: Step) -> Self {
        Self { at, nonce: random(), rotation, sequence, step }
    }

    /// Encrypts and signs a request with this payload; `None` if the request would be
    /// longer than [`LIMIT`].
    #[must_use]
    pub fn seal(&self, proxy: &Proxy, payload: &[u8]) -> Option<Vec<u8>> {
        self.seal_with_iv(proxy, payload, random())
    }

    /// Encrypts and signs a request like [`seal`](Self::seal), with the given cipher nonce `iv`;
    /// only for reproducing published test vectors.
    #[must_use]
    #[cfg_attr(not(feature = "testing"), doc(hidden))]
    pub fn seal_with_iv(&self, proxy: &Proxy, payload: &[u8], iv: [u8; IV]) -> Option<Vec<u8>> {
        let secret = Shared(&proxy.shared_secret);
        let (seq, step) = (self.sequence, self.step.as_str());
        let kid = hex::encode(secret.id(KID));
        let ts = self.at.timestamp();
        let nonce = self.nonce();
        let config = self.rotation.to_string();
        let aad = format!("v1.{kid}.{ts}.{nonce}.{config}.{seq}.{step}");
        let sealing = Sealing { iv, aad: aad.as_bytes(), plaintext: payload };
        let ct = URL_SAFE_NO_PAD.encode(secret.seal(&self.nonce, REQUEST_CIPHER, &sealing));
        let rest = digest(&format!("{kid}.{config}.{seq}.{step}.{ct}"));
        let sig = hex::encode(secret.sign(MAC, format!("v1.{ts}.{nonce}.{rest}").as_bytes()));
        let (kid, nonce, config, ct, sig) = (&kid, &nonce, &config, &ct, &sig);
        let request = Request { v: 1, kid, ts, nonce, config, seq, step, ct, sig };
        serde_json::to_vec(&request).ok().filter(|payload| payload.len() <= LIMIT)
    }

    /// Verifies and decrypts the response to this request. Fails with [`Fault::ProxyUntrusted`] if
    /// the response was modified, belongs to another request, or is not signed with the right
    /// secret.
    pub fn open(&self, proxy: &Proxy, answer: &[u8]) -> Result<OpenedAnswer, Fault> {
        self.try_open(proxy, answer).ok_or(Fault::ProxyUntrusted)
    }

    fn try_open(&self, proxy: &Proxy, answer: &[u8]) -> Option<OpenedAnswer> {
        if answer.len() > LIMIT {
            return None;
        }
        let secret = Shared(&proxy.shared_secret);
        let answer: Answer = serde_json::from_slice(answer).ok()?;
        let signature = hex::encode(secret.sign(MAC, answer.signed_message().as_bytes()));
        let is_signed: bool = signature.as_bytes().ct_eq(answer.sig.as_bytes()).into();
        let is_ours = answer.v == 1
            && answer.nonce == self.nonce()
            && answer.seq == self.sequence
            && answer.step == self.step.as_str();
        if !is_signed || !is_ours {
            return None;
        }
        let sealed = URL_SAFE_NO_PAD.decode(&answer.ct).ok()?;
        let payload = secret
            .open(&self.nonce, ANSWER_CIPHER, answer.associated_data().as_bytes(), &sealed)
            .ok()?;
        Some(OpenedAnswer { outcome: answer.outcome, payload })
    }

    fn nonce(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.nonce)
    }
}

impl Answer {
    fn associated_data(&self) -> String {
        let Self { nonce, seq, step, outcome, .. } = self;
        format!("v1.answer.{nonce}.{seq}.{step}.{outcome}")
    }

    fn signed_message(&self) -> String {
        let Self { nonce, seq, step, outcome, ct, .. } = self;
        format!("v1.answer.{nonce}.{}", digest(&format!("{seq}.{step}.{outcome}.{ct}")))
    }
}

fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests;
