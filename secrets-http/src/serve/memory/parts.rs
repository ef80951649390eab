//! Response bodies that are sent in parts.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use hyper::body::{Body, Frame, SizeHint};

use super::Reservation;

/// Size of the parts in which a response is sent, in bytes. Request bodies up to this size need no
/// reservation of memory.
pub const PART: usize = 64 * 1024;

/// Body of a response that is sent in parts. Each part is a copy, so that the connection never
/// holds the whole body. The reserved memory is released when the whole body was sent.
pub struct Parts<B> {
    body: B,
    rest: Bytes,
    _memory: Option<Reservation>,
}

impl<B: Body> Parts<B> {
    /// Wraps the body of a response, with the memory reserved for it.
    pub fn new(body: B, memory: Option<Reservation>) -> Self {
        let size = body.size_hint().lower();
        let memory = memory.map(|memory| memory.hold(size));
        Self { body, rest: Bytes::new(), _memory: memory }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Parts<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) if frame.data_ref().is_some_and(|data| data.len() > PART) => {
                    self.rest = frame.into_data().unwrap_or_default();
                }
                next => return Poll::Ready(next),
            }
        }
        let part = Bytes::copy_from_slice(&self.rest[..self.rest.len().min(PART)]);
        self.rest.advance(part.len());
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, hint) = (self.rest.len() as u64, self.body.size_hint());
        let mut whole = SizeHint::new();
        whole.set_lower(hint.lower() + rest);
        if let Some(upper) = hint.upper() {
            whole.set_upper(upper + rest);
        }
        whole
    }
}
