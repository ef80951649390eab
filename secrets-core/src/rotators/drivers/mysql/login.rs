//! TLS handshake and login to MySQL and MariaDB.
//!
//! Two authentication plugins are supported: `caching_sha2_password` of MySQL 8 and
//! `mysql_native_password` of MariaDB. A server's request for another plugin is refused. With both
//! plugins, the client responds to a nonce from the server with a hash of nonce and password. The
//! plugin `caching_sha2_password` may also request the password itself within TLS; the
//! administrator's password is then sent only to a server that was verified by its certificate. The
//! hash does not verify the server, and a malicious server could use it to guess the password
//! offline. Therefore `verify-full` is recommended.

#[cfg(feature = "testing")]
pub(in crate::rotators::drivers) mod fuzz;

use sha1::Sha1;
use sha2::{Digest, Sha256};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;
use zeroize::Zeroizing;

use super::packets::{Parts, Transport, Wire};
use crate::ports::rotator::{Fault, TargetError};
use crate::rotators::drivers::Who;
use crate::rotators::drivers::faults::{Stage, of_number};
use crate::rotators::drivers::tls::fault_of;

/// Protocol capabilities that a server must have: `PROTOCOL_41`, `SECURE_CONNECTION` and
/// `PLUGIN_AUTH`. All supported servers have them.
const REQUIRED_CAPABILITIES: u32 = 0x0000_0200 | 0x0000_8000 | 0x0008_0000;
const SSL: u32 = 0x0000_0800;
/// Protocol capabilities of this client: the required capabilities, `LONG_PASSWORD`,
/// `CONNECT_WITH_DB` and `TRANSACTIONS`. Without `LOCAL_FILES`, a server's request for a file is a
/// protocol violation. Without `MULTI_STATEMENTS`, a query is always a single statement.
const CLIENT_CAPABILITIES: u32 = REQUIRED_CAPABILITIES | 0x0000_0001 | 0x0000_0008 | 0x0000_2000;

/// ID of the collation `utf8mb4_general_ci`, which both MySQL and MariaDB support.
const CHARSET: u8 = 45;

/// Maximum number of packets that the server may send during the login, after the client's
/// handshake response.
const MAX_LOGIN_PACKETS: usize = 6;

/// Server product and version, as announced by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Server {
    pub is_mariadb: bool,
    pub version: (u32, u32, u32),
}

/// Parameters of a login: account, password and database.
pub(super) struct Entry<'a> {
    pub who: Who,
    pub username: &'a str,
    pub password: &'a str,
    pub database: &'a str,
    /// True if the server was verified by its TLS certificate.
    pub proven: bool,
}

/// TLS configuration and server name for a connection; `None` for a connection without TLS.
pub(super) type Protection = Option<(ClientConfig, ServerName<'static>)>;

type Stream = Wire<Box<dyn Transport>>;

/// Authentication plugin that the server requests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plugin {
    Native,
    CachingSha2,
}

/// Decoded initial handshake packet of the server.
struct Greeting {
    server: Server,
    capabilities: u32,
    nonce: Vec<u8>,
    plugin: Option<Plugin>,
}

impl Entry<'_> {
    /// Logs in on a new connection. Runs the TLS handshake first, if TLS is configured.
    pub(super) async fn log_in(
        &self,
        stream: TcpStream,
        protection: Protection,
    ) -> Result<(Stream, Server), TargetError> {
        let mut plain = Wire::new(stream);
        let greeting = greeting(&plain.read().await?, Stage::Login(self.who))?;
        let is_encrypted = protection.is_some();
        let mut wire: Stream = match protection {
            None => plain.onto(async |stream| Ok(Box::new(stream) as Box<dyn Transport>)).await?,
            Some((config, name)) => encrypt(plain, greeting.capabilities, config, name).await?,
        };
        let plugin = greeting.plugin.unwrap_or(Plugin::Native);
        let flags = CLIENT_CAPABILITIES | if is_encrypted { SSL } else { 0 };
        wire.write(&self.response(flags, plugin, &greeting.nonce)).await?;
        self.authenticate(&mut wire, plugin, is_encrypted).await?;
        Ok((wire, greeting.server))
    }

    /// Builds the `HandshakeResponse41` packet, with which the client logs in.
    fn response(&self, flags: u32, plugin: Plugin, nonce: &[u8]) -> Vec<u8> {
        let proof = plugin.proof(self.password, nonce);
        let mut packet = handshake_prefix(flags);
        packet.extend_from_slice(self.username.as_bytes());
        packet.push(0);
        packet.push(u8::try_from(proof.len()).unwrap_or_default());
        packet.extend_from_slice(&proof);
        packet.extend_from_slice(self.database.as_bytes());
        packet.push(0);
        packet.extend_from_slice(plugin.name());
        packet.push(0);
        packet
    }

    async fn authenticate(
        &self,
        wire: &mut Stream,
        mut plugin: Plugin,
        is_encrypted: bool,
    ) -> Result<(), TargetError> {
        let (mut has_switched, mut has_sent_password) = (false, false);
        for _ in 0..MAX_LOGIN_PACKETS {
            let packet = wire.read().await?;
            let mut parts = Parts::of(&packet);
            match parts.number(1)? {
                0x00 => return Ok(()),
                0xff => return Err(refusal(parts, Stage::Login(self.who))?),
                0xfe if !has_switched => {
                    has_switched = true;
                    // Plugins that send the password in clear, and unknown plugins, are refused.
                    plugin = Plugin::named(parts.terminated()).ok_or(Fault::Unsupported)?;
                    let nonce = nonce_of(parts.rest())?;
                    wire.write(&plugin.proof(self.password, &nonce)).await?;
                }
                0x01 if plugin == Plugin::CachingSha2 => match parts.rest() {
                    // Fast authentication succeeded: the password is cached. `OK` follows.
                    [3] => {}
                    [4] if !has_sent_password => {
                        has_sent_password = true;
                        if !is_encrypted || (!self.proven && self.who == Who::Admin) {
                            return Err(Fault::TlsUntrusted.into());
                        }
                        let password = [self.password.as_bytes(), b"\0"].concat();
                        wire.write(&Zeroizing::new(password)).await?;
                    }
                    _ => return Err(Fault::Protocol.into()),
                },
                _ => return Err(Fault::Protocol.into()),
            }
        }
        Err(Fault::Protocol.into())
    }
}

/// Requests TLS and runs the handshake, before the user name is sent.
async fn encrypt(
    mut wire: Wire<TcpStream>,
    offered: u32,
    config: ClientConfig,
    name: ServerName<'static>,
) -> Result<Stream, TargetError> {
    if offered & SSL == 0 {
        return Err(Fault::TlsNotOffered.into());
    }
    wire.write(&handshake_prefix(CLIENT_CAPABILITIES | SSL)).await?;
    let connector = TlsConnector::from(std::sync::Arc::new(config));
    wire.onto(async |stream| {
        let stream = connector.connect(name, stream).await.map_err(|error| fault_of(&error))?;
        Ok(Box::new(stream) as Box<dyn Transport>)
    })
    .await
}

/// Builds the `SSLRequest` packet, which is also the first part of the handshake response packet.
fn handshake_prefix(flags: u32) -> Vec<u8> {
    let max_packet: u32 = 1024 * 1024;
    let mut packet = Vec::with_capacity(128);
    packet.extend_from_slice(&flags.to_le_bytes());
    packet.extend_from_slice(&max_packet.to_le_bytes());
    packet.push(CHARSET);
    packet.extend_from_slice(&[0; 23]);
    packet
}

/// Decodes the `HandshakeV10` packet, with which the server starts the connection.
fn greeting(packet: &[u8], stage: Stage) -> Result<Greeting, TargetError> {
    let mut parts = Parts::of(packet);
    match parts.number(1)? {
        10 => {}
        0xff => return Err(refusal(parts, stage)?),
        _ => return Err(Fault::Protocol.into()),
    }
    let server = Server::parse(parts.terminated()).ok_or(Fault::Protocol)?;
    parts.take(4)?;
    let mut nonce = parts.take(8)?.to_vec();
    parts.take(1)?;
    let low = parts.number(2)?;
    parts.take(3)?;
    let capabilities = u32::try_from(low | parts.number(2)? << 16).unwrap_or_default();
    if capabilities & REQUIRED_CAPABILITIES != REQUIRED_CAPABILITIES {
        return Err(Fault::Unsupported.into());
    }
    let length = usize::try_from(parts.number(1)?).unwrap_or_default();
    parts.take(10)?;
    nonce.extend_from_slice(parts.take(length.saturating_sub(8).max(13))?);
    let plugin = Plugin::named(parts.terminated());
    Ok(Greeting { server, capabilities, nonce: nonce_of(&nonce)?, plugin })
}

/// Decodes the server's nonce: twenty bytes, optionally followed by a NUL.
fn nonce_of(bytes: &[u8]) -> Result<Vec<u8>, Fault> {
    let nonce = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    if nonce.len() == 20 { Ok(nonce.to_vec()) } else { Err(Fault::Protocol) }
}

/// Decodes an `ERR` packet and ignores its text. In errors before the handshake, servers omit the
/// SQLSTATE.
pub(super) fn refusal(mut parts: Parts<'_>, stage: Stage) -> Result<TargetError, Fault> {
    let number = u16::try_from(parts.number(2)?).unwrap_or_default();
    let code = parts.rest().strip_prefix(b"#").and_then(|rest| rest.get(..5));
    let code = code.and_then(|code| std::str::from_utf8(code).ok());
    Ok(of_number(number, code.unwrap_or_default(), stage))
}

impl Server {
    /// Parses a server version such as `9.7.4`, `10.11.19-MariaDB` or `5.5.5-10.11.19-MariaDB`;
    /// `None` unless the version begins with three numbers.
    fn parse(version: &[u8]) -> Option<Self> {
        let version = std::str::from_utf8(version).ok()?;
        let is_mariadb = version.contains("MariaDB");
        let bare = version.strip_prefix("5.5.5-").filter(|_| is_mariadb).unwrap_or(version);
        let mut numbers = bare.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        let mut number = || numbers.next()?.ok();
        Some(Self { is_mariadb, version: (number()?, number()?, number()?) })
    }

    /// True for MySQL 8, MariaDB 10.5, and later versions.
    pub(super) fn is_supported(self) -> bool {
        self.version >= if self.is_mariadb { (10, 5, 0) } else { (8, 0, 0) }
    }

    /// True if the server can store attributes with a user (MySQL 8.0.21 and later).
    pub(super) fn has_attributes(self) -> bool {
        !self.is_mariadb && self.version >= (8, 0, 21)
    }
}

impl Plugin {
    fn named(name: &[u8]) -> Option<Self> {
        [Self::Native, Self::CachingSha2].into_iter().find(|plugin| plugin.name() == name)
    }

    fn name(self) -> &'static [u8] {
        match self {
            Self::Native => b"mysql_native_password",
            Self::CachingSha2 => b"caching_sha2_password",
        }
    }

    /// Computes the response to the server's nonce. The response proves knowledge of the password
    /// without containing the password.
    fn proof(self, password: &str, nonce: &[u8]) -> Vec<u8> {
        if password.is_empty() {
            return Vec::new();
        }
        match self {
            Self::Native => {
                let once = Sha1::digest(password);
                let mask = Sha1::new().chain_update(nonce).chain_update(Sha1::digest(once));
                once.iter().zip(mask.finalize()).map(|(a, b)| a ^ b).collect()
            }
            Self::CachingSha2 => {
                let once = Sha256::digest(password);
                let twice = Sha256::digest(once);
                let mask = Sha256::new().chain_update(twice).chain_update(nonce);
                once.iter().zip(mask.finalize()).map(|(a, b)| a ^ b).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the response to a server's nonce against a test vector that several other drivers
    /// use.
    #[test]
    fn the_response_to_the_nonce_matches_other_drivers() {
        let proof = |plugin: Plugin| plugin.proof("G!ider27", b"NR3HP:qIYa_9=db?Sd{`");

        assert_eq!(
            hex::encode_upper(proof(Plugin::Native)),
            "09CFF8855E9E705340FF2270D8FB9FADBA906B70"
        );
        assert_eq!(
            hex::encode_upper(proof(Plugin::CachingSha2)),
            "4F97BBFD202401C42A69DEAAE53BDA077ED7578563C1A80EB816C82119B68D2E"
        );
    }

    #[test]
    fn server_versions_are_parsed() {
        for (text, is_mariadb, version) in [
            ("9.7.4-2", false, (9, 7, 4)),
            ("8.0.36", false, (8, 0, 36)),
            ("10.11.19-MariaDB-0+deb12u1-log", true, (10, 11, 19)),
            ("5.5.5-10.6.1-MariaDB", true, (10, 6, 1)),
        ] {
            let server = Server::parse(text.as_bytes());
            assert_eq!(server, Some(Server { is_mariadb, version }), "{text}");
        }
        assert_eq!(Server::parse(b"<script>"), None);
        assert!(!Server { is_mariadb: false, version: (5, 7, 44) }.is_supported());
        assert!(!Server { is_mariadb: true, version: (10, 4, 0) }.is_supported());
    }
}
