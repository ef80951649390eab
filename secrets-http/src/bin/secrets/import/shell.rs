//! Reader for `export KEY=value` lines, quoted for a POSIX shell.

use super::{Entry, Found};

/// Reads assignments such as `export KEY=value`. Variables and commands in values are not expanded;
/// a line with another command is an error.
pub(super) fn read(text: &str) -> Result<Found, String> {
    let words = shlex::split(text).ok_or("a quote is never closed")?;
    let mut found = Found::default();
    for word in words.iter().filter(|word| *word != "export") {
        let (name, value) =
            word.split_once('=').ok_or("must have no commands but `export KEY=value`")?;
        found.entries.push(Entry::text(name, value));
    }
    Ok(found)
}
