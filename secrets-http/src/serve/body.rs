//! Request bodies, read on demand with a size limit and timeouts.

use std::time::Duration;

use futures_util::StreamExt as _;
use secrets_core::crypto::WipedBuffer;
use secrets_core::model::{Error, document};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::{Instrument as _, info_span};
use warp::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use zeroize::Zeroizing;

use crate::serve::fault::Fault;
use crate::serve::memory::PART;
use crate::serve::request::Request;

/// Default maximum size of a request body, in bytes.
pub const LIMIT: usize = 1024 * 1024;

/// Maximum size of a request body with many secrets, in bytes. It is enough for 100 values of 64
/// KiB with escaped characters.
pub const BULK_LIMIT: usize = 16 * 1024 * 1024;

/// Maximum size of a request body that needs no credential, in bytes. Such bodies are counted for
/// no account, so their memory is not a part of the budget.
pub const PUBLIC_LIMIT: usize = PART;

const READ_TIMEOUT: Duration = Duration::from_secs(10);
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Request body that has not been read yet, with its size limit.
pub struct Body {
    request: Request,
    limit: usize,
}

impl Body {
    pub(super) fn new(request: Request, limit: usize) -> Self {
        Self { request, limit }
    }

    /// True if the `Content-Type` header names this media type.
    pub fn is(&self, media_type: &str) -> bool {
        self.media_type().is_some_and(|kind| kind.eq_ignore_ascii_case(media_type))
    }

    /// Reads the body as JSON.
    pub async fn json<T: DeserializeOwned>(self) -> Result<T, Fault> {
        self.check_json_type()?;
        Ok(document::read(&self.read().await?)?)
    }

    /// Reads the body as JSON, or returns the default if the body is empty.
    pub async fn json_if_any<T: DeserializeOwned + Default>(self) -> Result<T, Fault> {
        let json_type = self.check_json_type();
        let bytes = self.read().await?;
        if bytes.is_empty() {
            return Ok(T::default());
        }
        json_type?;
        Ok(document::read(&bytes)?)
    }

    /// Reads the body as JSON or, as required by OAuth, as a URL-encoded form.
    pub async fn json_or_form<T: DeserializeOwned>(self) -> Result<T, Fault> {
        if !self.is_form() {
            return self.json().await;
        }
        self.form().await
    }

    /// Reads the body as a URL-encoded form.
    pub async fn form<T: DeserializeOwned>(self) -> Result<T, Fault> {
        if !self.is_form() {
            return Err(Error::invalid(
                "Content-Type",
                "must be application/x-www-form-urlencoded",
            )
            .into());
        }
        let bytes = self.read().await?;
        serde_urlencoded::from_bytes(&bytes).map_err(|_| {
            Error::invalid("body", "must be a URL-encoded form with valid fields").into()
        })
    }

    fn is_form(&self) -> bool {
        let form = "application/x-www-form-urlencoded";
        self.media_type().is_some_and(|kind| kind.eq_ignore_ascii_case(form))
    }

    /// Reads the body as UTF-8 text.
    pub async fn text(self) -> Result<Zeroizing<String>, Fault> {
        let bytes = self.read().await?;
        let text =
            std::str::from_utf8(&bytes).map_err(|_| Error::invalid("body", "must be UTF-8"))?;
        Ok(Zeroizing::new(text.to_owned()))
    }

    fn check_json_type(&self) -> Result<(), Fault> {
        if self.media_type().is_some_and(|kind| !kind.eq_ignore_ascii_case("application/json")) {
            return Err(Error::invalid("Content-Type", "must be application/json").into());
        }
        Ok(())
    }

    fn media_type(&self) -> Option<&str> {
        let value = self.request.headers.get(CONTENT_TYPE)?.to_str().unwrap_or_default();
        Some(value.split(';').next().unwrap_or_default().trim())
    }

    async fn read(self) -> Result<Zeroizing<Vec<u8>>, Fault> {
        let encoding = self.request.headers.get(CONTENT_ENCODING);
        if encoding.is_some_and(|encoding| encoding != "identity") {
            return Err(Error::invalid("Content-Encoding", "must be identity").into());
        }
        self.receive().instrument(info_span!("receive body")).await
    }

    async fn receive(mut self) -> Result<Zeroizing<Vec<u8>>, Fault> {
        let deadline = Instant::now() + BODY_TIMEOUT;
        self.request.memory.announce(self.max_size()).await?;
        let mut bytes = WipedBuffer::default();
        loop {
            let next =
                timeout_at(deadline, timeout(READ_TIMEOUT, self.request.frames.next())).await;
            let Ok(Ok(next)) = next else { return Err(Fault::TooSlow) };
            let Some(frame) = next else { return Ok(bytes.into_bytes()) };
            let frame = frame.map_err(|_| Error::invalid("body", "must be complete"))?;
            if bytes.len() + frame.len() > self.limit {
                return Err(Fault::TooLarge(self.limit));
            }
            self.request.memory.receive(bytes.len() + frame.len()).await?;
            bytes.extend(&frame);
        }
    }

    /// Returns the largest size that the body can have, in bytes: the announced size, but at most
    /// the limit. Without an announced size, the limit.
    fn max_size(&self) -> u64 {
        let announced =
            self.request.headers.get(CONTENT_LENGTH).and_then(|size| size.to_str().ok());
        let limit = self.limit as u64;
        announced.and_then(|size| size.parse().ok()).map_or(limit, |size: u64| size.min(limit))
    }
}
