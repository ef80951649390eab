//! Copying text to the clipboard of the user.

use std::io::Write as _;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::settings::without_token;

/// Program that copies its standard input to the clipboard, and the environment variable that must
/// be set for the program to have a display.
struct Tool {
    variable: Option<&'static str>,
    command: &'static [&'static str],
}

/// Programs that can copy to the clipboard, in the order in which they are tried. They read the
/// text from standard input, because other users of the machine could see an argument.
const TOOLS: [Tool; 5] = [
    Tool { variable: Some("WAYLAND_DISPLAY"), command: &["wl-copy"] },
    Tool { variable: Some("DISPLAY"), command: &["xclip", "-selection", "clipboard"] },
    Tool { variable: Some("DISPLAY"), command: &["xsel", "--clipboard", "--input"] },
    Tool { variable: None, command: &["pbcopy"] },
    Tool { variable: None, command: &["clip.exe"] },
];

/// Copies text to the clipboard with the first program that works, or else with a terminal escape
/// sequence (OSC 52). Over SSH, always uses the escape sequence, because only the terminal has
/// access to the user's clipboard.
pub(crate) fn copy(cx: &Invocation, text: &str) -> Result<(), Failure> {
    if !cx.settings.variables.is_remote() {
        for tool in &TOOLS {
            let has_display = match tool.variable {
                Some(name) => cx.settings.variables.get(name)?.is_some(),
                None => true,
            };
            if has_display && run(tool.command, text) {
                return Ok(());
            }
        }
    }
    to_terminal(text)
}

/// Runs a program that gets `text` as its standard input. Returns false if the program does not
/// exist or fails.
fn run(command: &[&str], text: &str) -> bool {
    let [program, arguments @ ..] = command else { return false };
    let mut command = Command::new(program);
    without_token(&mut command);
    let child = command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else { return false };
    let written =
        child.stdin.take().is_some_and(|mut pipe| pipe.write_all(text.as_bytes()).is_ok());
    child.wait().is_ok_and(|status| status.success()) && written
}

fn to_terminal(text: &str) -> Result<(), Failure> {
    let encoded = Zeroizing::new(STANDARD.encode(text));
    let sequence = Zeroizing::new(format!("\x1b]52;c;{}\x07", *encoded));
    let terminal = std::fs::OpenOptions::new().write(true).open("/dev/tty");
    terminal.and_then(|mut terminal| terminal.write_all(sequence.as_bytes())).map_err(|_| {
        let message = "no clipboard: there is no terminal, and neither wl-copy, xclip, xsel nor \
                       pbcopy works";
        Failure::new(Exit::CannotCreate, message)
    })
}
