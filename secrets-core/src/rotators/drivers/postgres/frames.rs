//! Checks of the messages from a PostgreSQL server: size limits and permitted authentication.

#[cfg(feature = "testing")]
pub(in crate::rotators::drivers) mod fuzz;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::ports::rotator::Fault;

/// Maximum length of a message in bytes. All expected messages are shorter.
const MAX_MESSAGE: usize = 1024 * 1024;

/// Maximum number of bytes received on one connection: enough for databases with many schemas, but
/// not for endless rows or notices.
const MAX_TOTAL: usize = 8 * 1024 * 1024;

/// Maximum number of messages received on one connection, because many short messages take time to
/// process.
const MAX_MESSAGES: usize = 20_000;

/// Maximum length of an authentication message in bytes.
const MAX_AUTHENTICATION: usize = 8 * 1024;

/// Maximum SCRAM iteration count. The server chooses the count, and every iteration costs the
/// client CPU time (RFC 5802, section 9). Servers use 4096; the client library has the same
/// maximum.
const MAX_ITERATIONS: u64 = 100_000;

/// First byte (tag) of an authentication message.
const AUTHENTICATION: u8 = b'R';

/// Trust in a server, which determines the authentication requests that the client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// The server was verified by its certificate. It may request a proof of the password, the
    /// password itself, or no authentication.
    Proven,
    /// TLS without verification of the server. The server may request only a proof of the password
    /// with channel binding, which is useless to an attacker between client and server.
    Bound,
    /// No TLS, permitted by the operator. The server may request a proof of the password, or no
    /// authentication.
    Plain,
    /// Second try of a login for which the server requested no authentication on the first try. Any
    /// authentication request is now an error.
    Open,
}

/// Observations about a connection, shared between the guard (which checks the server's messages)
/// and the client.
#[derive(Debug, Default)]
pub(super) struct Seen {
    refused: OnceLock<Fault>,
    let_in: AtomicBool,
    ended: AtomicBool,
}

impl Seen {
    /// Returns the first error that the guard found in a message of the server; `None` if there was
    /// none.
    pub(super) fn refused(&self) -> Option<Fault> {
        self.refused.get().copied()
    }

    /// True if the server requested no authentication during the login.
    pub(super) fn let_in(&self) -> bool {
        self.let_in.load(Ordering::Relaxed)
    }

    /// True if the connection has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    pub(super) fn refuse(&self, fault: Fault) {
        // The first error caused all later errors.
        self.refused.set(fault).ok();
    }
}

/// Parser that checks all data from a server before the client library gets it.
#[derive(Debug)]
pub(super) struct Frames {
    trust: Trust,
    header: Vec<u8>,
    /// Number of bytes of the current message that are not read yet.
    left: usize,
    /// Body of the current message, if it is an authentication message.
    message: Vec<u8>,
    total: usize,
    count: usize,
    asked: bool,
}

impl Frames {
    pub(super) fn new(trust: Trust) -> Self {
        let (header, message) = (Vec::with_capacity(5), Vec::new());
        Self { trust, header, left: 0, message, total: 0, count: 0, asked: false }
    }

    /// Checks the next bytes from the server. After an error, these bytes must not be passed on to
    /// the client library.
    pub(super) fn read(&mut self, mut bytes: &[u8], seen: &Seen) -> Result<(), Fault> {
        self.total = self.total.saturating_add(bytes.len());
        if self.total > MAX_TOTAL {
            return Err(Fault::Protocol);
        }
        while !bytes.is_empty() {
            if self.left > 0 {
                let (body, rest) = bytes.split_at(self.left.min(bytes.len()));
                self.left -= body.len();
                bytes = rest;
                self.keep(body);
            } else {
                self.header.push(bytes[0]);
                bytes = &bytes[1..];
                if self.header.len() == 5 {
                    self.begin()?;
                }
            }
            if self.left == 0 && self.header.len() == 5 {
                self.end(seen)?;
            }
        }
        Ok(())
    }

    /// Decodes the header of a message: a tag, and a length that includes the length field.
    fn begin(&mut self) -> Result<(), Fault> {
        let [_, a, b, c, d] = self.header[..] else { return Err(Fault::Protocol) };
        let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        let max = if self.is_authentication() { MAX_AUTHENTICATION } else { MAX_MESSAGE };
        self.count += 1;
        if !(4..=max).contains(&length) || self.count > MAX_MESSAGES {
            return Err(Fault::Protocol);
        }
        self.left = length - 4;
        Ok(())
    }

    fn keep(&mut self, body: &[u8]) {
        if self.is_authentication() {
            self.message.extend_from_slice(body);
        }
    }

    fn is_authentication(&self) -> bool {
        self.header.first() == Some(&AUTHENTICATION)
    }

    fn end(&mut self, seen: &Seen) -> Result<(), Fault> {
        let verdict = if self.is_authentication() { self.authentication(seen) } else { Ok(()) };
        self.header.clear();
        self.message.clear();
        verdict
    }

    /// Checks an authentication message (PostgreSQL manual, "Message Formats", `Authentication…`).
    fn authentication(&mut self, seen: &Seen) -> Result<(), Fault> {
        let (kind, body) = self.message.split_first_chunk().ok_or(Fault::Protocol)?;
        match i32::from_be_bytes(*kind) {
            0 if self.asked => Ok(()),
            0 => {
                seen.let_in.store(true, Ordering::Relaxed);
                if self.trust == Trust::Bound { Err(self.unproven()) } else { Ok(()) }
            }
            _ if self.trust == Trust::Open => Err(Fault::Protocol),
            3 | 5 => {
                self.asked = true;
                if self.trust == Trust::Proven { Ok(()) } else { Err(self.unproven()) }
            }
            10 => {
                let binds = body.split(|byte| *byte == 0).any(|name| name == b"SCRAM-SHA-256-PLUS");
                self.asked = true;
                if binds || self.trust != Trust::Bound { Ok(()) } else { Err(self.unproven()) }
            }
            11 if iterations(body).is_some_and(|count| count <= MAX_ITERATIONS) => Ok(()),
            // Server signature: a proof that the server has the password or its verifier.
            12 if body.starts_with(b"v=") => Ok(()),
            11 | 12 => Err(Fault::Protocol),
            _ => Err(Fault::Unsupported),
        }
    }

    /// Returns the error for an authentication request that an unverified server may not make. With
    /// TLS, the error is [`Fault::TlsUntrusted`], because a trusted certificate would solve the
    /// problem.
    fn unproven(&self) -> Fault {
        if self.trust == Trust::Bound { Fault::TlsUntrusted } else { Fault::Protocol }
    }
}

/// Parses the iteration count (`i=`) in the first SCRAM message of the server (RFC 5802, section
/// 7); `None` if the count is missing or not a number.
fn iterations(body: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(body).ok()?;
    text.split(',').find_map(|part| part.strip_prefix("i="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(tag: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap();
        [&[tag][..], &length.to_be_bytes(), body].concat()
    }

    fn authentication(kind: u32, body: &[u8]) -> Vec<u8> {
        frame(b'R', &[&kind.to_be_bytes()[..], body].concat())
    }

    fn verdict(trust: Trust, bytes: &[u8]) -> Result<(), Fault> {
        let (seen, mut frames) = (Seen::default(), Frames::new(trust));
        // One byte at a time, as from a slow server.
        bytes.iter().try_for_each(|byte| frames.read(&[*byte], &seen))
    }

    #[test]
    fn a_password_is_sent_to_a_verified_server_only() {
        for kind in [3, 5] {
            assert_eq!(verdict(Trust::Proven, &authentication(kind, b"salt")), Ok(()));
            assert_eq!(
                verdict(Trust::Bound, &authentication(kind, b"salt")),
                Err(Fault::TlsUntrusted)
            );
            assert_eq!(verdict(Trust::Plain, &authentication(kind, b"salt")), Err(Fault::Protocol));
        }
    }

    #[test]
    fn a_proof_is_bound_to_the_channel() {
        let both = authentication(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
        let without = authentication(10, b"SCRAM-SHA-256\0\0");

        assert_eq!(verdict(Trust::Bound, &both), Ok(()));
        assert_eq!(verdict(Trust::Bound, &without), Err(Fault::TlsUntrusted));
        assert_eq!(verdict(Trust::Plain, &without), Ok(()));
    }

    #[test]
    fn a_server_that_asks_for_no_authentication_is_noticed() {
        let ok = authentication(0, b"");
        let seen = Seen::default();

        assert_eq!(verdict(Trust::Bound, &ok), Err(Fault::TlsUntrusted));
        let mut frames = Frames::new(Trust::Open);
        assert_eq!(frames.read(&ok, &seen), Ok(()));
        assert!(seen.let_in());
        assert_eq!(
            verdict(Trust::Open, &authentication(10, b"SCRAM-SHA-256\0\0")),
            Err(Fault::Protocol)
        );
    }

    #[test]
    fn iterations_are_bounded() {
        let first = |text: &str| verdict(Trust::Bound, &authentication(11, text.as_bytes()));

        assert_eq!(first("r=a,s=b,i=4096"), Ok(()));
        assert_eq!(first("r=a,s=b,i=100000"), Ok(()));
        for text in ["r=a,s=b,i=100001", "r=a,s=b,i=2147483648", "r=a,s=b,i=-1", "r=a,s=b", "i="] {
            assert_eq!(first(text), Err(Fault::Protocol), "{text}");
        }
    }

    #[test]
    fn frames_are_bounded() {
        for length in [0, 3, 0x7fff_ffff, u32::MAX, 1024 * 1024 + 1] {
            let bytes = [&b"D"[..], &u32::to_be_bytes(length)].concat();
            assert_eq!(verdict(Trust::Bound, &bytes), Err(Fault::Protocol), "{length}");
        }
        assert_eq!(verdict(Trust::Bound, &frame(b'Z', b"I")), Ok(()));
        assert_eq!(verdict(Trust::Bound, &frame(b'I', b"")), Ok(()));

        let (seen, mut frames) = (Seen::default(), Frames::new(Trust::Bound));
        let notice = frame(b'N', &[0; 1000]);
        let many = std::iter::repeat_n(&notice, 10_000);
        assert!(many.map(|notice| frames.read(notice, &seen)).any(|verdict| verdict.is_err()));
    }
}
