//! The objects of a JSON array, one at a time, out of chunks.

use std::io::{Read, Seek};

use zeroize::Zeroizing;

use super::Refused;
use super::stream::ChunkReader;

/// The most bytes of one object: a value of 64 KiB is 384 KiB where each byte is escaped.
const ITEM: usize = 1 << 20;

/// The objects of an array.
pub(super) struct Items<R> {
    chunks: ChunkReader<R>,
    /// How much of the present chunk is read.
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

/// Where in an object its bytes have come to.
#[derive(Default)]
struct Scan {
    depth: u32,
    in_text: bool,
    is_escaped: bool,
}

const ARRAY: Refused = Refused::Malformed("its payload is not an array of objects");
const SIZE: Refused = Refused::Malformed("a secret of it is larger than 1 MiB");

impl<R: Read> Items<R> {
    pub(super) fn new(chunks: ChunkReader<R>) -> Self {
        let item = Zeroizing::new(Vec::new());
        Self { chunks, at: 0, item, place: Place::Before }
    }

    /// The bytes of the next object; `None` after the last, when the payload has ended as well.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, Refused> {
        let first = match (self.place, self.byte_that_counts()?) {
            (Place::Before, b'[') => match self.byte_that_counts()? {
                b']' => return self.end(),
                first => first,
            },
            (Place::Inside, b',') => self.byte_that_counts()?,
            (Place::Inside, b']') => return self.end(),
            _ => return Err(ARRAY),
        };
        if first != b'{' {
            return Err(ARRAY);
        }
        self.place = Place::Inside;
        // Back to the brace, which is of the object.
        self.at -= 1;
        self.object()?;
        Ok(Some(&self.item))
    }

    /// Begins again, with the chunks that begin there in the source.
    pub(super) fn restart(&mut self, start: u64, length: u64) -> Result<(), Refused>
    where
        R: Seek,
    {
        (self.at, self.place) = (0, Place::Before);
        self.chunks.restart(start, length)
    }

    fn end(&mut self) -> Result<Option<&[u8]>, Refused> {
        self.place = Place::After;
        match self.byte()? {
            None => Ok(None),
            Some(_) => Err(Refused::Malformed("something follows its payload")),
        }
    }

    fn object(&mut self) -> Result<(), Refused> {
        self.item.clear();
        let mut scan = Scan::default();
        loop {
            let rest = self.chunks.plain().get(self.at..).unwrap_or_default();
            let end = scan.end(rest);
            let taken = end.unwrap_or(rest.len());
            if self.item.len() + taken > ITEM {
                return Err(SIZE);
            }
            append(&mut self.item, &rest[..taken]);
            self.at += taken;
            if end.is_some() {
                return Ok(());
            }
            if !self.more()? {
                return Err(ARRAY);
            }
        }
    }

    /// The next byte that is no white space.
    fn byte_that_counts(&mut self) -> Result<u8, Refused> {
        loop {
            match self.byte()? {
                Some(b' ' | b'\t' | b'\n' | b'\r') => {}
                Some(byte) => return Ok(byte),
                None => return Err(ARRAY),
            }
        }
    }

    fn byte(&mut self) -> Result<Option<u8>, Refused> {
        while self.at == self.chunks.plain().len() {
            if !self.more()? {
                return Ok(None);
            }
        }
        let byte = self.chunks.plain().get(self.at).copied();
        self.at += 1;
        Ok(byte)
    }

    fn more(&mut self) -> Result<bool, Refused> {
        self.at = 0;
        self.chunks.advance()
    }
}

impl Scan {
    /// How many of these bytes belong to the object, if it ends in them.
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

/// Appends, and wipes what is left behind where there is too little room.
fn append(item: &mut Zeroizing<Vec<u8>>, bytes: &[u8]) {
    let needed = item.len() + bytes.len();
    if needed > item.capacity() {
        let mut larger = Zeroizing::new(Vec::with_capacity(needed.next_power_of_two()));
        larger.extend_from_slice(item);
        *item = larger;
    }
    item.extend_from_slice(bytes);
}
