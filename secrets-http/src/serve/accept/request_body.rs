//! Request bodies whose rest is received even if the route does not read it.
//!
//! Many clients send the head of a request and its body in two packets. If the response is sent
//! between the two, hyper closes the connection without announcing it in the response, and the
//! next request of the client fails. The rest of a small body is therefore received before the
//! response is sent (RFC 9112, section 9.3). After a larger body, the response has the header
//! `Connection: close`, and the connection discards data for a limited time before it is closed, so
//! that a reset does not destroy the response (RFC 9112, section 9.6).

use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::Request;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::EXPECT;
use tokio::time::timeout;

/// Maximum number of bytes that are received before the response is sent.
const DISCARD_LIMIT: u64 = 64 * 1024;

/// Body of a request. If it is dropped before its end, [`Rest`] can receive the remaining data.
pub struct RequestBody {
    /// `None` only while the body is dropped.
    body: Option<Incoming>,
    /// True until the body is read, if the client sends it only after a response with the status
    /// 100 (RFC 9110, section 10.1.1). hyper sends this response when the body is read.
    awaits_continue: bool,
    rest: Rest,
}

/// Rest of a request body, available after the [`RequestBody`] was dropped. `None` if the request
/// has no body.
#[derive(Clone)]
pub(super) struct Rest(Option<Arc<Mutex<Unread>>>);

enum Unread {
    /// The body was not dropped, or its rest was discarded.
    Nothing,
    Body(Incoming),
    /// The client was not told to send the body, and may or may not send it after the response.
    Awaited,
}

impl RequestBody {
    /// Wraps the body of a request. Returns the request and the rest of its body.
    pub(super) fn wrap(request: Request<Incoming>) -> (Request<Self>, Rest) {
        let has_body = !request.body().is_end_stream();
        let rest = Rest(has_body.then(|| Arc::new(Mutex::new(Unread::Nothing))));
        let awaits_continue = request.headers().contains_key(EXPECT);
        let wrapped = rest.clone();
        (request.map(|body| Self { body: Some(body), awaits_continue, rest: wrapped }), rest)
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.awaits_continue = false;
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        let (Some(body), Rest(Some(rest))) = (self.body.take(), &self.rest) else { return };
        let unread = if self.awaits_continue { Unread::Awaited } else { Unread::Body(body) };
        *rest.lock().unwrap_or_else(PoisonError::into_inner) = unread;
    }
}

impl Rest {
    /// Receives and discards the rest of the body, for at most this time. Returns false if the body
    /// is longer than [`DISCARD_LIMIT`] or does not end in time.
    pub(super) async fn discard(self, limit: Duration) -> bool {
        match self.take() {
            Unread::Nothing => true,
            Unread::Awaited => false,
            Unread::Body(body) => timeout(limit, discard(body)).await.unwrap_or(false),
        }
    }

    fn take(self) -> Unread {
        let Some(rest) = self.0 else { return Unread::Nothing };
        let mut rest = rest.lock().unwrap_or_else(PoisonError::into_inner);
        mem::replace(&mut *rest, Unread::Nothing)
    }
}

async fn discard(mut body: Incoming) -> bool {
    if body.size_hint().lower() > DISCARD_LIMIT {
        return false;
    }
    let mut left = DISCARD_LIMIT;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return false };
        let length = frame.data_ref().map_or(0, |data| data.len() as u64);
        let Some(rest) = left.checked_sub(length) else { return false };
        left = rest;
    }
    true
}
