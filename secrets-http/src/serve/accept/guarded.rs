//! Stream wrapper with timeouts and a counter of received bytes.

use std::io::{self, ErrorKind, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Shared counter of the bytes received on a connection.
#[derive(Clone, Default)]
pub(super) struct Received(Arc<AtomicU64>);

impl Received {
    pub(super) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// Shared counter of the responses sent on a connection.
#[derive(Clone, Default)]
pub(super) struct Responses(Arc<ResponseState>);

#[derive(Default)]
struct ResponseState {
    number: AtomicU64,
    /// True if the client may still send the body of the last request.
    is_premature: AtomicBool,
}

impl Responses {
    /// Counts a response. `is_complete` is true if the whole request was received before.
    pub(super) fn begin(&self, is_complete: bool) {
        self.0.is_premature.store(!is_complete, Ordering::Relaxed);
        self.0.number.fetch_add(1, Ordering::Relaxed);
    }
}

/// Timeouts for sending responses, and for receiving requests that are not read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    /// Maximum time without progress while a response is sent.
    pub(super) stall: Duration,
    /// Maximum total time that a response may wait for the client to read, for each mebibyte sent.
    /// `stall` is added to it.
    pub(super) per_mebibyte: Duration,
    /// Maximum time for which received data is discarded before a connection is closed, if the
    /// client may still send the body of a request.
    pub(super) linger: Duration,
    /// Maximum time without new data while received data is discarded.
    pub(super) silence: Duration,
}

/// Stream that counts received bytes, and fails with `TimedOut` if the client reads a response too
/// slowly.
pub(super) struct Guarded<S> {
    stream: S,
    received: Received,
    responses: Responses,
    timeouts: Timeouts,
    /// Number of the response to which the fields `waited` and `sent` refer.
    response: u64,
    sent: u64,
    /// Total time for which writes of this response have waited so far.
    waited: Duration,
    /// Start time and timer of the current wait; `None` if no write is waiting.
    pending: Option<(Instant, Pin<Box<Sleep>>)>,
    /// Deadline for discarding received data, and the timer of the time without new data; `None`
    /// until the stream of sent data has ended.
    closing: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl<S> Guarded<S> {
    pub(super) fn new(
        stream: S,
        received: Received,
        responses: Responses,
        timeouts: Timeouts,
    ) -> Self {
        let (response, sent, waited, pending, closing) = (0, 0, Duration::ZERO, None, None);
        Self { stream, received, responses, timeouts, response, sent, waited, pending, closing }
    }

    fn check_progress(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let response = self.responses.0.number.load(Ordering::Relaxed);
        if response != self.response {
            (self.response, self.sent, self.waited) = (response, 0, Duration::ZERO);
        }
        if let Poll::Ready(written) = written {
            if let Some((since, _)) = self.pending.take() {
                self.waited += since.elapsed();
            }
            self.sent += written.as_ref().map_or(0, |bytes| *bytes as u64);
            return Poll::Ready(written);
        }
        let (_, timer) = self.pending.get_or_insert_with(|| {
            let Timeouts { stall, per_mebibyte, .. } = self.timeouts;
            let mebibytes = u32::try_from(self.sent.div_ceil(1024 * 1024)).unwrap_or(u32::MAX);
            let total = stall.saturating_add(per_mebibyte.saturating_mul(mebibytes));
            (Instant::now(), Box::pin(sleep(stall.min(total.saturating_sub(self.waited)))))
        });
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(
            ErrorKind::TimedOut,
            "write timeout: the client does not read",
        )))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        self.received.add(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.check_progress(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.check_progress(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Ends the stream of sent data. If the client may still send the body of a request, then also
    /// discards received data until the client closes the connection, for a limited time. A
    /// connection that is closed with unread data is reset, and a reset can destroy a response that
    /// the client has not read yet.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.closing.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
            if !this.responses.0.is_premature.load(Ordering::Relaxed) {
                return Poll::Ready(Ok(()));
            }
        }
        let Timeouts { linger, silence, .. } = this.timeouts;
        let (end, timer) =
            this.closing.get_or_insert_with(|| (Instant::now() + linger, Box::pin(sleep(silence))));
        let mut buffer = [MaybeUninit::uninit(); 16_384];
        while timer.as_mut().poll(cx).is_pending() {
            let mut read = ReadBuf::uninit(&mut buffer);
            let result = ready!(Pin::new(&mut this.stream).poll_read(cx, &mut read));
            if result.is_err() || read.filled().is_empty() {
                break;
            }
            timer.as_mut().reset((Instant::now() + silence).min(*end));
        }
        Poll::Ready(Ok(()))
    }
}
