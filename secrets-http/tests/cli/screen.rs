//! Shell in a terminal of tmux, for tests of completion and prompts.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::home::Home;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Shell in a tmux terminal, started in the working folder of a test user ([`Home`]). The program
/// `secrets` is in its `PATH`.
pub(crate) struct Screen {
    socket: String,
    _folder: tempfile::TempDir,
}

impl Screen {
    /// Starts bash without reading its startup files.
    pub(crate) fn start(home: &Home) -> Self {
        Self::start_with(home, "bash --norc --noprofile -i")
    }

    /// Starts a shell with this command line.
    pub(crate) fn start_with(home: &Home, shell: &str) -> Self {
        // Each terminal has its own tmux server, because a shared server that is ending would also
        // end a new session.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let socket = folder.path().join("tmux").display().to_string();
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_secrets")).parent().unwrap();
        let path = std::env::join_paths(
            std::iter::once(program.to_owned())
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        let command =
            ["-S", &socket, "-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40"];
        let output = home
            .program("tmux", command)
            .arg(shell)
            .env("PATH", path.unwrap())
            .env("PS1", "ready> ")
            .env("LANG", "C.UTF-8")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        Self { socket, _folder: folder }
    }

    /// Presses keys, given by their names in tmux. Words that are not names of keys are typed as
    /// text.
    pub(crate) fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Waits until the screen shows this text.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) {
        let until = Instant::now() + TIMEOUT;
        loop {
            let shown = self.text();
            if shown.contains(text) {
                return;
            }
            assert!(Instant::now() < until, "the screen does not show {text:?}:\n{shown}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the text that the screen shows.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned()
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        Command::new("tmux").args(["-S", &self.socket]).args(arguments).output().unwrap()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}
