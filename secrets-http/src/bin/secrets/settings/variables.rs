//! Environment variables of this process. Only this module reads settings from them.

use std::ffi::OsString;
use std::process::Command;

use zeroize::Zeroizing;

use crate::failure::{Exit, Failure};

/// Names of the environment variables that contain settings.
const SETTINGS: [&str; 6] = [
    "SECRETS_URL",
    "SECRETS_PROJECT",
    "SECRETS_ENVIRONMENT",
    "SECRETS_OFFLINE",
    "SECRETS_CA_FILE",
    "SECRETS_TOKEN_FILE",
];

/// Names of the environment variables that contain a credential or the path of a file with a
/// credential.
pub(crate) const TOKEN_VARIABLES: [&str; 2] = ["SECRETS_TOKEN", "SECRETS_TOKEN_FILE"];

/// Removes the variables with a credential from the environment of a program that this program
/// starts.
pub(crate) fn without_token(command: &mut Command) {
    for name in TOKEN_VARIABLES {
        command.env_remove(name);
    }
}

/// Environment variables of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variables(());

impl Variables {
    /// Checks that all variables with settings contain valid Unicode.
    pub(crate) fn check() -> Result<Self, Failure> {
        let variables = Self(());
        for name in SETTINGS {
            variables.get(name)?;
        }
        Ok(variables)
    }

    /// Returns the value of an environment variable. An empty value counts as absent.
    #[expect(clippy::unused_self, reason = "the value proves that the variables were checked")]
    pub(crate) fn get(self, name: &str) -> Result<Option<String>, Failure> {
        match std::env::var_os(name).filter(|value| !value.is_empty()).map(OsString::into_string) {
            None => Ok(None),
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(_)) => Err(Failure::configuration(format!("{name}: must be valid Unicode"))),
        }
    }

    /// Returns the name of the environment variable from which the token is read: `SECRETS_TOKEN`
    /// or `SECRETS_TOKEN_FILE`. Returns `None` if neither is set.
    pub(crate) fn token_source(self) -> Result<Option<&'static str>, Failure> {
        for name in TOKEN_VARIABLES {
            if self.get(name)?.is_some() {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// Returns the token in `SECRETS_TOKEN`, or else in the file that `SECRETS_TOKEN_FILE` names;
    /// `None` if neither is set.
    pub(crate) fn token(self) -> Result<Option<Zeroizing<String>>, Failure> {
        if let Some(token) = self.get("SECRETS_TOKEN")? {
            return Ok(Some(Zeroizing::new(token)));
        }
        let Some(path) = self.get("SECRETS_TOKEN_FILE")? else { return Ok(None) };
        let text = std::fs::read_to_string(&path).map(Zeroizing::new).map_err(|error| {
            Failure::new(Exit::NoInput, format!("SECRETS_TOKEN_FILE: {path}: {error}"))
        })?;
        let token = text.trim();
        if token.is_empty() || token.contains(char::is_whitespace) {
            let message = format!("SECRETS_TOKEN_FILE: {path}: must contain one token");
            return Err(Failure::configuration(message));
        }
        Ok(Some(Zeroizing::new(token.to_owned())))
    }

    /// True if this program runs on a build server (continuous integration).
    #[expect(clippy::unused_self, reason = "the value proves that the variables were checked")]
    pub(crate) fn is_ci(self) -> bool {
        std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
    }

    /// True if a browser can be opened: on a desktop of this machine, and not in a remote shell.
    pub(crate) fn has_desktop(self) -> bool {
        let has_display = !cfg!(all(unix, not(target_os = "macos")))
            || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
        has_display && !self.is_remote()
    }

    /// True if this program runs in a remote shell (SSH).
    #[expect(clippy::unused_self, reason = "the value proves that the variables were checked")]
    pub(crate) fn is_remote(self) -> bool {
        ["SSH_CONNECTION", "SSH_TTY"].iter().any(|name| std::env::var_os(name).is_some())
    }
}
