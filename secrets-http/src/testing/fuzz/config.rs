//! Fuzz target of the configuration.

use std::ffi::OsString;
use std::path::PathBuf;
use std::{fs, process, thread};

use secrets_core::testing::folder;
use secrets_core::testing::fuzz::assert_no_echo;

use crate::program::config::{Configured, Failure, read_from};

/// Texts of inputs that are skipped: names of settings whose value is the path of a file, and the
/// escape sequences with which TOML could write such a name.
const FILE_SETTINGS: [&str; 5] = ["_file", "-file", "rules", "\\u", "\\x"];

/// Text that is inserted into each value. A failure message that contains a part of it repeats a
/// value: no constant message contains such a part.
const MARK: &[u8] = b"kvcZq7Xw3Jv9";

/// Prefix of the names of the environment variables that are settings.
const VARIABLE: &str = "SECRETS_";

/// Reads a configuration, as given and with marked values, and checks that no failure message
/// repeats a value. The lines of the input before the line `---` are environment variables and
/// arguments, the lines after it are the configuration file.
pub fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let lower = text.to_ascii_lowercase();
    if FILE_SETTINGS.iter().any(|part| lower.contains(part)) {
        return;
    }
    drop(read(text));
    let marked: Vec<_> = text.split('\n').map(marked).collect();
    let marked = marked.join("\n");
    let Err(failure) = read(&marked) else { return };
    // Secrets are not accepted as arguments, so a failure may repeat an argument.
    let (lines, _) = split(&marked);
    let words: Vec<_> = lines.lines().filter(|line| !line.starts_with(VARIABLE)).collect();
    assert_no_echo(MARK, &failure.message, &words.join("\n"));
}

/// Reads a configuration in the form of the input.
fn read(text: &str) -> Result<Configured, Failure> {
    let (lines, file) = split(text);
    let pairs = lines.lines().filter_map(|line| line.split_once('='));
    let variables = pairs.filter(|(name, _)| name.starts_with(VARIABLE));
    let variables = variables.map(|(name, value)| (name.into(), value.into())).collect();
    let path = path();
    fs::write(&path, file).unwrap();
    let words = lines.lines().filter(|line| !line.starts_with(VARIABLE)).map(Into::into);
    let end = ["--config".into(), path.clone().into()];
    let arguments: Vec<OsString> =
        ["secrets-http".into()].into_iter().chain(words).chain(end).collect();
    let outcome = read_from(arguments, variables);
    fs::remove_file(&path).unwrap();
    outcome
}

/// Splits an input into the lines of variables and arguments, and the configuration file.
fn split(text: &str) -> (&str, &str) {
    text.split_once("\n---\n").unwrap_or((text, ""))
}

/// Inserts the mark into the middle of the value in a line of the form `name=value`. Leaves out
/// quoted names and inline tables, where the mark could become a part of a name, which a failure
/// may repeat.
fn marked(line: &str) -> String {
    let pair = line.split_once('=');
    let pair = pair.filter(|(name, value)| !name.contains(['"', '\'']) && !value.contains('{'));
    let Some((name, value)) = pair else { return line.to_owned() };
    let (before, after) = value.split_at(value.floor_char_boundary(value.len() / 2));
    format!("{name}={before}{}{after}", String::from_utf8_lossy(MARK))
}

/// Returns the path of the configuration file: a temporary file of this thread.
fn path() -> PathBuf {
    let name = format!("secrets-fuzz-{}-{:?}.toml", process::id(), thread::current().id());
    folder().join(name)
}
