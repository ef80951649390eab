//! Fuzz target of the configuration.

use std::ffi::OsString;
use std::path::PathBuf;
use std::{fs, process, thread};

use secrets_core::testing::folder;
use secrets_core::testing::fuzz::assert_no_echo;

use crate::program::config::{flag_names, read_from};

/// Texts of inputs that are skipped: names of settings whose value is the path of a file, and the
/// escape sequences with which TOML could write such a name.
const FILE_SETTINGS: [&str; 5] = ["_file", "-file", "rules", "\\u", "\\x"];

/// Constant parts of failure messages, such as examples of valid values. They do not count as
/// repetitions of the input.
const EXAMPLES: &str = "\
    must be a network such as 10.0.0.0/8, an address or a host name
    must be networks or addresses separated by commas, such as 10.0.0.0/8,192.0.2.1
    must be a URL such as https://secrets.example.com, optionally with a path
    must be an address that begins with https:// or http://
    must be an address such as Secrets <secrets@example.com>
    must be an address and a port, such as 127.0.0.1:8080 or [::]:8080
    give 127.0.0.1:PORT
    give sqlite://PATH, postgres://... or memory:
    such as https://login.example.com
    Usage: secrets-http
    SECRETS_DATABASE_URL SECRETS_ROOT_KEY SECRETS_JWT_ISSUER SECRETS_JWT_AUDIENCE SECRETS_LISTEN
    SECRETS_EGRESS_ALLOW SECRETS_SMTP_URL SECRETS_PUBLIC_URL is not a setting of this version";

/// Prefix of the names of the environment variables that are settings.
const VARIABLE: &str = "SECRETS_";

/// Reads a configuration, and checks that no failure message repeats a value. The lines of the
/// input before the line `---` are environment variables and arguments, the lines after it are the
/// configuration file.
pub fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let lower = text.to_ascii_lowercase();
    if FILE_SETTINGS.iter().any(|part| lower.contains(part)) {
        return;
    }
    let (lines, file) = text.split_once("\n---\n").unwrap_or((text, ""));
    let pairs = lines.lines().filter_map(|line| line.split_once('='));
    let variables: Vec<_> = pairs.filter(|(name, _)| name.starts_with(VARIABLE)).collect();
    let path = path();
    fs::write(&path, file).unwrap();
    let words = lines.lines().filter(|line| !line.starts_with(VARIABLE)).map(Into::into);
    let end = ["--config".into(), path.clone().into()];
    let arguments: Vec<OsString> =
        ["secrets-http".into()].into_iter().chain(words).chain(end).collect();
    let environment = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();

    let outcome = read_from(arguments, environment);
    fs::remove_file(&path).unwrap();
    let Err(failure) = outcome else { return };
    // Secrets are not accepted as arguments, so a failure may repeat an argument.
    let words: Vec<_> = lines.lines().filter(|line| !line.starts_with(VARIABLE)).collect();
    let words = words.join("\n");
    // Clap leaves out control characters.
    let printed = words.replace(char::is_control, "");
    // Failures name the file, and propose flags.
    let (path, flags) = (path.to_string_lossy(), flag_names().join("\n"));
    let known = [EXAMPLES, &words, &printed, &path, &flags, &names(lines), &names(file)].join("\n");
    for (_, value) in variables {
        assert_no_echo(value.as_bytes(), &failure.message, &known);
    }
    for (_, value) in file.lines().filter_map(|line| line.split_once('=')) {
        assert_no_echo(value.as_bytes(), &failure.message, &known);
    }
}

/// Returns the names of the variables, keys and tables in these lines. A failure message may repeat
/// them.
fn names(lines: &str) -> String {
    let names = lines.lines().map(|line| line.split_once('=').map_or(line, |(name, _)| name));
    names.collect::<Vec<_>>().join("\n")
}

/// Returns the path of the configuration file: a temporary file of this thread.
fn path() -> PathBuf {
    let name = format!("secrets-fuzz-{}-{:?}.toml", process::id(), thread::current().id());
    folder().join(name)
}
