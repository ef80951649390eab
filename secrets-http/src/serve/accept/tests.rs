//! Tests over real sockets, with short timeouts.

use std::io;
use std::time::Instant;

use http_body_util::{BodyExt as _, Full};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::*;

mod bodies;
mod bounds;
mod ending;
mod over_tls;
mod waiting;

/// Returns options with timeouts that are short enough for tests, and far enough apart to be
/// distinguished.
fn short() -> AcceptOptions {
    AcceptOptions {
        handshake: Duration::from_millis(300),
        head: Duration::from_millis(300),
        idle: Duration::from_millis(1500),
        write_stall: Duration::from_millis(500),
        write_per_mebibyte: Duration::from_millis(100),
        discard: Duration::from_millis(300),
        linger: Duration::from_millis(50),
        drain: Duration::from_millis(500),
        ..AcceptOptions::default()
    }
}

/// Test server. It responds to every path; some paths have special responses.
struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<Drained>,
}

impl Server {
    async fn start(options: AcceptOptions) -> Self {
        Self::start_with(options, None).await
    }

    async fn start_with(options: AcceptOptions, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async move {
            let _ = stopped.await;
        };
        let ended = tokio::spawn(run(listener, tls, options, answer, stopped));
        Self { address, stop, ended }
    }

    async fn connect(&self) -> Client {
        Client(TcpStream::connect(self.address).await.unwrap())
    }

    async fn stop(self) -> Drained {
        self.stop.send(()).unwrap();
        self.ended.await.unwrap()
    }
}

async fn answer(request: Request<RequestBody>, peer: SocketAddr) -> Response<Full<Bytes>> {
    match request.uri().path() {
        "/slow" => sleep(Duration::from_secs(2)).await,
        "/endless" => sleep(Duration::from_mins(1)).await,
        "/large" => return Response::new(Full::from(vec![b'x'; LARGE])),
        "/read" => drop(request.into_body().collect().await),
        "/peer" => return Response::new(Full::from(peer.ip().to_string())),
        _ => {}
    }
    Response::new(Full::from("hello"))
}

/// Size of a large response, in bytes. It is larger than all the buffers between two sockets.
const LARGE: usize = 32 * 1024 * 1024;

struct Client(TcpStream);

impl Client {
    async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// Sends a request and returns the response. The connection stays open.
    async fn get(&mut self, path: &str) -> String {
        self.send(&format!("GET {path} HTTP/1.1\r\nhost: test\r\n\r\n")).await;
        self.answer().await
    }

    /// Reads from the connection until a response with the body `hello` is complete or the
    /// connection ends. Returns the data.
    async fn answer(&mut self) -> String {
        let mut answer = Vec::new();
        let mut byte = [0; 1];
        while !answer.ends_with(b"\r\n\r\nhello") && self.0.read(&mut byte).await.unwrap_or(0) > 0 {
            answer.push(byte[0]);
        }
        String::from_utf8(answer).unwrap()
    }

    /// Reads until the server closes the connection. Returns the data and the elapsed time.
    async fn rest(&mut self) -> (String, Duration) {
        let start = Instant::now();
        let mut rest = Vec::new();
        let ended = timeout(Duration::from_secs(20), self.0.read_to_end(&mut rest)).await;
        // A connection closed with unread data ends with a reset.
        let is_reset = |error: &io::Error| error.kind() == ErrorKind::ConnectionReset;
        let ended = ended.expect("the server keeps the connection open");
        assert!(ended.is_ok() || ended.is_err_and(|error| is_reset(&error)));
        (String::from_utf8_lossy(&rest).into_owned(), start.elapsed())
    }
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

#[tokio::test]
async fn requests_on_one_connection_are_answered_one_after_the_other() {
    let server = Server::start(short()).await;
    let mut client = server.connect().await;

    let first = client.get("/").await;
    let second = client.get("/").await;

    assert_eq!((status(&first), status(&second)), ("200", "200"));
}

#[tokio::test]
async fn the_handler_gets_the_address_of_the_client() {
    let server = Server::start(short()).await;
    let mut client = server.connect().await;

    client.send("GET /peer HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").await;

    assert!(client.rest().await.0.ends_with("127.0.0.1"));
}

#[tokio::test]
async fn there_is_no_tunnel() {
    let server = Server::start(short()).await;
    let mut client = server.connect().await;

    client.send("CONNECT example.com:443 HTTP/1.1\r\nhost: example.com\r\n\r\nbytes").await;

    let (answer, _) = client.rest().await;
    assert_eq!(status(&answer), "405");
    assert!(answer.ends_with(r#"{"error":"method not allowed","code":"invalid_request"}"#));
}

#[tokio::test]
async fn no_connection_becomes_another_protocol() {
    let server = Server::start(short()).await;
    let mut client = server.connect().await;

    client
        .send("GET / HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n")
        .await;
    let refused = client.answer().await;
    let next = client.get("/").await;
    let mut http2 = server.connect().await;
    http2.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;

    assert_eq!((status(&refused), status(&next)), ("200", "200"));
    assert!(!http2.rest().await.0.starts_with("HTTP/1.1 2"));
}
