//! Fuzz target of whole HTTP requests.

use std::cell::RefCell;
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;

use chrono::DateTime;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use secrets_core::Service;
use secrets_core::crypto::Key;
use secrets_core::jwt::{DevKey, FixedVerifier};
use secrets_core::model::{Clock, ManualClock};
use secrets_core::runtime::{Supervisor, WatchOptions, WatchRegistry};
use secrets_core::store::MemoryStore;
use secrets_core::testing::fuzz::{KNOWN_WORDS, assert_no_echo, populate};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
use tokio::runtime::Runtime;
use zeroize::Zeroizing;

use crate::routes;
use crate::serve::accept::{AcceptOptions, Stopping};
use crate::serve::api::Api;
use crate::serve::browser_sign_in::BrowserSignIn;
use crate::serve::client_address::Networks;
use crate::serve::gate::{Authenticator, Rates};
use crate::serve::host::Host;
use crate::serve::links::Links;
use crate::serve::memory::MemoryBudget;
use crate::serve::metrics::RequestMetrics;
use crate::serve::reply::Envelope;
use crate::serve::router::Router;

/// Word in the input that is replaced by the credential of a user.
const PLACEHOLDER: &[u8] = b"TOKEN";

/// Size of the buffers of a connection in bytes. The input must be smaller.
const BUFFER: usize = 1 << 20;

/// Maximum number of times that other tasks run before the connection is closed. A request that
/// waits for more input, and a stream of events, would not end.
const TURNS: usize = 100;

/// Number of inputs after which the service starts again with an empty store.
const INPUTS: u32 = 200;

/// Names of headers and parameters, and media types, which errors may repeat.
const HTTP_WORDS: &str = "X-Forwarded-For Content-Type Content-Encoding Authorization: Bearer \
    application/json application/x-www-form-urlencoded If-Match If-None-Match Idempotency-Key \
    POST /api/v1/auth/sync https:// project is a required query parameter";

thread_local! {
    static SERVER: RefCell<Option<Server>> = const { RefCell::new(None) };
}

/// Server in this thread.
struct Server {
    runtime: Runtime,
    host: Host,
    /// Credential of a user.
    token: String,
    /// Number of inputs until the service starts again.
    left: u32,
}

/// Sends the input to a server, and checks that no request causes an internal error and that no
/// error repeats the request. The word `TOKEN` in the input is replaced by the credential of a
/// user.
pub fn request(bytes: &[u8]) {
    SERVER.with_borrow_mut(|slot| {
        let server = match slot.take().filter(|server| server.left > 0) {
            Some(server) => Server { left: server.left - 1, ..server },
            None => Server::start(),
        };
        let input = replaced(bytes, server.token.as_bytes());
        if input.len() < BUFFER {
            check(&input, &server.responses(&input));
        }
        *slot = Some(server);
    });
}

/// Replaces each word `TOKEN` in the input with the credential.
fn replaced(mut bytes: &[u8], token: &[u8]) -> Vec<u8> {
    let mut input = Vec::with_capacity(bytes.len() + token.len());
    while let Some(place) = place(bytes, PLACEHOLDER) {
        input.extend_from_slice(&bytes[..place]);
        input.extend_from_slice(token);
        bytes = &bytes[place + PLACEHOLDER.len()..];
    }
    input.extend_from_slice(bytes);
    input
}

fn place(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

impl Server {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let now = DateTime::from_timestamp(1_767_225_600, 0).unwrap();
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(now));
        let signer = DevKey::from_seed(Zeroizing::new([1; 32])).unwrap();
        let token = signer.sign("ada@example.com", now).unwrap();
        let verifier =
            FixedVerifier::new(signer.keys(), DevKey::expectations(), Arc::clone(&clock));
        let host = runtime.block_on(async {
            let service = Service::builder(Arc::new(MemoryStore::new()), &Key::generate())
                .clock(Arc::clone(&clock))
                .identity(Arc::new(verifier));
            let service = Arc::new(service.build().await.unwrap());
            populate(&service, DevKey::identity("ada@example.com")).await.unwrap();
            host(&service, clock)
        });
        Self { runtime, host, token, left: INPUTS }
    }

    /// Sends a request to the server and returns all that the server sends.
    fn responses(&self, input: &[u8]) -> Vec<u8> {
        self.runtime.block_on(async {
            let (mut client, server) = duplex(BUFFER);
            client.write_all(input).await.unwrap();
            let answer = service_fn(|request: Request<Incoming>| {
                let answer = self.host.answer(request, Ipv4Addr::LOCALHOST.into());
                async move { Ok::<_, Infallible>(answer.await) }
            });
            let options = AcceptOptions::default();
            let mut http = http1::Builder::new();
            http.header_read_timeout(None)
                .max_headers(options.headers)
                .max_header_size(options.head_bytes)
                .max_buf_size(options.head_bytes);
            let connection = http.serve_connection(TokioIo::new(server), answer);
            tokio::select! {
                biased;
                // An invalid request ends the connection with an error.
                _ = connection => {}
                () = turns() => {}
            }
            let mut output = Vec::new();
            client.read_to_end(&mut output).await.unwrap();
            output
        })
    }
}

/// Lets the other tasks of the runtime run 100 times.
async fn turns() {
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
}

/// Creates the handler of requests, with all routes and without rate limits.
fn host(service: &Arc<Service>, clock: Arc<dyn Clock>) -> Host {
    let supervisor = Supervisor::new(Vec::new());
    let watches = WatchRegistry::new(Arc::clone(service.engine()), WatchOptions::default());
    let api = Api {
        service: Arc::clone(service),
        clock: Arc::clone(&clock),
        envelope: Envelope::Named,
        has_dashboard: true,
        memory: Arc::new(MemoryBudget::new(256 << 20)),
        watches: Arc::new(watches),
        sign_in: Arc::new(BrowserSignIn::Off),
        stopping: Stopping::default(),
    };
    let router = Router::new(routes::table(&api, &supervisor)).unwrap();
    let rates = Rates { per_address: 0, per_principal: 0 };
    let requests = RequestMetrics::default();
    let gate = Authenticator::new(Arc::clone(service), Arc::clone(&clock), rates, requests);
    let links = Links { configured: None, is_tls: false };
    Host::new(router, gate, clock, Networks::loopback(), links)
}

/// Checks the status codes of all responses, and the texts of errors.
fn check(input: &[u8], mut output: &[u8]) {
    while let Some(end) = place(output, b"\r\n\r\n") {
        let head = std::str::from_utf8(&output[..end]).unwrap();
        let status = head.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)).unwrap();
        let status: u16 = status.parse().unwrap();
        // Reported if the service is busy, and by the health check.
        assert!(status < 500 || status == 503, "{head}");
        output = &output[end + 4..];
        let Some(length) = length(head) else { return };
        // The response to `HEAD` has no body.
        let has_body = !output.is_empty() && !output.starts_with(b"HTTP/1.");
        let Some((body, rest)) = output.split_at_checked(if has_body { length } else { 0 }) else {
            return;
        };
        if status >= 400 {
            check_error(input, body);
        }
        output = rest;
    }
    assert!(output.is_empty(), "bytes after the last response");
}

fn length(head: &str) -> Option<usize> {
    let mut headers = head.lines().filter_map(|line| line.split_once(": "));
    let (_, length) = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-length"))?;
    length.parse().ok()
}

/// Checks that the texts of an error response repeat no part of the request. The key of a secret
/// with an invalid value is in a field of its own, which is not checked.
fn check_error(input: &[u8], body: &[u8]) {
    let Ok(error) = serde_json::from_slice::<Value>(body) else { return };
    let fields = error["details"]["fields"].as_array().into_iter().flatten();
    let texts = fields.flat_map(|field| [&field["field"], &field["message"]]);
    for text in texts.chain([&error["error"]]).filter_map(Value::as_str) {
        assert_no_echo(input, text, &format!("{KNOWN_WORDS} {HTTP_WORDS}"));
    }
}
