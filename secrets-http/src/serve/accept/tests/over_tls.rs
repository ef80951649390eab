//! Tests of the limits on time, size and number over TLS.

use std::path::Path;

use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{
    ClientConfig, ProtocolVersion, RootCertStore, SupportedProtocolVersion,
};
use tokio_rustls::{TlsConnector, rustls};

use super::*;

const CERTIFICATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/testdata/certificate.pem");
const KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/testdata/key.pem");

async fn server() -> Server {
    server_with(AcceptOptions { handshake: Duration::from_mins(1), ..short() }).await
}

async fn server_with(options: AcceptOptions) -> Server {
    let tls = crate::serve::tls::acceptor(Path::new(CERTIFICATE), Path::new(KEY)).unwrap();
    Server::start_with(options, Some(tls)).await
}

fn connector(version: &'static SupportedProtocolVersion, protocol: &str) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(CERTIFICATE).unwrap()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    TlsConnector::from(Arc::new(config))
}

async fn connect(server: &Server, connector: TlsConnector) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from("localhost").unwrap();
    connector.connect(name, server.connect().await.0).await
}

async fn get(stream: &mut TlsStream<TcpStream>) -> String {
    stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\nhello") {
        answer.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn both_versions_of_tls_speak_http_1() {
    let minute = Duration::from_mins(1);
    let server = server_with(AcceptOptions { handshake: minute, head: minute, ..short() }).await;
    let mut newer = connect(&server, connector(&TLS13, "http/1.1")).await.unwrap();
    let mut older = connect(&server, connector(&TLS12, "http/1.1")).await.unwrap();

    assert_eq!(status(&get(&mut newer).await), "200");
    assert_eq!(status(&get(&mut older).await), "200");
    assert_eq!(newer.get_ref().1.protocol_version(), Some(ProtocolVersion::TLSv1_3));
    assert_eq!(older.get_ref().1.protocol_version(), Some(ProtocolVersion::TLSv1_2));
    assert_eq!(newer.get_ref().1.alpn_protocol(), Some(b"http/1.1".as_slice()));
}

#[tokio::test]
async fn nothing_but_http_1_is_agreed_on() {
    let server = server().await;

    let refused = connect(&server, connector(&TLS13, "h2")).await.unwrap_err();

    let alert = rustls::AlertDescription::NoApplicationProtocol;
    assert!(refused.to_string().contains(&format!("{alert:?}")), "{refused}");
}

#[tokio::test]
async fn a_client_that_does_not_begin_the_handshake_is_cut() {
    let minute = Duration::from_mins(1);
    let server = server_with(AcceptOptions { head: minute, idle: minute, ..short() }).await;

    let (_, elapsed) = server.connect().await.rest().await;

    assert!(elapsed >= short().handshake * 9 / 10 && elapsed < minute / 2, "{elapsed:?}");
}

#[tokio::test]
async fn a_client_that_is_silent_after_the_handshake_is_cut() {
    let minute = Duration::from_mins(1);
    let server = server_with(AcceptOptions { handshake: minute, idle: minute, ..short() }).await;
    let mut client = connect(&server, connector(&TLS13, "http/1.1")).await.unwrap();
    let start = Instant::now();

    let _ = client.read_to_end(&mut Vec::new()).await;

    let elapsed = start.elapsed();
    assert!(elapsed >= short().head * 9 / 10 && elapsed < minute / 2, "{elapsed:?}");
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answer_is_cut() {
    let server = server().await;
    let mut client = connect(&server, connector(&TLS13, "http/1.1")).await.unwrap();
    client.write_all(b"GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();

    sleep(short().write_stall * 3).await;

    let mut answer = Vec::new();
    let ended = client.read_to_end(&mut answer).await;
    assert!(ended.is_err(), "the stream was closed as if it were complete");
    assert!(answer.len() < LARGE, "{} bytes", answer.len());
}

#[tokio::test]
async fn plain_http_is_no_handshake() {
    let server = server().await;
    let mut client = server.connect().await;

    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n").await;

    assert!(!client.rest().await.0.starts_with("HTTP"));
}
