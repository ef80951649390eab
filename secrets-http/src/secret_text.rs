//! Texts with secrets from files and standard input.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::mem;
use std::path::Path;

use zeroize::Zeroizing;

/// Error: a text cannot be read.
#[derive(Debug)]
pub enum TextError {
    /// The input cannot be read.
    Read(io::Error),
    /// The text is longer than this maximum, in bytes.
    TooLong(usize),
    /// The text is not UTF-8.
    NotUtf8,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::TooLong(limit) => write!(f, "must have at most {limit} bytes"),
            Self::NotUtf8 => f.write_str("must be UTF-8 text"),
        }
    }
}

impl std::error::Error for TextError {}

/// Reads a file, or standard input for the path `-`, as [`read_secret_text`] does.
pub fn read_secret_file(path: &Path, limit: usize) -> Result<Zeroizing<String>, TextError> {
    if path == Path::new("-") {
        return read_secret_text(io::stdin(), limit);
    }
    read_secret_text(File::open(path).map_err(TextError::Read)?, limit)
}

/// Reads a UTF-8 text of at most `limit` bytes. The memory of the text is wiped on drop.
pub fn read_secret_text(input: impl Read, limit: usize) -> Result<Zeroizing<String>, TextError> {
    // The buffer has its full size from the start: growing would leave copies in freed memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(limit + 1));
    input.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(TextError::Read)?;
    if bytes.len() > limit {
        return Err(TextError::TooLong(limit));
    }
    String::from_utf8(mem::take(&mut *bytes)).map(Zeroizing::new).map_err(|error| {
        drop(Zeroizing::new(error.into_bytes()));
        TextError::NotUtf8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<String, String> {
        let text = read_secret_text(bytes, 8).map_err(|error| error.to_string())?;
        assert!(text.capacity() <= 9, "the buffer has grown");
        Ok(text.to_string())
    }

    #[test]
    fn a_text_has_a_maximum_size_and_is_utf8() {
        let too_long = Err("must have at most 8 bytes".to_owned());

        assert_eq!(read(b""), Ok(String::new()));
        assert_eq!(read("éééé".as_bytes()), Ok("éééé".to_owned()));
        assert_eq!(read(b"123456789"), too_long);
        // The ninth byte is the first half of a character.
        assert_eq!(read("12345678é".as_bytes()), too_long);
        assert_eq!(read(b"\xff"), Err("must be UTF-8 text".to_owned()));
    }
}
