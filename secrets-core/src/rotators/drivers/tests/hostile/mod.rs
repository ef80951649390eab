//! Hostile fake servers. Each server follows a script and records the data that it receives.

mod mysql;
mod postgres;

use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::servers::driver;
use crate::crypto::Plaintext;
use crate::model::rotations::{DatabaseKind, SslMode};
use crate::ports::rotator::{DatabaseRotator, Fault, Target};

/// Password that an unverified server must never receive.
const PASSWORD: &str = "kvc_hostile_admin";

/// Text sent by the fake server that must never be passed on.
const SAID: &str = "kvc_server_said <script>alert(1)</script> \u{1b}[31m";

/// Step in the script of a fake server.
#[derive(Clone)]
enum Step {
    /// Sends these bytes to the client.
    Say(Vec<u8>),
    /// Sends these bytes again and again to the client.
    Repeat(Vec<u8>),
    /// Sends these bytes to the client, one every 200 milliseconds.
    Drip(Vec<u8>),
    /// Waits for data from the client.
    Hear,
    /// Reads exactly MySQL's request for TLS, and none of the data after the request.
    Request,
    /// Accepts a TLS handshake.
    Tls,
    /// Runs a SCRAM exchange with the client, with this iteration count and server signature.
    Scram { iterations: &'static str, signature: &'static str },
    /// Waits forever without sending anything.
    Wait,
}

/// A script of a fake server, and the error that the client must return. The server closes the
/// connection after the script.
struct Case {
    name: &'static str,
    mode: SslMode,
    steps: Vec<Step>,
    fault: Fault,
}

fn case(name: &'static str, mode: SslMode, steps: Vec<Step>, fault: Fault) -> Case {
    Case { name, mode, steps, fault }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Follows a script on a connection and records the received data.
async fn play(
    stream: impl Stream + 'static,
    steps: Vec<Step>,
    heard: Arc<Mutex<Vec<u8>>>,
) -> io::Result<()> {
    let mut stream: Pin<Box<dyn Stream>> = Box::pin(stream);
    for step in steps {
        match step {
            Step::Say(bytes) => stream.write_all(&bytes).await?,
            Step::Repeat(bytes) => loop {
                stream.write_all(&bytes).await?;
            },
            Step::Drip(bytes) => {
                for byte in bytes.iter().cycle() {
                    stream.write_all(&[*byte]).await?;
                    stream.flush().await?;
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            }
            Step::Hear => drop(hear(&mut stream, &heard).await?),
            Step::Request => drop(stream.read_exact(&mut [0; 36]).await?),
            Step::Tls => stream = Box::pin(acceptor().accept(stream).await?),
            Step::Scram { iterations, signature } => {
                scram(&mut stream, &heard, iterations, signature).await?;
            }
            Step::Wait => std::future::pending().await,
        }
        stream.flush().await?;
    }
    // Remaining data is read too, so that the connection is not reset.
    stream.shutdown().await?;
    tokio::time::timeout(Duration::from_millis(100), hear(&mut stream, &heard)).await.ok();
    Ok(())
}

async fn hear(stream: &mut Pin<Box<dyn Stream>>, heard: &Mutex<Vec<u8>>) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; 65_536];
    let count = stream.read(&mut buffer).await?;
    if count == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    buffer.truncate(count);
    heard.lock().unwrap().extend_from_slice(&buffer);
    Ok(buffer)
}

/// Continues a SCRAM exchange with the client, as a server that does not know the password.
async fn scram(
    stream: &mut Pin<Box<dyn Stream>>,
    heard: &Mutex<Vec<u8>>,
    iterations: &str,
    signature: &str,
) -> io::Result<()> {
    let first = hear(stream, heard).await?;
    let first = String::from_utf8_lossy(&first).into_owned();
    let nonce = first.split("r=").nth(1).unwrap_or_default();
    let answer = format!("r={nonce}more,s=c2FsdHNhbHQ=,i={iterations}");
    stream.write_all(&postgres::authentication(11, answer.as_bytes())).await?;
    hear(stream, heard).await?;
    stream.write_all(&postgres::authentication(12, signature.as_bytes())).await?;
    stream.write_all(&postgres::let_in()).await
}

fn acceptor() -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("../certificate.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("../key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// Result of running one case against a fake server.
struct Outcome {
    error: crate::ports::rotator::TargetError,
    took: Duration,
    heard: Vec<u8>,
}

/// A fake server that follows a script on every connection, and a rotator to test with it.
struct Meeting {
    rotator: Arc<dyn DatabaseRotator>,
    target: Target,
    heard: Arc<Mutex<Vec<u8>>>,
    server: tokio::task::JoinHandle<()>,
}

impl Meeting {
    async fn begin(kind: DatabaseKind, case: &Case) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (steps, ears) = (case.steps.clone(), Arc::clone(&heard));
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                play(stream, steps.clone(), Arc::clone(&ears)).await.ok();
            }
        });
        let target = Target {
            kind,
            host: "127.0.0.1".into(),
            port,
            database: "app".into(),
            admin_username: "admin".into(),
            admin_password: Plaintext::new(PASSWORD.into()).unwrap(),
            ssl_mode: case.mode,
            ca_certificate: None,
            proxy: None,
        };
        let rotator = driver(kind);
        Self { rotator, target, heard, server }
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Runs [`DatabaseRotator::test`] against a fake server with this script.
async fn meet(kind: DatabaseKind, case: &Case) -> Outcome {
    let meeting = Meeting::begin(kind, case).await;
    let begin = Instant::now();
    let error = meeting.rotator.test(&meeting.target).await.expect_err(case.name);
    let took = begin.elapsed();
    let heard = meeting.heard.lock().unwrap().clone();
    Outcome { error, took, heard }
}

/// Awaits `work`. Also returns the total time by which short sleeps ended too late, because other
/// programs used the processors.
async fn with_lost_time<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let (pause, precision) = (Duration::from_millis(10), Duration::from_millis(5));
    let mut work = pin!(work);
    let mut lost = Duration::ZERO;
    loop {
        let begin = Instant::now();
        tokio::select! {
            biased;
            outcome = &mut work => return (outcome, lost),
            () = tokio::time::sleep(pause) => {
                lost += begin.elapsed().saturating_sub(pause + precision);
            }
        }
    }
}

/// Runs all cases concurrently, and checks the expected error and the properties that must hold in
/// every case.
async fn meet_all(kind: DatabaseKind, cases: Vec<Case>) {
    let outcomes = cases.iter().map(|case| meet(kind, case));
    let (outcomes, lost) = with_lost_time(futures_util::future::join_all(outcomes)).await;
    for (outcome, case) in outcomes.into_iter().zip(&cases) {
        let Outcome { error, took, heard } = outcome;
        assert_eq!(error.fault, case.fault, "{}", case.name);
        // The login timeout of eight seconds, plus time for the end of the connection.
        let most = Duration::from_millis(9_500) + lost;
        assert!(took < most, "{}: {took:?} of {most:?}", case.name);
        let text = format!("{error} {error:?}");
        for word in ["kvc_", "script", "\u{1b}", PASSWORD] {
            assert!(!text.contains(word), "{}: {text}", case.name);
        }
        let has_heard = |word: &[u8]| heard.windows(word.len()).any(|window| window == word);
        assert!(!has_heard(PASSWORD.as_bytes()), "{} received the password", case.name);
        // An MD5 hash, which can be used like the password, and the contents of a local file.
        assert!(!has_heard(b"md5") && !has_heard(b"root:"), "{}", case.name);
    }
}

/// Returns the first bytes that two common kinds of other servers (not databases) send.
fn strangers() -> [(&'static str, Vec<u8>); 2] {
    [
        ("a web server", b"HTTP/1.1 400 Bad Request\r\nServer: kvc_server_said\r\n\r\n".to_vec()),
        ("a shell", b"SSH-2.0-kvc_server_said\r\n".to_vec()),
    ]
}
