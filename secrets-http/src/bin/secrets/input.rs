//! Passwords, keys and tokens that are read from files and standard input. They are not accepted as
//! arguments, because other users of the machine can see arguments.

use std::fmt::Display;
use std::io::Read;
use std::path::Path;

use secrets_http::secret_text::{TextError, read_secret_file, read_secret_text};
use zeroize::Zeroizing;

use crate::failure::{Exit, Failure};

/// Maximum number of bytes of a file with a password or a key, or of a token.
const MAX_BYTES: usize = 64 * 1024;

/// Reads a password or key from a file, or from standard input for the path `-`. Newlines at the
/// end are removed.
pub(crate) fn read_secret(path: &Path) -> Result<Zeroizing<String>, Failure> {
    let text =
        read_secret_file(path, MAX_BYTES).map_err(|error| unreadable(&path.display(), &error))?;
    Ok(Zeroizing::new(text.trim_end_matches(['\r', '\n']).to_owned()))
}

/// Reads a text of at most 64 KiB. `name` is the name of the input in error messages.
pub(crate) fn read_text(
    name: &dyn Display,
    input: impl Read,
) -> Result<Zeroizing<String>, Failure> {
    read_secret_text(input, MAX_BYTES).map_err(|error| unreadable(name, &error))
}

/// Returns the failure for an input that cannot be read. `name` is the name of the input.
pub(crate) fn unreadable(name: &dyn Display, error: &TextError) -> Failure {
    let exit = if matches!(error, TextError::Read(_)) { Exit::NoInput } else { Exit::Data };
    Failure::new(exit, format!("{name}: {error}"))
}
