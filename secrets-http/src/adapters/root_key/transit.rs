//! Root key in a transit secrets engine of HashiCorp Vault or OpenBao.
//!
//! The server encrypts and decrypts with a key that never leaves it: `POST /v1/MOUNT/encrypt/NAME`
//! and `POST /v1/MOUNT/decrypt/NAME` of Vault's HTTP API. The context of an encrypted key is its
//! associated data, so the type of the key must be `aes256-gcm96` (the default), `aes128-gcm96` or
//! `chacha20-poly1305`.

use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::{StatusCode, Uri};
use secrets_core::crypto::{Key, RootKeyError, RootKeyId, RootKeys};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::adapters::fetch::{Client, Credential, Limits, NotFetched};

/// Timeout and maximum response size, in bytes, of a request to Vault or OpenBao.
const LIMITS: Limits = Limits { time: Duration::from_secs(10), bytes: 64 * 1024 };

/// Root key in a transit secrets engine of HashiCorp Vault or OpenBao.
pub struct TransitRootKey {
    client: Client,
    id: RootKeyId,
    /// URL of the transit secrets engine, such as `https://vault.example.com/v1/transit`.
    mount: String,
    name: String,
    token: Zeroizing<String>,
}

#[derive(Serialize)]
struct Plaintext {
    plaintext: Zeroizing<String>,
    associated_data: String,
}

#[derive(Serialize)]
struct Ciphertext<'a> {
    ciphertext: &'a str,
    associated_data: String,
}

#[derive(Deserialize)]
struct Answer<T> {
    data: T,
}

#[derive(Default, Deserialize)]
struct Errors {
    #[serde(default)]
    errors: Vec<String>,
}

#[derive(Deserialize)]
struct Encrypted {
    ciphertext: String,
}

#[derive(Deserialize)]
struct Decrypted {
    plaintext: Zeroizing<String>,
}

impl TransitRootKey {
    /// Creates the root key with this URL: `https://HOST/v1/MOUNT/keys/NAME`. Returns `None` if the
    /// URL has another form. Connects to the server only when the key is used.
    ///
    /// The ID of the root key does not depend on the host, so that a server may be moved.
    #[must_use]
    pub fn new(client: Client, url: &Uri, token: Zeroizing<String>) -> Option<Self> {
        let id = RootKeyId::of_name(&format!("transit:{}", url.path()));
        let url = url.to_string();
        let (mount, name) = url.rsplit_once("/keys/")?;
        let (mount, name) = (mount.to_owned(), name.to_owned());
        Some(Self { client, id, mount, name, token })
    }

    async fn call<T: for<'de> Deserialize<'de>>(
        &self,
        action: &str,
        body: &impl Serialize,
    ) -> Result<T, TransitError> {
        let url = format!("{}/{action}/{}", self.mount, self.name);
        let url: Uri = url.parse().map_err(|error| NotFetched::Failed(Box::new(error)))?;
        let body = serde_json::to_vec(body).map(Zeroizing::new);
        let body = body.map_err(|error| NotFetched::Failed(error.into()))?;
        let token = Credential::Vault(&self.token);
        let (status, answer) = self.client.post_json(&url, token, body, LIMITS).await?;
        if status != StatusCode::OK {
            let said: Errors = serde_json::from_slice(&answer).unwrap_or_default();
            return Err(TransitError::Refused(status, said.errors.join("; ")));
        }
        // The error of the parser is not reported, because it may contain parts of the response.
        let answer: Answer<T> =
            serde_json::from_slice(&answer).map_err(|_| TransitError::UnknownForm)?;
        Ok(answer.data)
    }
}

#[async_trait]
impl RootKeys for TransitRootKey {
    fn id(&self) -> RootKeyId {
        self.id
    }

    async fn wrap(&self, key: &Key, context: &[u8]) -> Result<Vec<u8>, RootKeyError> {
        let plaintext = Zeroizing::new(STANDARD.encode(key.as_bytes()));
        let body = Plaintext { plaintext, associated_data: STANDARD.encode(context) };
        let encrypted: Encrypted = self.call("encrypt", &body).await?;
        Ok(encrypted.ciphertext.into_bytes())
    }

    async fn unwrap(&self, wrapped: &[u8], context: &[u8]) -> Result<Key, RootKeyError> {
        let ciphertext = std::str::from_utf8(wrapped).map_err(|_| RootKeyError::Refused)?;
        let body = Ciphertext { ciphertext, associated_data: STANDARD.encode(context) };
        let decrypted: Decrypted = self.call("decrypt", &body).await?;
        let mut bytes = Zeroizing::new([0; 32]);
        match STANDARD.decode_slice(&*decrypted.plaintext, bytes.as_mut_slice()) {
            Ok(32) => Ok(Key::from_bytes(bytes)),
            _ => Err(RootKeyError::Refused),
        }
    }
}

/// Reason why a call of the transit secrets engine failed.
#[derive(Debug)]
enum TransitError {
    /// The server refused, with this status and these messages.
    Refused(StatusCode, String),
    /// The response is not that of a transit secrets engine.
    UnknownForm,
    NotFetched(NotFetched),
}

impl From<NotFetched> for TransitError {
    fn from(error: NotFetched) -> Self {
        Self::NotFetched(error)
    }
}

impl From<TransitError> for RootKeyError {
    fn from(error: TransitError) -> Self {
        match error {
            // A missing key, or one that may not be used, has the same status.
            TransitError::Refused(StatusCode::BAD_REQUEST, said) if is_undecryptable(&said) => {
                Self::Refused
            }
            TransitError::Refused(status, said) => {
                Self::Unavailable(format!("Vault answered {status}: {said}").into())
            }
            TransitError::UnknownForm => {
                Self::Unavailable("the response is not that of a transit secrets engine".into())
            }
            TransitError::NotFetched(error) => Self::Unavailable(error.into()),
        }
    }
}

/// True for the messages of Vault and OpenBao about a ciphertext or associated data that was
/// changed.
fn is_undecryptable(said: &str) -> bool {
    ["message authentication failed", "invalid ciphertext"].iter().any(|text| said.contains(text))
}
