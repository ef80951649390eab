//! Streaming reader for the payload: a JSON array in encrypted chunks, which is split into its
//! objects.

use std::io::{Read, Seek};

use zeroize::Zeroizing;

use super::BundleError;
use super::stream::ChunkReader;

/// Maximum size of the JSON text of one secret, in bytes. A value of 64 KiB takes 384 KiB if every
/// byte is escaped.
const MAX_ITEM: usize = 1 << 20;

/// Reader of the objects in a JSON array, which is the payload of a bundle.
pub(super) struct Items<R> {
    chunks: ChunkReader<R>,
    /// Index of the next unread byte in the current decrypted chunk.
    at: usize,
    item: Zeroizing<Vec<u8>>,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    Inside,
    After,
}

/// State of the JSON scanner that searches for the end of an object: nesting depth, and position
/// relative to strings and escapes.
#[derive(Default)]
struct Scan {
    depth: u32,
    in_text: bool,
    is_escaped: bool,
}

const NOT_AN_ARRAY: BundleError = BundleError::Malformed("the payload is not an array of objects");
const ITEM_TOO_LARGE: BundleError = BundleError::Malformed("a secret is larger than 1 MiB");

impl<R: Read> Items<R> {
    pub(super) fn new(chunks: ChunkReader<R>) -> Self {
        let item = Zeroizing::new(Vec::new());
        Self { chunks, at: 0, item, place: Place::Before }
    }

    /// Reads the next object's bytes. Returns `None` after the last object, once the end of the
    /// payload is confirmed.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, BundleError> {
        let first = match (self.place, self.next_non_whitespace()?) {
            (Place::Before, b'[') => match self.next_non_whitespace()? {
                b']' => return self.end(),
                first => first,
            },
            (Place::Inside, b',') => self.next_non_whitespace()?,
            (Place::Inside, b']') => return self.end(),
            _ => return Err(NOT_AN_ARRAY),
        };
        if first != b'{' {
            return Err(NOT_AN_ARRAY);
        }
        self.place = Place::Inside;
        // Move back by one byte, because the opening brace is part of the object.
        self.at -= 1;
        self.object()?;
        Ok(Some(&self.item))
    }

    /// Restarts reading at the first chunk. The chunks begin at offset `start` of the source and
    /// are `length` bytes long in total.
    pub(super) fn restart(&mut self, start: u64, length: u64) -> Result<(), BundleError>
    where
        R: Seek,
    {
        (self.at, self.place) = (0, Place::Before);
        self.chunks.restart(start, length)
    }

    fn end(&mut self) -> Result<Option<&[u8]>, BundleError> {
        self.place = Place::After;
        match self.byte()? {
            None => Ok(None),
            Some(_) => Err(BundleError::Malformed("data follows the payload")),
        }
    }

    fn object(&mut self) -> Result<(), BundleError> {
        self.item.clear();
        let mut scan = Scan::default();
        loop {
            let rest = self.chunks.plain().get(self.at..).unwrap_or_default();
            let end = scan.end(rest);
            let taken = end.unwrap_or(rest.len());
            if self.item.len() + taken > MAX_ITEM {
                return Err(ITEM_TOO_LARGE);
            }
            append(&mut self.item, &rest[..taken]);
            self.at += taken;
            if end.is_some() {
                return Ok(());
            }
            if !self.more()? {
                return Err(NOT_AN_ARRAY);
            }
        }
    }

    /// Reads the next byte that is not whitespace.
    fn next_non_whitespace(&mut self) -> Result<u8, BundleError> {
        loop {
            match self.byte()? {
                Some(b' ' | b'\t' | b'\n' | b'\r') => {}
                Some(byte) => return Ok(byte),
                None => return Err(NOT_AN_ARRAY),
            }
        }
    }

    fn byte(&mut self) -> Result<Option<u8>, BundleError> {
        while self.at == self.chunks.plain().len() {
            if !self.more()? {
                return Ok(None);
            }
        }
        let byte = self.chunks.plain().get(self.at).copied();
        self.at += 1;
        Ok(byte)
    }

    fn more(&mut self) -> Result<bool, BundleError> {
        self.at = 0;
        self.chunks.advance()
    }
}

impl Scan {
    /// Scans the next part of an object, `bytes`, for the closing brace of the object. Returns the
    /// number of bytes up to and including the brace; `None` if the object continues after `bytes`.
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.in_text => self.is_escaped = true,
                b'"' => self.in_text = !self.in_text,
                _ if self.in_text => {}
                b'{' => self.depth = self.depth.saturating_add(1),
                b'}' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// Appends bytes to a buffer. If the buffer must grow, its old memory is wiped.
fn append(item: &mut Zeroizing<Vec<u8>>, bytes: &[u8]) {
    let needed = item.len() + bytes.len();
    if needed > item.capacity() {
        let mut larger = Zeroizing::new(Vec::with_capacity(needed.next_power_of_two()));
        larger.extend_from_slice(item);
        *item = larger;
    }
    item.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use super::super::file_key::FileKey;
    use super::super::stream::ChunkWriter;
    use super::*;

    fn items(payload: &[u8]) -> Items<Cursor<Vec<u8>>> {
        let cipher = FileKey::generate().cipher(&[0; 16]);
        let mut file = Vec::new();
        let mut chunks = ChunkWriter::new(&mut file, cipher.clone());
        chunks.write_all(payload).unwrap();
        chunks.finish();
        let length = file.len() as u64;
        Items::new(ChunkReader::new(Cursor::new(file), cipher, length))
    }

    #[test]
    fn objects_are_split_at_any_chunk_boundary() {
        for room in 65_500..65_540 {
            let first = format!(r#"{{"a":"{}"}}"#, "x".repeat(room - 9));
            let second = r#"{"}":"\\\"{","b":{"c":[]}}"#;
            let mut items = items(format!("[{first} ,{second}]").as_bytes());

            assert_eq!(items.next().unwrap(), Some(first.as_bytes()), "{room}");
            assert_eq!(items.next().unwrap(), Some(second.as_bytes()), "{room}");
            assert_eq!(items.next().unwrap(), None, "{room}");
        }
    }

    #[test]
    fn an_object_of_more_than_1_mib_is_refused_unread() {
        let object = |length: usize| format!(r#"[{{"a":"{}"}}]"#, "x".repeat(length - 8));

        assert_eq!(
            items(object(MAX_ITEM).as_bytes()).next().unwrap().map(<[u8]>::len),
            Some(MAX_ITEM)
        );
        let refused = items(object(MAX_ITEM + 1).as_bytes()).next().unwrap_err();
        assert_eq!(refused.to_string(), ITEM_TOO_LARGE.to_string());
    }
}
