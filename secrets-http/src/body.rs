//! Request bodies: read when they are asked for, up to a limit and a deadline.

use std::pin::Pin;
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures_util::{Stream, StreamExt};
use secrets_core::model::{Error, document};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout, timeout_at};
use warp::http::HeaderMap;
use warp::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use warp::{Filter, Rejection};
use zeroize::Zeroizing;

use crate::fault::Fault;

/// The most a body may be, unless a route says otherwise.
pub const LIMIT: usize = 1024 * 1024;

/// The most a body of many secrets may be: 100 values of 64 KiB, escaped.
pub const BULK_LIMIT: usize = 16 * 1024 * 1024;

const IDLE: Duration = Duration::from_secs(10);
const TOTAL: Duration = Duration::from_secs(30);

/// A body that was not read yet.
pub struct Body {
    stream: Pin<Box<dyn Stream<Item = Result<Bytes, warp::Error>> + Send>>,
    headers: HeaderMap,
    limit: usize,
}

/// Gives the body of a request, for a route to read.
pub fn body(limit: usize) -> impl Filter<Extract = (Body,), Error = Rejection> + Copy {
    warp::body::stream().and(warp::header::headers_cloned()).map(move |stream, headers| Body {
        stream: Box::pin(frames(stream)),
        headers,
        limit,
    })
}

fn frames(
    stream: impl Stream<Item = Result<impl Buf, warp::Error>> + Send,
) -> impl Stream<Item = Result<Bytes, warp::Error>> + Send {
    stream.map(|frame| frame.map(|mut frame| frame.copy_to_bytes(frame.remaining())))
}

impl Body {
    /// Whether the body is said to be of this media type.
    pub fn is(&self, media_type: &str) -> bool {
        self.media_type().is_some_and(|kind| kind.eq_ignore_ascii_case(media_type))
    }

    /// The body as a JSON document.
    pub async fn json<T: DeserializeOwned>(self) -> Result<T, Fault> {
        self.is_json()?;
        Ok(document::read(&self.read().await?)?)
    }

    /// The body as a JSON document; what stands for none, if there is no body.
    pub async fn json_if_any<T: DeserializeOwned + Default>(self) -> Result<T, Fault> {
        let is_json = self.is_json();
        let bytes = self.read().await?;
        if bytes.is_empty() {
            return Ok(T::default());
        }
        is_json?;
        Ok(document::read(&bytes)?)
    }

    /// The body as a JSON document or, as OAuth has it, as a form.
    pub async fn json_or_form<T: DeserializeOwned>(self) -> Result<T, Fault> {
        if !self.is_form() {
            return self.json().await;
        }
        self.form().await
    }

    /// The body as a form.
    pub async fn form<T: DeserializeOwned>(self) -> Result<T, Fault> {
        if !self.is_form() {
            return Err(Error::invalid("Content-Type", "must be a form").into());
        }
        let bytes = self.read().await?;
        serde_urlencoded::from_bytes(&bytes)
            .map_err(|_| Error::invalid("body", "must be a form with the fields known here").into())
    }

    fn is_form(&self) -> bool {
        let form = "application/x-www-form-urlencoded";
        self.media_type().is_some_and(|kind| kind.eq_ignore_ascii_case(form))
    }

    /// The body as text.
    pub async fn text(self) -> Result<Zeroizing<String>, Fault> {
        let bytes = self.read().await?;
        let text =
            std::str::from_utf8(&bytes).map_err(|_| Error::invalid("body", "must be UTF-8"))?;
        Ok(Zeroizing::new(text.to_owned()))
    }

    fn is_json(&self) -> Result<(), Fault> {
        if self.media_type().is_some_and(|kind| !kind.eq_ignore_ascii_case("application/json")) {
            return Err(Error::invalid("Content-Type", "must be application/json").into());
        }
        Ok(())
    }

    fn media_type(&self) -> Option<&str> {
        let value = self.headers.get(CONTENT_TYPE)?.to_str().unwrap_or_default();
        Some(value.split(';').next().unwrap_or_default().trim())
    }

    async fn read(mut self) -> Result<Zeroizing<Vec<u8>>, Fault> {
        let encoding = self.headers.get(CONTENT_ENCODING);
        if encoding.is_some_and(|encoding| encoding != "identity") {
            return Err(Error::invalid("Content-Encoding", "must be identity").into());
        }
        let mut bytes = Zeroizing::new(Vec::new());
        let deadline = Instant::now() + TOTAL;
        loop {
            let next = timeout_at(deadline, timeout(IDLE, self.stream.next())).await;
            let Ok(Ok(next)) = next else { return Err(Fault::TooSlow) };
            let Some(frame) = next else { return Ok(bytes) };
            let frame = frame.map_err(|_| Error::invalid("body", "must arrive whole"))?;
            if bytes.len() + frame.len() > self.limit {
                return Err(Fault::TooLarge(self.limit));
            }
            bytes.extend_from_slice(&frame);
        }
    }
}
