//! A single connection, from the TLS handshake to its end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{ALLOW, CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::AcceptOptions;
use super::guarded::{Guarded, Received, Responses, Timeouts};
use super::head_timer::HeadTimer;
use super::request_body::RequestBody;

/// Connection to serve, with its limits and its request handler.
pub(super) struct Connection<A> {
    peer: SocketAddr,
    tls: Option<TlsAcceptor>,
    options: Arc<AcceptOptions>,
    answer: A,
    received: Received,
    responses: Responses,
}

/// Flag that is set when the service begins to stop. From then on, every response closes its
/// connection, and `/health` responds with 503. Clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct Stopping(Arc<AtomicBool>);

impl Stopping {
    /// Sets the flag.
    pub(crate) fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True if the flag is set.
    pub(crate) fn has_begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl<A, F, B> Connection<A>
where
    A: Fn(Request<RequestBody>, SocketAddr) -> F,
    F: Future<Output = Response<B>>,
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + 'static,
{
    pub(super) fn new(
        peer: SocketAddr,
        (tls, options): (Option<TlsAcceptor>, Arc<AcceptOptions>),
        answer: A,
    ) -> Self {
        let (received, responses) = Default::default();
        Self { peer, tls, options, answer, received, responses }
    }

    /// Serves the requests on a connection until the client closes it or `watcher` signals a
    /// shutdown.
    pub(super) async fn serve(self, socket: TcpStream, watcher: Watcher) {
        // A response is written in few large pieces, so delaying small packets has no benefit.
        let _ = socket.set_nodelay(true);
        // Wrap the socket below TLS, so that the limits also apply to the handshake and the
        // records.
        let (received, responses) = (self.received.clone(), self.responses.clone());
        let timeouts = Timeouts {
            stall: self.options.write_stall,
            per_mebibyte: self.options.write_per_mebibyte,
            silence: self.options.discard,
            linger: self.options.write_stall,
        };
        let socket = Guarded::new(socket, received, responses, timeouts);
        let Some(tls) = &self.tls else { return self.serve_http(socket, watcher).await };
        match timeout(self.options.handshake, tls.accept(socket)).await {
            Ok(Ok(stream)) => self.serve_http(stream, watcher).await,
            Ok(Err(error)) => tracing::debug!(%error, peer = %self.peer, "TLS handshake failed"),
            Err(_) => tracing::debug!(peer = %self.peer, "TLS handshake timed out"),
        }
    }

    async fn serve_http(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        watcher: Watcher,
    ) {
        let service = service_fn(|request| self.respond(request));
        let connection = self.http().serve_connection(TokioIo::new(stream), service);
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(%error, peer = %self.peer, "connection ended");
        }
    }

    fn http(&self) -> http1::Builder {
        let options = &self.options;
        let timer = HeadTimer::new(self.received.clone(), options.idle, options.head);
        let mut http = http1::Builder::new();
        http.timer(timer)
            .header_read_timeout(options.head)
            .max_headers(options.headers)
            .max_header_size(options.head_bytes)
            .max_buf_size(options.head_bytes);
        http
    }

    /// Handles a request and returns the response. Requests for a protocol upgrade need no special
    /// handling, because hyper upgrades a connection only after a response with status 101.
    async fn respond(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Either<B, Full<Bytes>>>, Infallible> {
        // This server is no proxy, and a CONNECT request has no path to route by.
        if request.method() == Method::CONNECT {
            self.responses.begin(false);
            return Ok(method_not_allowed().map(Either::Right));
        }
        let (request, rest) = RequestBody::wrap(request);
        let mut response = (self.answer)(request, self.peer).await;
        let is_complete = rest.discard(self.options.discard).await;
        self.responses.begin(is_complete);
        if !is_complete || self.options.stopping.has_begun() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response.map(Either::Left))
    }
}

fn method_not_allowed() -> Response<Full<Bytes>> {
    let body = r#"{"error":"method not allowed","code":"invalid_request"}"#;
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    let headers = response.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(""));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
