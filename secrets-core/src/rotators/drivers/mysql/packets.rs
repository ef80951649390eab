//! Packets of the MySQL protocol, and decoding of their fields.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::ports::rotator::{Fault, TargetError};

/// Maximum length of a packet in bytes. All expected packets are shorter.
const MAX_PACKET: usize = 1024 * 1024;

/// Maximum number of bytes received on one connection.
const MAX_TOTAL: usize = 8 * 1024 * 1024;

/// A connection to a server, with or without TLS.
pub(super) trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// Packet stream of a connection to a server. Limits the size of the received data, and fails if a
/// packet has a wrong sequence number.
pub(super) struct Wire<S> {
    stream: S,
    /// Sequence number of the next packet, sent or received.
    next: u8,
    total: usize,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, next: 0, total: 0 }
    }

    /// Replaces the byte stream by a stream that `make` builds on top of it, such as a TLS stream.
    /// No byte was read ahead, so all further bytes belong to the new stream.
    pub(super) async fn onto<T>(
        self,
        make: impl AsyncFnOnce(S) -> Result<T, TargetError>,
    ) -> Result<Wire<T>, TargetError> {
        Ok(Wire { stream: make(self.stream).await?, next: self.next, total: self.total })
    }

    /// Starts a new command: resets the packet sequence number to 0.
    pub(super) fn begin(&mut self) {
        self.next = 0;
    }

    pub(super) async fn read(&mut self) -> Result<Vec<u8>, Fault> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).await.map_err(|_| Fault::Unreachable)?;
        let [a, b, c, number] = header;
        let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
        self.total = self.total.saturating_add(length + header.len());
        if number != self.next || length == 0 || length > MAX_PACKET || self.total > MAX_TOTAL {
            return Err(Fault::Protocol);
        }
        let mut packet = vec![0; length];
        self.stream.read_exact(&mut packet).await.map_err(|_| Fault::Unreachable)?;
        self.next = number.wrapping_add(1);
        Ok(packet)
    }

    pub(super) async fn write(&mut self, packet: &[u8]) -> Result<(), Fault> {
        let length = u32::try_from(packet.len()).unwrap_or(u32::MAX);
        if packet.len() > MAX_PACKET {
            return Err(Fault::Protocol);
        }
        let [a, b, c, _] = length.to_le_bytes();
        let whole = zeroize::Zeroizing::new([&[a, b, c, self.next][..], packet].concat());
        self.stream.write_all(&whole).await.map_err(|_| Fault::Unreachable)?;
        self.stream.flush().await.map_err(|_| Fault::Unreachable)?;
        self.next = self.next.wrapping_add(1);
        Ok(())
    }
}

/// Decoder that reads the fields of a packet one by one. A missing field is an error.
pub(super) struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    pub(super) fn of(packet: &'a [u8]) -> Self {
        Self(packet)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Fault::Protocol)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads a little-endian integer that is `bytes` bytes long.
    pub(super) fn number(&mut self, bytes: usize) -> Result<u64, Fault> {
        Ok(self.take(bytes)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Reads a length-encoded integer.
    pub(super) fn counted_number(&mut self) -> Result<u64, Fault> {
        match self.number(1)? {
            small @ 0..=0xfa => Ok(small),
            0xfc => self.number(2),
            0xfd => self.number(3),
            0xfe => self.number(8),
            _ => Err(Fault::Protocol),
        }
    }

    /// Reads a length-encoded string.
    pub(super) fn counted(&mut self) -> Result<&'a [u8], Fault> {
        let count = self.counted_number()?;
        self.take(usize::try_from(count).map_err(|_| Fault::Protocol)?)
    }

    /// Reads the bytes up to a NUL or to the end of the packet.
    pub(super) fn terminated(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or_default();
        taken
    }

    /// Skips the marker of a NULL column value. Returns true if the marker was next, so the value
    /// is NULL.
    pub(super) fn skip_null(&mut self) -> bool {
        let rest = self.0.strip_prefix(&[0xfb]);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    pub(super) fn rest(self) -> &'a [u8] {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_field_is_an_error() {
        assert!(Parts::of(&[1, 2]).number(3).is_err());
        assert!(Parts::of(&[0xfe, 1]).counted_number().is_err());
        assert!(Parts::of(&[0xff]).counted_number().is_err());
        assert!(Parts::of(&[5, 1]).counted().is_err());
        assert!(Parts::of(&[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]).counted().is_err());
        assert_eq!(Parts::of(&[0xfc, 1, 2]).counted_number(), Ok(0x201));
        assert_eq!(Parts::of(b"ab").terminated(), b"ab");
    }

    #[tokio::test]
    async fn packets_are_bounded_and_in_turn() {
        for bytes in [
            &[255, 255, 255, 0][..],
            &[1, 0, 16, 0],
            &[1, 0, 0, 1, 0],
            &[0, 0, 0, 0],
            &[2, 0, 0, 0, 1],
        ] {
            let mut wire = Wire::new(std::io::Cursor::new(bytes.to_vec()));
            assert!(wire.read().await.is_err(), "{bytes:?}");
        }
    }
}
