//! What goes to a function in the target's network and what comes back, version 1.
//!
//! ```text
//! request  {"v":1,"kid":…,"ts":…,"nonce":…,"config":…,"seq":…,"step":…,"ct":…,"sig":…}
//! answer   {"v":1,"nonce":…,"seq":…,"step":…,"outcome":…,"ct":…,"sig":…}
//!
//! kid      16 hex digits: the first 8 bytes of HKDF(secret, no salt, "lambda/kid")
//! ts       seconds since 1970
//! nonce    16 random bytes; an answer repeats its request's
//! config   the rotation's UUID; nil where the step belongs to none
//! seq      the attempt; 0 where the step belongs to none
//! step     test, apply, verify or lock
//! outcome  ok, or the code of a fault
//! ct       12 random bytes, AES-256-GCM of the inside, its tag of 16 bytes
//! sig      64 hex digits: HMAC-SHA256, in lower case as they were signed
//! ```
//!
//! `nonce` and `ct` are base64url without padding. The keys, each HKDF-SHA256 of the secret's bytes:
//!
//! ```text
//! request  cipher  salt: the nonce's bytes   info: "lambda/enc"
//! answer   cipher  salt: the nonce's bytes   info: "lambda/enc/answer"
//! both     MAC     no salt                   info: "lambda/mac"
//! ```
//!
//! A field is text as it stands in the JSON, a number in decimal; no field has a dot in it:
//!
//! ```text
//! request  ct is bound to  v1.KID.TS.NONCE.CONFIG.SEQ.STEP
//!          sig is over     v1.TS.NONCE.HEX(SHA-256(KID.CONFIG.SEQ.STEP.CT))
//! answer   ct is bound to  v1.answer.NONCE.SEQ.STEP.OUTCOME
//!          sig is over     v1.answer.NONCE.HEX(SHA-256(SEQ.STEP.OUTCOME.CT))
//! ```
//!
//! An answer is hidden by another key than its request, and both draw what their key's salt does not
//! make unique: a request that is answered twice gives away nothing. What they hold is said below.

mod inside;

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

pub use inside::Asked;

/// The most bytes of a request, and of an answer.
pub const LIMIT: usize = 16 * 1024;

const KID: &str = "lambda/kid";
const MAC: &str = "lambda/mac";
const ASK: &str = "lambda/enc";
const TELL: &str = "lambda/enc/answer";

/// What a function is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// To log in as the administrator.
    Test,
    /// To set a password.
    Apply,
    /// To log in as the user.
    Verify,
    /// To shut a user out.
    Lock,
}

/// The outside of a request: what its answer is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heading {
    /// When it was made.
    pub at: Time,
    /// What makes it another than every other.
    pub nonce: [u8; 16],
    /// Whose attempt it is of; nil if of none.
    pub rotation: RotationId,
    /// Which attempt; 0 if none.
    pub sequence: u64,
    /// What is asked.
    pub step: Step,
}

/// What a function said, proven and in the clear.
pub struct Told {
    /// `ok`, or the code of a fault.
    pub outcome: String,
    /// What else it said.
    pub inside: Zeroizing<Vec<u8>>,
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
    /// Its name on the wire.
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
    /// The heading of a new request.
    #[must_use]
    pub fn draw(at: Time, rotation: RotationId, sequence: u64, step: Step) -> Self {
        Self { at, nonce: random(), rotation, sequence, step }
    }

    /// The request with this heading, and this inside. Nothing where it would be longer than
    /// [`LIMIT`].
    #[must_use]
    pub fn seal(&self, proxy: &Proxy, inside: &[u8]) -> Option<Vec<u8>> {
        self.seal_with_iv(proxy, inside, random())
    }

    /// Seals with a given nonce of the cipher; only for reproducing published vectors.
    #[must_use]
    #[cfg_attr(not(feature = "testing"), doc(hidden))]
    pub fn seal_with_iv(&self, proxy: &Proxy, inside: &[u8], iv: [u8; IV]) -> Option<Vec<u8>> {
        let secret = Shared(&proxy.shared_secret);
        let (seq, step) = (self.sequence, self.step.as_str());
        let kid = hex(&secret.id(KID));
        let ts = self.at.timestamp();
        let nonce = self.nonce();
        let config = self.rotation.to_string();
        let aad = format!("v1.{kid}.{ts}.{nonce}.{config}.{seq}.{step}");
        let sealing = Sealing { iv, aad: aad.as_bytes(), plaintext: inside };
        let ct = URL_SAFE_NO_PAD.encode(secret.seal(&self.nonce, ASK, &sealing));
        let rest = digest(&format!("{kid}.{config}.{seq}.{step}.{ct}"));
        let sig = hex(&secret.sign(MAC, format!("v1.{ts}.{nonce}.{rest}").as_bytes()));
        let (kid, nonce, config, ct, sig) = (&kid, &nonce, &config, &ct, &sig);
        let request = Request { v: 1, kid, ts, nonce, config, seq, step, ct, sig };
        serde_json::to_vec(&request).ok().filter(|payload| payload.len() <= LIMIT)
    }

    /// What the answer to this request says, if it is one: whole, of this request, and from somebody
    /// who knows the secret. Anything else is [`Fault::ProxyUntrusted`].
    pub fn open(&self, proxy: &Proxy, answer: &[u8]) -> Result<Told, Fault> {
        self.opened(proxy, answer).ok_or(Fault::ProxyUntrusted)
    }

    fn opened(&self, proxy: &Proxy, answer: &[u8]) -> Option<Told> {
        if answer.len() > LIMIT {
            return None;
        }
        let secret = Shared(&proxy.shared_secret);
        let answer: Answer = serde_json::from_slice(answer).ok()?;
        let signature = hex(&secret.sign(MAC, answer.signed().as_bytes()));
        let is_signed: bool = signature.as_bytes().ct_eq(answer.sig.as_bytes()).into();
        let is_ours = answer.v == 1
            && answer.nonce == self.nonce()
            && answer.seq == self.sequence
            && answer.step == self.step.as_str();
        if !is_signed || !is_ours {
            return None;
        }
        let sealed = URL_SAFE_NO_PAD.decode(&answer.ct).ok()?;
        let inside = secret.open(&self.nonce, TELL, answer.bound().as_bytes(), &sealed).ok()?;
        Some(Told { outcome: answer.outcome, inside })
    }

    fn nonce(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.nonce)
    }
}

impl Answer {
    fn bound(&self) -> String {
        let Self { nonce, seq, step, outcome, .. } = self;
        format!("v1.answer.{nonce}.{seq}.{step}.{outcome}")
    }

    fn signed(&self) -> String {
        let Self { nonce, seq, step, outcome, ct, .. } = self;
        format!("v1.answer.{nonce}.{}", digest(&format!("{seq}.{step}.{outcome}.{ct}")))
    }
}

fn digest(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests;
