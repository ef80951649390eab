//! Accepts connections and serves the requests on them, with limits on time, size and number.
//!
//! HTTP/1.1 only. Every wait for a client has a timeout: for the TLS handshake, for the head of a
//! request, for the next request, and for the client to read its response. The timeout for the
//! *body* of a request is not set here, but by the code that reads the body. The rest of a body
//! that is not read is received and discarded, for a short time.

mod connection;
mod guarded;
mod head_timer;
mod request_body;
#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Body;
use hyper::{Request, Response};
use hyper_util::server::graceful::GracefulShutdown;
use secrets_core::engine::RefusalCounters;
use secrets_core::limits::{Permits, Place, network_of};
use secrets_core::model::Bound;
use secrets_core::runtime::WatchOptions;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use self::connection::Connection;
pub use self::connection::Stopping;
pub use self::request_body::RequestBody;
use crate::serve::client_address::Networks;

/// Delay before `accept` is called again after it has failed, for example for lack of file
/// descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Limits and timeouts of connections.
#[derive(Debug, Clone)]
pub struct AcceptOptions {
    /// Timeout of the TLS handshake.
    pub handshake: Duration,
    /// Timeout for receiving the head of a request, from its first byte. For the first request of a
    /// connection, from the start of the connection.
    pub head: Duration,
    /// Idle timeout between two requests on a connection.
    pub idle: Duration,
    /// Maximum time without progress while a response is sent.
    pub write_stall: Duration,
    /// Maximum total time that a response may wait for the client to read, for each mebibyte sent.
    /// `write_stall` is added to it.
    pub write_per_mebibyte: Duration,
    /// Maximum time for receiving the rest of a request body that the handler has not read, before
    /// the response is sent. If the rest is longer, data is discarded after the response until none
    /// arrives for this time, but not for longer than `write_stall`.
    pub discard: Duration,
    /// Time between the call to stop and the refusal of new connections. `/health` responds with
    /// 503 meanwhile, so that load balancers send requests to other nodes.
    pub shutdown_delay: Duration,
    /// Time for which idle connections stay open while the service stops. A request that arrives on
    /// such a connection still gets a response, with the header `Connection: close`, instead of a
    /// connection reset.
    pub linger: Duration,
    /// Grace period for running requests when the service stops, after `linger`.
    pub drain: Duration,
    /// Maximum number of header lines of a request. The response to a request with more lines is
    /// 431.
    pub headers: usize,
    /// Maximum size of a request's head in bytes, at least 8,192. The response to a larger head is
    /// 431.
    pub head_bytes: usize,
    /// Maximum number of connections in total. Further connections wait to be accepted.
    pub connections: usize,
    /// Maximum number of connections per IP address (IPv6: per /64 network). Further connections
    /// are closed.
    pub connections_per_address: usize,
    /// Maximum number of open event streams, of which one team may have a quarter, and intervals of
    /// polls and checks.
    pub watches: WatchOptions,
    /// Networks whose addresses are exempt from `connections_per_address`.
    pub uncounted: Networks,
    /// Counters of refusals, which count connections that exceed `connections_per_address`.
    pub refusals: RefusalCounters,
    /// Flag that is set when the service begins to stop.
    pub stopping: Stopping,
}

impl Default for AcceptOptions {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(5),
            head: Duration::from_secs(5),
            idle: Duration::from_mins(1),
            write_stall: Duration::from_secs(30),
            write_per_mebibyte: Duration::from_secs(1),
            discard: Duration::from_secs(1),
            shutdown_delay: Duration::ZERO,
            linger: Duration::from_millis(200),
            drain: Duration::from_secs(10),
            headers: 64,
            head_bytes: 32 * 1024,
            connections: MAX_CONNECTIONS,
            connections_per_address: MAX_CONNECTIONS / 8,
            watches: WatchOptions::default(),
            uncounted: Networks::loopback(),
            refusals: RefusalCounters::default(),
            stopping: Stopping::default(),
        }
    }
}

/// Maximum number of connections, even if the process may open more files.
const MAX_CONNECTIONS: usize = 8_192;

/// Number of file descriptors that are reserved for the database, for outgoing connections and for
/// files.
const RESERVED_FILES: u64 = 256;

impl AcceptOptions {
    /// Limits the number of connections so that file descriptors remain for other uses. One address
    /// may have at most an eighth of the connections. `files` is the limit of the process on open
    /// files; `None` if there is no limit.
    #[must_use]
    pub fn within_files(self, files: Option<u64>) -> Self {
        let room =
            files.map_or(u64::MAX, |files| files.saturating_sub(RESERVED_FILES).max(files / 4));
        let connections = usize::try_from(room).unwrap_or(MAX_CONNECTIONS).min(MAX_CONNECTIONS);
        Self { connections, connections_per_address: (connections / 8).max(1), ..self }
    }

    /// Returns the network whose number of connections is limited, for a connection from this
    /// address. Empty if the address is exempt.
    fn places(&self, address: IpAddr) -> Vec<PeerNetwork> {
        if self.uncounted.contain(address) {
            return Vec::new();
        }
        vec![PeerNetwork { address: network_of(address), limit: self.connections_per_address }]
    }
}

/// IPv4 address or IPv6 /64 network whose connections are limited together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct PeerNetwork {
    address: IpAddr,
    limit: usize,
}

impl Place for PeerNetwork {
    fn limit(&self) -> usize {
        self.limit
    }
}

/// Result of draining the connections at shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Number of connections that were still busy at the deadline, and were closed.
    pub cut: usize,
}

/// Accepts connections and serves their requests with `answer` until `stop` completes. Then also
/// accepts the connections that clients have already opened, closes the listener, and waits for
/// running requests.
pub async fn run<A, F, B>(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    options: AcceptOptions,
    answer: A,
    stop: impl Future<Output = ()>,
) -> Drained
where
    A: Fn(Request<RequestBody>, SocketAddr) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    let options = Arc::new(options);
    let permits = Arc::new(Semaphore::new(options.connections));
    let peers = Permits::default();
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let serve = |connections: &mut JoinSet<()>, (socket, peer, permit): Accepted| {
        let address = peer.ip();
        let Ok(peer_permit) = peers.acquire(options.places(address)) else {
            tracing::debug!(%address, "refused a connection: too many from this address");
            options.refusals.count(Bound::Connections);
            return;
        };
        let watcher = graceful.watcher();
        let given = (tls.clone(), Arc::clone(&options));
        let connection = Connection::new(peer, given, answer.clone());
        connections.spawn(async move {
            connection.serve(socket, watcher).await;
            drop((peer_permit, permit));
        });
    };
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut stop => break,
            next = accept_next(&listener, &permits) => next,
        };
        // Remove finished tasks, so that the set does not grow without limit.
        while connections.try_join_next().is_some() {}
        serve(&mut connections, accepted);
    }
    options.stopping.begin();
    for accepted in drain_backlog(listener, &permits) {
        serve(&mut connections, accepted);
    }
    drain(graceful, connections, &options).await
}

/// New connection: its socket, the address of its peer, and the permit that counts it toward the
/// maximum number of connections.
type Accepted = (TcpStream, SocketAddr, Option<OwnedSemaphorePermit>);

/// Accepts the connections that the kernel has already established, and closes the listener.
/// Closing the listener without accepting them would reset them.
fn drain_backlog(listener: TcpListener, permits: &Arc<Semaphore>) -> Vec<Accepted> {
    let mut accepted = Vec::new();
    let Ok(listener) = listener.into_std() else { return accepted };
    while let Ok(permit) = Arc::clone(permits).try_acquire_owned() {
        let Ok((socket, peer)) = listener.accept() else { break };
        let socket = socket.set_nonblocking(true).and_then(|()| TcpStream::from_std(socket));
        accepted.extend(socket.ok().map(|socket| (socket, peer, Some(permit))));
    }
    accepted
}

/// Accepts the next connection, after waiting for a free permit. Errors never end the accept loop.
async fn accept_next(listener: &TcpListener, permits: &Arc<Semaphore>) -> Accepted {
    // Acquiring cannot fail, because the semaphore is never closed.
    let permit = Arc::clone(permits).acquire_owned().await.ok();
    let mut warned = false;
    loop {
        match listener.accept().await {
            Ok((socket, peer)) => return (socket, peer, permit),
            Err(error) if is_connection_error(&error) => {}
            Err(error) => {
                if !warned {
                    tracing::warn!(%error, "cannot accept connections; retrying");
                    warned = true;
                }
                sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
}

/// True if the error concerns only one connection, because its client has disconnected. Other
/// errors, such as too many open files, would occur again immediately.
fn is_connection_error(error: &io::Error) -> bool {
    use ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

async fn drain(
    graceful: GracefulShutdown,
    mut connections: JoinSet<()>,
    options: &AcceptOptions,
) -> Drained {
    let ended = async { while connections.join_next().await.is_some() {} };
    if timeout(options.linger, ended).await.is_ok() {
        return Drained { cut: 0 };
    }
    if timeout(options.drain, graceful.shutdown()).await.is_ok() {
        return Drained { cut: 0 };
    }
    while connections.try_join_next().is_some() {}
    let cut = connections.len();
    connections.shutdown().await;
    Drained { cut }
}
