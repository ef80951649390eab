//! Webhook receiver for tests: an HTTP server in the process of the test, with or without TLS.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use secrets_core::egress::{Dialer, EgressPolicy, Resolver, SystemResolver};
use secrets_http::adapters::webhooks::HyperSender;
use secrets_http::serve::tls;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::{App, Build, targets};

/// Running webhook receiver, which records all requests and sends the response that the test has
/// set.
pub struct Receiver {
    /// Address of the receiver.
    pub address: SocketAddr,
    scheme: &'static str,
    seen: Arc<Seen>,
    running: JoinHandle<()>,
}

/// Recorded requests, counts of connections and of concurrent requests, and the response to send.
#[derive(Default)]
struct Seen {
    answer: Mutex<Said>,
    taken: Mutex<Vec<Taken>>,
    connections: AtomicUsize,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
}

/// Response that the receiver sends to each request, and the pause before it.
#[derive(Debug, Clone)]
struct Said {
    status: u16,
    headers: Vec<(&'static str, String)>,
    pause: Duration,
}

impl Default for Said {
    fn default() -> Self {
        Self { status: 200, headers: Vec::new(), pause: Duration::ZERO }
    }
}

/// Received HTTP request.
#[derive(Debug, Clone)]
pub struct Taken {
    /// Method, path and query of the request.
    pub line: String,
    /// Headers of the request.
    pub headers: HeaderMap,
    /// Body of the request, if it is UTF-8 text; otherwise empty.
    pub body: String,
    /// Bytes of the body.
    pub bytes: Bytes,
}

impl Build {
    /// Enables webhooks of the server, but only to the addresses in this list, separated by commas.
    #[must_use]
    pub fn webhooks(self, allow: &str) -> Self {
        self.webhooks_by(allow, SystemResolver)
    }

    /// Enables webhooks of the server, but only to the addresses in this list, separated by commas.
    /// Host names are resolved with this resolver.
    #[must_use]
    pub fn webhooks_by(mut self, allow: &str, resolver: impl Resolver + 'static) -> Self {
        self.options.egress = EgressPolicy::parse(allow).unwrap();
        let gate = Dialer::with_resolver(self.options.egress.clone(), Arc::new(resolver));
        self.webhooks = Some(Arc::new(HyperSender::new(gate).unwrap()));
        self
    }
}

impl App {
    /// Stops this server, and starts another with the same records that may send webhooks only to
    /// the addresses in this list, separated by commas.
    pub async fn stricter(mut self, allow: &str) -> Self {
        let Build { options, webhooks, .. } = Build::on(self.kind).webhooks(allow);
        let _ = self.stop().await;
        self.options = options;
        self.webhooks = webhooks;
        self.restarted().await
    }
}

impl Receiver {
    /// Starts a receiver that responds to every request with status 200.
    pub async fn start() -> Self {
        Self::start_on(Ipv4Addr::LOCALHOST.into(), 0).await
    }

    /// Starts a receiver on this address and port. It responds to every request with status 200.
    pub async fn start_on(address: IpAddr, port: u16) -> Self {
        let listener = TcpListener::bind((address, port)).await.unwrap();
        Self::start_with(listener, None)
    }

    /// Starts a receiver with TLS that responds to every request with status 200. Its certificate is
    /// that of the test servers, signed by the authority in `ca.pem` of [`targets::servers`].
    pub async fn start_with_tls() -> Self {
        let folder = targets::servers();
        let tls = tls::acceptor(&folder.join("certificate.pem"), &folder.join("key.pem")).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        Self::start_with(listener, Some(tls))
    }

    fn start_with(listener: TcpListener, tls: Option<TlsAcceptor>) -> Self {
        let address = listener.local_addr().unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let seen = Arc::new(Seen::default());
        let running = tokio::spawn(accept(listener, tls, Arc::clone(&seen)));
        Self { address, scheme, seen, running }
    }

    /// Returns the URL of this path on the receiver.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    /// Sets the status and the headers of the response to all later requests.
    pub fn answer(&self, status: u16, headers: &[(&'static str, &str)]) {
        let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        *self.seen.answer.lock().unwrap() = Said { status, headers, pause: Duration::ZERO };
    }

    /// Sets a pause before each later response.
    pub fn pause(&self, pause: Duration) {
        self.seen.answer.lock().unwrap().pause = pause;
    }

    /// Returns the requests that the receiver has received so far.
    #[must_use]
    pub fn taken(&self) -> Vec<Taken> {
        self.seen.taken.lock().unwrap().clone()
    }

    /// Returns the number of connections that the receiver has accepted so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// Returns the maximum number of requests so far that waited for a response at the same time.
    #[must_use]
    pub fn most_at_once(&self) -> usize {
        self.seen.most_at_once.load(Ordering::SeqCst)
    }

    /// Waits until the receiver has received this number of requests, for at most 20 seconds.
    /// Returns the requests.
    pub async fn wait_for(&self, number: usize) -> Vec<Taken> {
        for _ in 0..400 {
            let taken = self.taken();
            if taken.len() >= number {
                return taken;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{} of {number} deliveries arrived", self.taken().len());
    }
}

impl Taken {
    /// Returns the value of the request header with this name. Panics if there is none.
    #[track_caller]
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }

    /// Parses the body of the request as JSON.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, seen: Arc<Seen>) {
    while let Ok((stream, _)) = listener.accept().await {
        seen.connections.fetch_add(1, Ordering::SeqCst);
        let (tls, seen) = (tls.clone(), Arc::clone(&seen));
        tokio::spawn(async move {
            let Some(tls) = tls else { return serve(stream, seen).await };
            // The handshake fails if the client does not trust the certificate.
            if let Ok(stream) = tls.accept(stream).await {
                serve(stream, seen).await;
            }
        });
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Send + Unpin, seen: Arc<Seen>) {
    let answer = |request| {
        let seen = Arc::clone(&seen);
        async move { Ok::<_, Infallible>(take(&seen, request).await) }
    };
    let connection =
        http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
    let _ = connection.await;
}

async fn take(seen: &Seen, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let at_once = seen.at_once.fetch_add(1, Ordering::SeqCst) + 1;
    seen.most_at_once.fetch_max(at_once, Ordering::SeqCst);
    let (parts, body) = request.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let line = format!("{} {}", parts.method, parts.uri);
    let body = String::from_utf8(bytes.to_vec()).unwrap_or_default();
    seen.taken.lock().unwrap().push(Taken { line, headers: parts.headers, body, bytes });
    let said = seen.answer.lock().unwrap().clone();
    tokio::time::sleep(said.pause).await;
    seen.at_once.fetch_sub(1, Ordering::SeqCst);
    let answer = Response::builder().status(said.status);
    let named = |answer: http::response::Builder, (name, value)| answer.header(name, value);
    let answer = said.headers.into_iter().fold(answer, named);
    answer.body(Full::new(Bytes::from_static(b"kvc_an answer that nobody reads"))).unwrap()
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.running.abort();
    }
}
