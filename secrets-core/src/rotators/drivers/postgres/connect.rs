//! Connection to PostgreSQL: TLS handshake and login.

use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, Fuse, FusedFuture, FutureExt, select};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_postgres::config::{ChannelBinding, SslMode, SslNegotiation};
use tokio_postgres::tls::{self as driver_tls, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::{Client, Config, Connection};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PostgresRotator;
use super::frames::{Seen, Trust};
use super::guard::{Agreed, Guard, Transport};
use crate::ports::rotator::{Fault, Target, TargetError};
use crate::rotators::drivers::Who;
use crate::rotators::drivers::faults::{Stage, of_state};
use crate::rotators::drivers::tls::{fault_of, server_name};

/// `SSLRequest` message, with which the client requests TLS: its length and its request code.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// Account that logs in (administrator or rotated user), with its user name and password.
#[derive(Clone, Copy)]
pub(crate) struct Credentials<'a> {
    pub who: Who,
    pub username: &'a str,
    pub password: &'a str,
}

/// Future that sends and receives the data of a connection. It ends when the connection ends.
pub(crate) type Driver = Fuse<Pin<Box<dyn Future<Output = ()> + Send>>>;

/// Client of a logged-in connection, with which SQL statements are run.
pub(crate) struct Peer {
    pub client: Client,
    pub(super) seen: Arc<Seen>,
}

/// A logged-in connection, and the future that drives it.
pub(crate) struct Session {
    pub peer: Peer,
    pub driver: Driver,
}

impl Session {
    /// Closes the connection with the message `Terminate`. Servers would log a connection that ends
    /// without this message.
    pub(crate) async fn close(self) {
        drop(self.peer);
        if !self.driver.is_terminated() {
            timeout(Duration::from_millis(500), self.driver).await.ok();
        }
    }
}

/// Runs `work` together with the future that drives the connection.
pub(crate) async fn drive<T>(driver: &mut Driver, work: impl Future<Output = T>) -> T {
    match select(pin!(work), driver).await {
        Either::Left((outcome, _)) => outcome,
        // The connection has ended, so the work fails by itself.
        Either::Right(((), work)) => work.await,
    }
}

impl PostgresRotator {
    /// Connects and logs in. The password itself is never sent to a server that is not verified.
    pub(crate) async fn connect(
        &self,
        target: &Target,
        credentials: Credentials<'_>,
    ) -> Result<Session, TargetError> {
        let trust = match target.ssl_mode {
            mode if mode.verifies() => Trust::Proven,
            mode if mode.encrypts() => Trust::Bound,
            _ => Trust::Plain,
        };
        let seen = Arc::new(Seen::default());
        let outcome = self.attempt(target, credentials, trust, &seen).await;
        // A server that requests no password proves nothing, so no changes are made there. For a
        // rotated user, however, only the success of the login matters.
        if outcome.is_err() && seen.let_in() && credentials.who == Who::User {
            return self.attempt(target, credentials, Trust::Open, &Arc::default()).await;
        }
        outcome
    }

    async fn attempt(
        &self,
        target: &Target,
        credentials: Credentials<'_>,
        trust: Trust,
        seen: &Arc<Seen>,
    ) -> Result<Session, TargetError> {
        let stream = self.gate.dial(&target.host, target.port, self.deadlines.connect).await?;
        let login = async {
            let peer = stream.peer_addr().map_err(|_| Fault::Unreachable)?.ip();
            let guard = self.protect(target, (stream, peer), trust, Arc::clone(seen)).await?;
            let config = config(target, credentials, trust);
            let (client, connection) = config
                .connect_raw(guard, Agreed)
                .await
                .map_err(|error| fault_in(&error, seen, Stage::Login(credentials.who)))?;
            let peer = Peer { client, seen: Arc::clone(seen) };
            let driver: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(driven(connection));
            Ok(Session { peer, driver: driver.fuse() })
        };
        self.deadlines.login(login).await
    }

    /// Runs the TLS handshake before any other message, if the TLS mode requires TLS. For a TLS
    /// mode without TLS, checks that the egress policy permits an unencrypted connection to the
    /// server's address.
    async fn protect(
        &self,
        target: &Target,
        (mut stream, peer): (TcpStream, IpAddr),
        trust: Trust,
        seen: Arc<Seen>,
    ) -> Result<Guard, TargetError> {
        let unreachable = |_: io::Error| Fault::Unreachable;
        if !target.ssl_mode.encrypts() {
            if !self.gate.policy().permits_plaintext(&target.host, peer) {
                return Err(Fault::NotAllowed.into());
            }
            let binding = driver_tls::ChannelBinding::none();
            return Ok(Guard::new(Box::new(stream), binding, trust, seen));
        }
        let name = server_name(&target.host)?;
        let config = self.tls.config(target)?;
        stream.write_all(&SSL_REQUEST).await.map_err(unreachable)?;
        // Exactly one byte: further data must come through TLS (CVE-2021-23222).
        match stream.read_u8().await.map_err(unreachable)? {
            b'S' => {}
            b'N' => return Err(Fault::TlsNotOffered.into()),
            _ => return Err(Fault::Protocol.into()),
        }
        let mut maker = MakeRustlsConnect::new(config);
        let Ok(connector) = MakeTlsConnect::<TcpStream>::make_tls_connect(&mut maker, &name);
        let stream = connector.connect(stream).await.map_err(|error| fault_of(&error))?;
        let binding = stream.channel_binding();
        let stream: Box<dyn Transport> = Box::new(stream);
        Ok(Guard::new(stream, binding, trust, seen))
    }
}

fn config(target: &Target, credentials: Credentials<'_>, trust: Trust) -> Config {
    let binding =
        if trust == Trust::Bound { ChannelBinding::Require } else { ChannelBinding::Prefer };
    let mut config = Config::new();
    config
        .user(credentials.username)
        .password(credentials.password)
        .dbname(&target.database)
        .application_name("secrets")
        // TLS is already established, so the driver must not request it.
        .ssl_mode(SslMode::Require)
        .ssl_negotiation(SslNegotiation::Direct)
        .channel_binding(binding);
    config
}

/// Drives a connection until it ends. Ignores notices and notifications of the server; the client
/// library's own loop would log them.
async fn driven(mut connection: Connection<Guard, Guard>) {
    while let Some(Ok(_)) = poll_fn(|cx| connection.poll_message(cx)).await {}
}

/// Converts an error of the PostgreSQL client library to a [`TargetError`]. `seen` contains the
/// observations of the guard, which checks the server's messages.
pub(super) fn fault_in(error: &tokio_postgres::Error, seen: &Seen, stage: Stage) -> TargetError {
    if let Some(fault) = seen.refused() {
        return fault.into();
    }
    if let Some(state) = error.code() {
        return of_state(state.code(), stage);
    }
    // The client library reports most errors as a closed connection, even if the server did not
    // close the connection.
    if seen.has_ended() {
        return Fault::Unreachable.into();
    }
    Fault::Protocol.into()
}

#[cfg(test)]
mod tests;
