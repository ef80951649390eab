//! Accepts connections and answers the requests on them, within bounds on time, size and number.
//!
//! HTTP/1.1 only. Every wait for a client has an end: for the TLS handshake, for the head of a
//! request, for the next request, for the client to read its answer. Waiting for the *body* of a
//! request is the business of whoever reads it.

mod connection;
mod guarded;
mod head_timer;
mod seats;
#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::{Request, Response};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use self::connection::Connection;
use self::seats::Seats;
use crate::client_address::Networks;

/// How long to wait after the machine could not give us another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// The bounds.
#[derive(Debug, Clone)]
pub struct AcceptOptions {
    /// For the TLS handshake.
    pub handshake: Duration,
    /// For the head of a request, from its first byte; for the first one, from the beginning.
    pub head: Duration,
    /// For the next request on a connection.
    pub idle: Duration,
    /// For a client to take anything of its answer.
    pub write_stall: Duration,
    /// For the requests under way when the service stops.
    pub drain: Duration,
    /// Header lines of a request; more of them are answered 431.
    pub headers: usize,
    /// Bytes of a request's head, at least 8,192; more of them are answered 431.
    pub head_bytes: usize,
    /// Connections in all; further ones wait to be accepted.
    pub connections: usize,
    /// Connections from one address (IPv6: one /64); further ones are closed.
    pub connections_per_address: usize,
    /// Whose connections are only counted in all.
    pub uncounted: Networks,
}

impl Default for AcceptOptions {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(5),
            head: Duration::from_secs(5),
            idle: Duration::from_mins(1),
            write_stall: Duration::from_secs(30),
            drain: Duration::from_secs(10),
            headers: 64,
            head_bytes: 32 * 1024,
            connections: 8_192,
            connections_per_address: 1_024,
            uncounted: Networks::loopback(),
        }
    }
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Connections that were still busy at the deadline and were cut.
    pub cut: usize,
}

/// Answers requests until `stop`, then closes the listener and lets those under way finish.
pub async fn run<A, F, B>(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    options: AcceptOptions,
    answer: A,
    stop: impl Future<Output = ()>,
) -> Drained
where
    A: Fn(Request<Incoming>, SocketAddr) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    let options = Arc::new(options);
    let room = Arc::new(Semaphore::new(options.connections));
    let seats = Arc::new(Seats::new(options.connections_per_address));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        let (socket, peer, permit) = tokio::select! {
            biased;
            () = &mut stop => break,
            next = next(&listener, &room) => next,
        };
        // Those that ended are forgotten here, so the set never outgrows what it holds by much.
        while connections.try_join_next().is_some() {}
        let counted = !options.uncounted.contain(peer.ip());
        let Some(seat) = seats.take(peer.ip(), counted) else { continue };
        let watcher = graceful.watcher();
        let connection = Connection::new(peer, tls.clone(), Arc::clone(&options), answer.clone());
        connections.spawn(async move {
            connection.serve(socket, watcher).await;
            drop((seat, permit));
        });
    }
    drop(listener);
    drain(graceful, connections, options.drain).await
}

/// The next connection, as soon as there is room for it. Errors end a connection, never the loop.
async fn next(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, Option<OwnedSemaphorePermit>) {
    let permit = Arc::clone(room).acquire_owned().await.ok(); // it is never closed
    let mut told = false;
    loop {
        match listener.accept().await {
            Ok((socket, peer)) => return (socket, peer, permit),
            Err(error) if concerns_one_connection(&error) => {}
            Err(error) => {
                if !told {
                    tracing::warn!(%error, "cannot accept connections, trying on");
                    told = true;
                }
                sleep(PAUSE).await;
            }
        }
    }
}

/// Whether the client went away before it was accepted. Everything else, running out of file
/// descriptors above all, would come again at once.
fn concerns_one_connection(error: &io::Error) -> bool {
    use ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

async fn drain(
    graceful: GracefulShutdown,
    mut connections: JoinSet<()>,
    deadline: Duration,
) -> Drained {
    if timeout(deadline, graceful.shutdown()).await.is_ok() {
        return Drained { cut: 0 };
    }
    while connections.try_join_next().is_some() {}
    let cut = connections.len();
    connections.shutdown().await;
    Drained { cut }
}
