//! Wrapper of a connection that checks the server's messages before the client library gets them.

use std::cell::Cell;
use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

use super::frames::{Frames, Seen, Trust};

/// A connection to a server, with or without TLS.
pub(super) trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// Connection that passes only data accepted by [`Frames`] to the client library.
pub(super) struct Guard {
    inner: Box<dyn Transport>,
    frames: Frames,
    seen: Arc<Seen>,
    /// Channel binding data of the TLS connection. The client library takes the data once.
    binding: Cell<Option<ChannelBinding>>,
}

impl Guard {
    pub(super) fn new(
        inner: Box<dyn Transport>,
        binding: ChannelBinding,
        trust: Trust,
        seen: Arc<Seen>,
    ) -> Self {
        Self { inner, frames: Frames::new(trust), seen, binding: Cell::new(Some(binding)) }
    }
}

impl AsyncRead for Guard {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        let outcome = ready!(Pin::new(&mut this.inner).poll_read(cx, buf));
        if outcome.is_err() || buf.filled().len() == before {
            this.seen.end();
        }
        outcome?;
        if let Err(fault) = this.frames.read(&buf.filled()[before..], &this.seen) {
            this.seen.refuse(fault);
            buf.set_filled(before);
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Guard {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write(cx, buf);
        if let Poll::Ready(Err(_)) = outcome {
            self.seen.end();
        }
        outcome
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl TlsStream for Guard {
    fn channel_binding(&self) -> ChannelBinding {
        self.binding.take().unwrap_or_else(ChannelBinding::none)
    }
}

/// TLS connector that the client library requires. It does nothing, because any TLS handshake has
/// happened before the library starts.
pub(super) struct Agreed;

impl TlsConnect<Guard> for Agreed {
    type Stream = Guard;
    type Error = io::Error;
    type Future = Ready<io::Result<Guard>>;

    fn connect(self, stream: Guard) -> Self::Future {
        ready(Ok(stream))
    }
}
