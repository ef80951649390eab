//! Passwords, keys and tokens that are read from files and standard input. They are not accepted as
//! arguments, because other users of the machine can see arguments.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use zeroize::Zeroizing;

use crate::failure::{Exit, Failure};

/// Maximum number of bytes of a file with a password or a key, or of a token.
const MAX_BYTES: usize = 64 * 1024;

/// Reads a password or key from a file, or from standard input for the path `-`. Newlines at the
/// end are removed.
pub(crate) fn read_secret(path: &Path) -> Result<Zeroizing<String>, Failure> {
    let name = path.display();
    let text = if path == Path::new("-") {
        read_bounded(&name, io::stdin())?
    } else {
        let file = File::open(path).map_err(|error| unreadable(&name, &error))?;
        read_bounded(&name, file)?
    };
    Ok(Zeroizing::new(text.trim_end_matches(['\r', '\n']).to_owned()))
}

/// Reads a text of at most 64 KiB. `name` is the name of the input in error messages.
pub(crate) fn read_bounded(
    name: &dyn Display,
    input: impl Read,
) -> Result<Zeroizing<String>, Failure> {
    // Large enough for the whole text, so that no copy is left in memory by growing.
    let mut text = Zeroizing::new(String::with_capacity(MAX_BYTES + 1));
    let read = input.take(MAX_BYTES as u64 + 1).read_to_string(&mut text);
    read.map_err(|error| unreadable(name, &error))?;
    if text.len() > MAX_BYTES {
        let message = format!("{name}: must have at most {MAX_BYTES} bytes");
        return Err(Failure::new(Exit::Data, message));
    }
    Ok(text)
}

fn unreadable(name: &dyn Display, error: &io::Error) -> Failure {
    let is_text = error.kind() != io::ErrorKind::InvalidData;
    let exit = if is_text { Exit::NoInput } else { Exit::Data };
    Failure::new(exit, format!("{name}: {error}"))
}
