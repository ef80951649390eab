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
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::EXPECT;
use hyper::{Request, Version};
use tokio::time::timeout;

/// Maximum number of bytes of an unread request body that are received and discarded before the
/// response is sent.
const DISCARD_LIMIT: u64 = 64 * 1024;

/// Body of a request. If it is dropped before its end, [`Rest`] can receive the remaining data.
pub struct RequestBody {
    /// `None` only while the body is dropped.
    body: Option<Incoming>,
    /// True if the rest of the body cannot be received: because of an error, or because the client
    /// sends the body only after a response with the status 100 (RFC 9110, section 10.1.1), which
    /// hyper sends when the body is read.
    is_unavailable: bool,
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
    /// The rest cannot be received. The client may or may not send it after the response.
    Unavailable,
}

impl RequestBody {
    /// Wraps the body of a request. Returns the request and the rest of its body.
    pub(super) fn wrap(request: Request<Incoming>) -> (Request<Self>, Rest) {
        let has_body = !request.body().is_end_stream();
        let rest = Rest(has_body.then(|| Arc::new(Mutex::new(Unread::Nothing))));
        let is_unavailable = request.version() == Version::HTTP_11 && awaits_continue(&request);
        let wrapped = rest.clone();
        (request.map(|body| Self { body: Some(body), is_unavailable, rest: wrapped }), rest)
    }
}

fn awaits_continue<B>(request: &Request<B>) -> bool {
    let expected = request.headers().get(EXPECT);
    expected.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = Pin::new(body).poll_frame(cx);
        self.is_unavailable = matches!(frame, Poll::Ready(Some(Err(_))));
        frame
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
        let unread = if self.is_unavailable { Unread::Unavailable } else { Unread::Body(body) };
        *rest.lock().unwrap_or_else(PoisonError::into_inner) = unread;
    }
}

impl Rest {
    /// Receives and discards the rest of the body, for at most this time. Returns false if the rest
    /// is longer than 64 KiB, does not end in time, or cannot be received.
    pub(super) async fn discard(self, limit: Duration) -> bool {
        match self.take() {
            Unread::Nothing => true,
            Unread::Unavailable => false,
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
