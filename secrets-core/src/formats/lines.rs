//! Text formats with one line per secret.

use std::fmt::Write as _;

use zeroize::Zeroizing;

use super::is_variable;

/// Maximum line length in bytes: Docker reads lines of at most 64 KiB, including the line break.
const MAX_DOCKER_LINE: usize = 64 * 1024 - 1;

/// Writes the line `KEY=value` of an environment file for Docker. Docker takes everything after `=`
/// literally: values cannot be quoted, so a line break cannot be written.
pub(super) fn docker(text: &mut String, key: &str, value: &str) -> Result<(), &'static str> {
    if value.contains(['\n', '\r']) {
        return Err("must be one line in this format: Docker cannot read line breaks from a file");
    }
    if key.len() + 1 + value.len() > MAX_DOCKER_LINE {
        return Err("must be at most 65535 bytes together with its key and `=` in this format");
    }
    // Writing to a `String` cannot fail.
    let _ = writeln!(text, "{key}={value}");
    Ok(())
}

/// Writes the line `export KEY=value`, with the value quoted for a POSIX shell.
pub(super) fn shell(text: &mut String, key: &str, value: &str) -> Result<(), &'static str> {
    is_variable(key)?;
    let quoted = shlex::try_quote(value).map_err(|_| "must not contain the character NUL")?;
    let quoted = Zeroizing::new(quoted.into_owned());
    let _ = writeln!(text, "export {key}={}", *quoted);
    Ok(())
}
