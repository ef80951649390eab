use std::io;
use std::path::Path;

use secrets_core::egress::{EgressPolicy, Resolver};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;

use super::*;

/// Certificate for `localhost` and 127.0.0.1.
const CERTIFICATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/testdata/certificate.pem");
const KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/testdata/key.pem");

/// Test resolver that resolves every name to 127.0.0.1.
struct Here;

#[async_trait]
impl Resolver for Here {
    async fn addresses(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![[127, 0, 0, 1].into()])
    }
}

/// Creates a sender that may connect to 127.0.0.1, and trusts these certificate authorities.
fn sender(roots: RootCertStore) -> HyperSender {
    let policy = EgressPolicy::parse("127.0.0.1").unwrap();
    let tls = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    HyperSender::trusting(Dialer::with_resolver(policy, Arc::new(Here)), tls)
}

fn trusting() -> HyperSender {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(CERTIFICATE).unwrap()).unwrap();
    sender(roots)
}

fn request(url: String) -> WebhookRequest {
    let headers = vec![("webhook-id", "msg_1".to_owned())];
    WebhookRequest { url: url.try_into().unwrap(), headers, body: "{}".to_owned() }
}

/// Starts a server that responds to its first request with the bytes `answer`, followed by endless
/// data if `endless` is set. Returns its port, and a task that ends with the text of the received
/// request.
async fn server(answer: Vec<u8>, endless: bool) -> (u16, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let running = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let read = exchange(&mut stream, &answer).await;
        while endless && stream.write_all(&[b'x'; 4_096]).await.is_ok() {}
        read
    });
    (port, running)
}

async fn secure(answer: &'static [u8]) -> u16 {
    let acceptor = crate::serve::tls::acceptor(Path::new(CERTIFICATE), Path::new(KEY)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        if let Ok(mut stream) = acceptor.accept(stream).await {
            exchange(&mut stream, answer).await;
            let _ = stream.shutdown().await;
        }
    });
    port
}

async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S, answer: &[u8]) -> String {
    let mut read = Vec::new();
    while !read.ends_with(b"{}") {
        read.push(stream.read_u8().await.unwrap());
    }
    stream.write_all(answer).await.unwrap();
    String::from_utf8(read).unwrap()
}

const TAKEN: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

fn taken() -> WebhookAnswer {
    WebhookAnswer { status: 200, retry_after: None }
}

#[tokio::test]
async fn a_delivery_is_a_post_that_closes() {
    let (port, sent) = server(TAKEN.to_vec(), false).await;

    let answer = trusting().send(&request(format!("http://127.0.0.1:{port}/a?b=c"))).await;

    assert_eq!(answer, Ok(taken()));
    let sent = sent.await.unwrap().to_ascii_lowercase();
    assert!(sent.starts_with("post /a?b=c http/1.1\r\n"), "{sent}");
    assert!(sent.contains(&format!("host: 127.0.0.1:{port}\r\n")), "{sent}");
    assert!(sent.contains("webhook-id: msg_1\r\n") && sent.contains("content-length: 2\r\n"));
}

#[tokio::test]
async fn the_certificate_of_a_receiver_must_match_its_name() {
    let port = secure(TAKEN).await;
    assert_eq!(trusting().send(&request(format!("https://localhost:{port}/"))).await, Ok(taken()));

    let port = secure(TAKEN).await;
    assert_eq!(trusting().send(&request(format!("https://127.0.0.1:{port}/"))).await, Ok(taken()));

    let port = secure(TAKEN).await;
    let other = trusting().send(&request(format!("https://hooks.example.com:{port}/"))).await;
    assert_eq!(other, Err(SendError::Tls));
}

#[tokio::test]
async fn a_receiver_with_an_untrusted_certificate_is_sent_nothing() {
    let port = secure(TAKEN).await;

    let answer =
        sender(RootCertStore::empty()).send(&request(format!("https://localhost:{port}/"))).await;

    assert_eq!(answer, Err(SendError::Tls));
}

#[tokio::test]
async fn a_receiver_that_speaks_no_tls_is_sent_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let sent = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        let mut sent = Vec::new();
        let _ = stream.read_to_end(&mut sent).await;
        sent
    });

    let answer = trusting().send(&request(format!("https://localhost:{port}/"))).await;

    assert_eq!(answer, Err(SendError::Tls));
    let sent = sent.await.unwrap();
    assert!(!sent.windows(5).any(|bytes| bytes == b"msg_1"), "nothing of the message");
}

#[tokio::test]
async fn a_name_with_a_forbidden_address_is_sent_nothing() {
    let policy = EgressPolicy::parse("127.0.0.2").unwrap();
    let strict = HyperSender {
        gate: Dialer::with_resolver(policy, Arc::new(Here)),
        ..sender(RootCertStore::empty())
    };

    let answer = strict.send(&request("http://hooks.example.com:9/".to_owned())).await;

    assert_eq!(answer, Err(SendError::NotAllowed));
}

/// Checks that an unencrypted webhook is sent only to a name in the allow list, even if the
/// connection goes to a public address. The list may have changed since the webhook was created.
#[tokio::test]
async fn an_unlisted_name_is_sent_nothing_in_plaintext() {
    let (port, sent) = server(TAKEN.to_vec(), false).await;
    let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let global = IpAddr::from([8, 8, 8, 8]);
    let request = request(format!("http://hooks.example.com:{port}/"));

    let end = Instant::now() + DELIVERY_TIMEOUT;
    let answer = trusting().exchange_over(stream, global, &request, end).await;

    assert_eq!(answer, Err(SendError::NotAllowed));
    assert!(sent.await.is_err(), "the connection ends before anything is sent");
}

#[tokio::test]
async fn an_answer_that_never_ends_is_an_answer() {
    let head = b"HTTP/1.1 202 Accepted\r\ntransfer-encoding: chunked\r\n\r\nfffffff\r\n".to_vec();
    let (port, _sent) = server(head, true).await;

    let answer = trusting().send(&request(format!("http://127.0.0.1:{port}/"))).await;

    assert_eq!(answer, Ok(WebhookAnswer { status: 202, retry_after: None }));
}

#[tokio::test]
async fn retry_after_is_returned() {
    let answer = b"HTTP/1.1 429 Too Many\r\nretry-after: 120\r\ncontent-length: 0\r\n\r\n".to_vec();
    let (port, _sent) = server(answer, false).await;

    let answer = trusting().send(&request(format!("http://127.0.0.1:{port}/"))).await;

    let retry_after = Some("120".to_owned());
    assert_eq!(answer, Ok(WebhookAnswer { status: 429, retry_after }));
}

#[tokio::test]
async fn a_silent_receiver_reaches_a_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let hasty = HyperSender { timeout: Duration::from_millis(300), ..trusting() };

    for scheme in ["http", "https"] {
        let url = format!("{scheme}://127.0.0.1:{port}/");
        assert_eq!(hasty.send(&request(url)).await, Err(SendError::TimedOut), "{scheme}");
    }
}

#[tokio::test]
async fn an_invalid_response_is_an_error() {
    let long = [b"HTTP/1.1 200 OK\r\nx: ".as_slice(), &vec![b'x'; 100_000]].concat();
    for answer in [b"kvc_nonsense\r\n\r\n".to_vec(), Vec::new(), long] {
        let (port, _sent) = server(answer, false).await;

        let answer = trusting().send(&request(format!("http://127.0.0.1:{port}/"))).await;

        assert_eq!(answer, Err(SendError::Unreachable));
    }
}

#[tokio::test]
async fn a_closed_port_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);

    let answer = trusting().send(&request(format!("http://127.0.0.1:{port}/"))).await;

    assert_eq!(answer, Err(SendError::Unreachable));
}
