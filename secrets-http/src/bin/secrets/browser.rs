//! Access to the web browser on the desktop of this machine.

use std::process::{Command, Stdio};

use reqwest::Url;

use crate::settings::{Variables, without_token};

/// Opens a page in the web browser, unless this machine has no desktop or the program runs in a
/// remote shell. Returns true if a browser was started; the page may still not appear.
pub(crate) fn open_page(url: &Url, variables: Variables) -> bool {
    // A URL with another scheme would start another program.
    let is_page = matches!(url.scheme(), "https" | "http");
    is_page && variables.has_desktop() && open::commands(url.as_str()).into_iter().any(starts)
}

/// Starts a program without access to the terminal and without credentials, in a process group that
/// Ctrl-C does not reach. Returns true if it was started.
fn starts(mut command: Command) -> bool {
    without_token(&mut command);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
}
