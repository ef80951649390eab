//! Buffer for plaintext of unknown length.

use std::io;
use std::ops::Deref;

use serde::Serialize;
use zeroize::Zeroizing;

/// Capacity of a buffer after its first growth, in bytes.
const CAPACITY: usize = 4_096;

/// Growing byte buffer for plaintext. A `Vec` that grows moves its bytes and leaves a copy in the
/// freed memory; this buffer wipes that memory.
#[derive(Default)]
pub struct WipedBuffer(Zeroizing<Vec<u8>>);

impl WipedBuffer {
    /// Appends bytes.
    pub fn extend(&mut self, bytes: &[u8]) {
        let length = self.0.len() + bytes.len();
        if length > self.0.capacity() {
            let capacity = length.max(self.0.capacity() * 2).max(CAPACITY);
            let mut larger = Zeroizing::new(Vec::with_capacity(capacity));
            larger.extend_from_slice(&self.0);
            // The old buffer is wiped when it is dropped.
            self.0 = larger;
        }
        self.0.extend_from_slice(bytes);
    }

    /// Returns the bytes of the buffer. They are wiped on drop.
    #[must_use]
    pub fn into_bytes(self) -> Zeroizing<Vec<u8>> {
        self.0
    }
}

impl Deref for WipedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl io::Write for WipedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Serializes a value that contains plaintext as a JSON string. The string is not wiped on drop:
/// move it into a type that wipes it, such as [`Plaintext`](super::Plaintext).
pub(crate) fn to_json_text(value: &impl Serialize) -> serde_json::Result<String> {
    let mut bytes = to_json(value)?;
    String::from_utf8(std::mem::take(&mut *bytes)).map_err(serde::ser::Error::custom)
}

/// Serializes a value that contains plaintext as JSON bytes, which are wiped on drop.
pub(crate) fn to_json(value: &impl Serialize) -> serde_json::Result<Zeroizing<Vec<u8>>> {
    let mut buffer = WipedBuffer::default();
    serde_json::to_writer(&mut buffer, value)?;
    Ok(buffer.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_grows_in_few_steps_and_keeps_its_bytes() {
        let (mut buffer, mut expected, mut capacities) = (WipedBuffer::default(), Vec::new(), 0);
        for number in 0..100_000_u32 {
            let before = buffer.0.capacity();
            buffer.extend(&number.to_be_bytes());
            expected.extend(number.to_be_bytes());
            capacities += u32::from(buffer.0.capacity() != before);
        }

        assert_eq!(buffer.len(), 400_000);
        assert_eq!(*buffer.into_bytes(), expected);
        assert!(capacities < 10, "{capacities}");
    }

    #[test]
    fn a_buffer_has_room_for_all_bytes_before_they_are_appended() {
        let (mut buffer, mut capacities) = (WipedBuffer::default(), Vec::new());

        for length in [1, CAPACITY - 1, 1, 20_000] {
            buffer.extend(&vec![7_u8; length]);
            capacities.push(buffer.0.capacity());
        }

        let all = CAPACITY + 1 + 20_000;
        assert_eq!(capacities, [CAPACITY, CAPACITY, 2 * CAPACITY, all]);
    }
}
