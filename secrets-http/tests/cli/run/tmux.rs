//! Terminal with an interactive shell in tmux, for tests of job control.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::home::Home;

/// Maximum time that a test waits for the screen to show the expected text.
const TIMEOUT: Duration = Duration::from_secs(20);

static SOCKETS: AtomicU32 = AtomicU32::new(0);

/// Server process of tmux with one window in which bash runs. It is stopped when this value is
/// dropped.
pub(crate) struct Tmux {
    socket: String,
}

impl Tmux {
    /// Starts bash in the working folder, in a window of 80 columns and 24 lines. In the shell,
    /// `secrets` is a function that runs the program under test.
    pub(crate) fn start(home: &Home) -> Self {
        let number = SOCKETS.fetch_add(1, Ordering::Relaxed);
        let socket = format!("secrets-test-{}-{number}", std::process::id());
        let shell = "exec bash --norc --noprofile -i";
        let options =
            ["-f", "/dev/null", "-L", &socket, "new-session", "-d", "-x", "80", "-y", "24"];
        let status = home
            .program("tmux", options)
            .arg(shell)
            .env("TERM", "screen-256color")
            .env("PS1", "$ ")
            .env("SECRETS", env!("CARGO_BIN_EXE_secrets"))
            .stdin(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
        let tmux = Self { socket };
        tmux.line("set +o history; stty -ixon; secrets() { \"$SECRETS\" \"$@\"; }; echo rea''dy");
        tmux.wait_for("ready");
        tmux
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let output =
            Command::new("tmux").args(["-L", &self.socket]).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Types a line of text and presses Enter.
    pub(crate) fn line(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
        self.keys(&["Enter"]);
    }

    /// Presses keys, given by their names in tmux, such as `C-c`.
    pub(crate) fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Changes the size of the window.
    pub(crate) fn resize(&self, columns: u16, lines: u16) {
        let (columns, lines) = (columns.to_string(), lines.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &lines]);
    }

    /// Returns the text of the window, including the lines that have scrolled out.
    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-J", "-S", "-"])
    }

    /// Waits until the window shows this text, and returns the whole text of the window.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    /// Waits until the text of the window satisfies a condition, and returns the text. `what`
    /// describes the condition for the error message.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, is_met: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + TIMEOUT;
        loop {
            let screen = self.screen();
            if is_met(&screen) {
                return screen;
            }
            assert!(Instant::now() < until, "no {what:?} in:\n{screen}");
            sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}
