//! Fuzz target of the packets from a MySQL or MariaDB server.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{CLIENT_CAPABILITIES, Entry, Plugin, SSL, Stream, Wire, greeting};
use crate::model::lock::lock;
use crate::ports::rotator::{ServerCode, TargetError};
use crate::rotators::drivers::Deadlines;
use crate::rotators::drivers::Who;
use crate::rotators::drivers::faults::Stage;
use crate::rotators::drivers::mysql::session::Session;

const PASSWORD: &str = "kvc_password_of_the_account";

/// Maximum number of columns in a result.
const MAX_COLUMNS: usize = 64;

/// Fake connection: the server sends `bytes` and then closes the connection. Records the data that
/// the client sends.
struct Script {
    bytes: Vec<u8>,
    read: usize,
    sent: Arc<Mutex<Vec<u8>>>,
}

/// Fuzz target: logs in to a fake server that sends the input, and reads the results of two SQL
/// statements. Three bits of the first byte select the account, whether the connection is
/// encrypted, and whether the server is verified.
pub fn mysql_login(bytes: &[u8]) {
    let Some((mode, bytes)) = bytes.split_first() else { return };
    let [is_admin, is_encrypted, proven] = [1, 2, 4].map(|bit| mode & bit != 0);
    let proven = proven && is_encrypted;
    let who = if is_admin { Who::Admin } else { Who::User };
    let entry = Entry { who, username: "kvc_user", password: PASSWORD, database: "app", proven };
    let sent = Arc::default();
    let script = Script { bytes: bytes.to_vec(), read: 0, sent: Arc::clone(&sent) };
    // No call waits: the connection is always ready.
    let outcome = converse(&entry, script, is_encrypted).now_or_never();
    if let Some(Err(error)) = outcome {
        let code = error.code.as_ref().map(ServerCode::as_str).unwrap_or_default();
        assert!(code.len() <= 5, "an error contains a text of the server");
    }
    let is_permitted = is_encrypted && (proven || who == Who::User);
    let sent = lock(&sent);
    let has_password = sent.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes());
    assert!(is_permitted || !has_password, "the password is sent to a server that is not verified");
}

async fn converse(
    entry: &Entry<'_>,
    script: Script,
    is_encrypted: bool,
) -> Result<(), TargetError> {
    let length = script.bytes.len();
    let mut wire: Stream = Wire::new(Box::new(script));
    let greeting = greeting(&wire.read().await?, Stage::Login(entry.who))?;
    let plugin = greeting.plugin.unwrap_or(Plugin::Native);
    let flags = CLIENT_CAPABILITIES | if is_encrypted { SSL } else { 0 };
    wire.write(&entry.response(flags, plugin, &greeting.nonce)).await?;
    entry.authenticate(&mut wire, plugin, is_encrypted).await?;
    let work = Deadlines::default().begin_work();
    let mut session = Session::new(wire, greeting.server, work, Stage::Work(entry.who));
    for _ in 0..2 {
        let rows = session.answer().await?;
        let values = rows.iter().flatten().flatten();
        assert!(values.map(String::len).sum::<usize>() <= length, "a result is not larger");
        assert!(rows.iter().all(|row| row.len() <= MAX_COLUMNS));
    }
    Ok(())
}

impl AsyncRead for Script {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let rest = &self.bytes[self.read..];
        let count = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..count]);
        self.read += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Script {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        lock(&self.sent).extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
