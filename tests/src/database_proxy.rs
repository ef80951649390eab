//! TCP proxy in front of a database, which can stop forwarding without closing connections.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// TCP proxy in front of a database. Clones control the same proxy.
#[derive(Clone)]
pub struct DatabaseProxy(Arc<State>);

#[derive(Default)]
struct State {
    /// Connections with a lower number than this one forward nothing.
    silent_below: AtomicU64,
    /// Number of accepted connections; also the number of the next connection.
    connections: AtomicU64,
    /// True if no connection forwards anything.
    is_frozen: AtomicBool,
    /// Byte sequence at which the proxy freezes if a client sends it, before the proxy forwards it.
    freezes_at: Mutex<Option<&'static [u8]>>,
}

impl DatabaseProxy {
    /// Starts a proxy in front of the database with this URL. Returns the proxy and the URL of the
    /// database through the proxy.
    pub async fn start(url: &str) -> (Self, String) {
        let (front, behind) = url.rsplit_once('@').unwrap();
        let (target, database) = behind.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let proxy = Self(Arc::default());
        let (accepting, target) = (proxy.clone(), target.to_owned());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let number = accepting.0.connections.fetch_add(1, Ordering::SeqCst);
                let server = TcpStream::connect(&target).await.unwrap();
                let ((from, to), (back, forth)) = (client.into_split(), server.into_split());
                tokio::spawn(accepting.clone().forward(number, from, forth, true));
                tokio::spawn(accepting.clone().forward(number, back, to, false));
            }
        });
        (proxy, format!("{front}@{address}/{database}"))
    }

    async fn forward(
        self,
        number: u64,
        mut from: OwnedReadHalf,
        mut to: OwnedWriteHalf,
        is_client: bool,
    ) {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer).await {
            if is_client {
                self.freeze_if_asked(&buffer[..length]);
            }
            while self.is_silent(number) {
                sleep(Duration::from_millis(20)).await;
            }
            if to.write_all(&buffer[..length]).await.is_err() {
                return;
            }
        }
    }

    fn freeze_if_asked(&self, sent: &[u8]) {
        let mut text = self.0.freezes_at.lock().unwrap();
        if text.is_some_and(|text| sent.windows(text.len()).any(|window| window == text)) {
            *text = None;
            self.freeze(true);
        }
    }

    fn is_silent(&self, number: u64) -> bool {
        self.is_frozen() || number < self.0.silent_below.load(Ordering::SeqCst)
    }

    /// Stops forwarding on all open connections, permanently. New connections work.
    pub fn silence(&self) {
        let connections = self.0.connections.load(Ordering::SeqCst);
        self.0.silent_below.store(connections, Ordering::SeqCst);
    }

    /// Stops forwarding on all connections, old and new, or continues if `is_frozen` is false.
    pub fn freeze(&self, is_frozen: bool) {
        self.0.is_frozen.store(is_frozen, Ordering::SeqCst);
    }

    /// Freezes the proxy the next time that a client sends this string, such as an SQL statement.
    pub fn freeze_at(&self, text: &'static str) {
        *self.0.freezes_at.lock().unwrap() = Some(text.as_bytes());
    }

    /// Returns true if the proxy is frozen, so that it forwards nothing.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.0.is_frozen.load(Ordering::SeqCst)
    }
}
