//! Secrets of an environment, as this program has fetched them from the service.

use reqwest::{Method, StatusCode};
use secrets_core::crypto::Plaintext;
use secrets_core::model::SecretKey;
use serde::Deserialize;

use crate::failure::{Exit, Failure};
use crate::invocation::Place;
use crate::service::{Request, Response, Service};

/// Effective secrets of an environment (its own and the inherited ones), sorted by key.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    /// Keys and values of the secrets.
    pub(crate) secrets: Vec<(SecretKey, Plaintext)>,
    /// ETag of the response with these secrets, if it has one.
    pub(crate) etag: Option<String>,
}

#[derive(Deserialize)]
struct Export {
    secrets: Vec<Secret>,
}

#[derive(Deserialize)]
struct Secret {
    key: SecretKey,
    value: zeroize::Zeroizing<String>,
}

/// Fetches the secrets of an environment. Returns `None` if they are unchanged, that is, if their
/// ETag is still `known`.
pub(crate) async fn fetch(
    service: &Service,
    place: &Place,
    known: Option<&str>,
) -> Result<Option<Values>, Failure> {
    let mut request = Request::new(Method::GET, &place.path(&["secrets", "export"]));
    if let Some(etag) = known {
        request = request.header("if-none-match", etag);
    }
    let response = service.send(request).await?;
    if response.status() == StatusCode::NOT_MODIFIED {
        return Ok(None);
    }
    Values::read(&response).map(Some)
}

impl Values {
    fn read(response: &Response) -> Result<Self, Failure> {
        let etag = response.header("etag").map(str::to_owned);
        let export: Export = response.json()?;
        let secrets: Result<_, _> = export.secrets.into_iter().map(Secret::checked).collect();
        Ok(Self { secrets: secrets?, etag })
    }
}

impl Secret {
    /// Checks that the value of the secret can be stored in an environment variable: for example,
    /// that it contains no NUL.
    fn checked(mut self) -> Result<(SecretKey, Plaintext), Failure> {
        let value = Plaintext::new(std::mem::take(&mut *self.value));
        let key = self.key;
        let value = value.map_err(|violation| {
            Failure::new(Exit::Protocol, format!("{}: value: {violation}", key.as_str()))
        })?;
        Ok((key, value))
    }
}
