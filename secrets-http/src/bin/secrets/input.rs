//! Passwords and keys that are read from files. They are not accepted as arguments, because other
//! users of the machine can see arguments.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use zeroize::Zeroizing;

use crate::failure::{Exit, Failure};

/// Maximum number of bytes of a file with a password or a key.
const MAX_BYTES: u64 = 64 * 1024;

/// Reads a password or key from a file, or from standard input for the path `-`. Newlines at the
/// end are removed.
pub(crate) fn read_secret(path: &Path) -> Result<Zeroizing<String>, Failure> {
    let mut text = Zeroizing::new(String::new());
    let read = if path == Path::new("-") {
        io::stdin().take(MAX_BYTES + 1).read_to_string(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text))
    };
    read.map_err(|error| Failure::new(Exit::NoInput, format!("{}: {error}", path.display())))?;
    if text.len() as u64 > MAX_BYTES {
        let message = format!("{}: must have at most {MAX_BYTES} bytes", path.display());
        return Err(Failure::new(Exit::Data, message));
    }
    Ok(Zeroizing::new(text.trim_end_matches(['\r', '\n']).to_owned()))
}
