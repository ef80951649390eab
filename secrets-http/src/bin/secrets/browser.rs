//! Browser on the desktop of this machine.

use std::process::{Command, Stdio};

use reqwest::Url;

use crate::settings::{TOKEN_VARIABLES, Variables};

/// Opens a page if there is a desktop and this is no shell of another machine. Returns true if a browser
/// was started; whether it shows the page is not known.
pub(crate) fn open_page(url: &Url, variables: Variables) -> bool {
    // Other schemes start other programs.
    let is_page = matches!(url.scheme(), "https" | "http");
    is_page && variables.has_desktop() && open::commands(url.as_str()).into_iter().any(starts)
}

/// Starts a program without the terminal, without credentials, and out of the reach of Ctrl-C.
fn starts(mut command: Command) -> bool {
    for name in TOKEN_VARIABLES {
        command.env_remove(name);
    }
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
}
