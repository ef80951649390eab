//! Formats of one line for each secret that no library reads for us.

use std::fmt::Write as _;

use super::is_variable;

/// Docker reads lines of at most 64 KiB, the line break included.
const DOCKER_LINE: usize = 64 * 1024 - 1;

/// `KEY=value`. Docker takes everything behind the `=` as it stands: there is no quoting, and so no
/// way to write a line break.
pub(super) fn docker(text: &mut String, key: &str, value: &str) -> Result<(), &'static str> {
    if value.contains(['\n', '\r']) {
        return Err("must be one line in this format: Docker cannot read line breaks from a file");
    }
    if key.len() + 1 + value.len() > DOCKER_LINE {
        return Err("must be at most 65535 bytes together with its key and `=` in this format");
    }
    // Writing to a text cannot fail.
    let _ = writeln!(text, "{key}={value}");
    Ok(())
}

/// `export KEY=value`, quoted for a POSIX shell.
pub(super) fn shell(text: &mut String, key: &str, value: &str) -> Result<(), &'static str> {
    is_variable(key)?;
    let quoted = shlex::try_quote(value).map_err(|_| "must not contain the character NUL")?;
    let _ = writeln!(text, "export {key}={quoted}");
    Ok(())
}
