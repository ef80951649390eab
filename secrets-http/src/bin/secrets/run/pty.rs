//! Pseudo-terminal of the program that `secrets run --mask` runs, between the program and the
//! terminal of this process.

use std::io::{self, stdout};
use std::os::fd::OwnedFd;
use std::time::Duration;

use nix::pty::openpty;
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::termios::{Winsize, tcgetwinsize, tcsetwinsize};
use tokio::io::unix::AsyncFd;
use zeroize::Zeroizing;

use super::terminal::Terminal;

/// Interval at which this process, while it is in the background, checks whether it has come to the
/// foreground. The shell sends a running job no signal when that happens.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Maximum number of bytes of keyboard input that are read at once.
const READ_SIZE: usize = 4096;

/// Pseudo-terminal of the program that `secrets run` runs. While the program is in the foreground,
/// the terminal of this process is in raw mode and passes on all bytes unchanged.
pub(super) struct Pty {
    master: AsyncFd<OwnedFd>,
    slave: OwnedFd,
    /// Modes that the pseudo-terminal had when it was created.
    modes: Termios,
    /// Controlling terminal of this process; `None` if it has none.
    terminal: Option<Terminal>,
    keyboard: Option<AsyncFd<OwnedFd>>,
    /// Keyboard input that the pseudo-terminal has not accepted yet.
    typed: Zeroizing<Vec<u8>>,
    is_foreground: bool,
}

impl Pty {
    /// Creates a pseudo-terminal with the modes and the size of the terminal of this process.
    pub(super) fn open() -> io::Result<Self> {
        let terminal = Terminal::controlling();
        let pair = openpty(None, terminal.as_ref().map(Terminal::modes))?;
        for end in [&pair.master, &pair.slave] {
            fcntl_setfd(end, FdFlags::CLOEXEC)?;
        }
        fcntl_setfl(&pair.master, fcntl_getfl(&pair.master)? | OFlags::NONBLOCK)?;
        let keyboard = terminal.as_ref().map(|terminal| watched(terminal.input()?));
        let mut pty = Self {
            modes: tcgetattr(&pair.slave)?,
            master: watched(pair.master)?,
            slave: pair.slave,
            terminal,
            keyboard: keyboard.transpose()?,
            typed: Zeroizing::default(),
            is_foreground: false,
        };
        pty.resize();
        pty.enter();
        Ok(pty)
    }

    /// Returns a file descriptor for reading the output of the program.
    pub(super) fn master(&self) -> io::Result<OwnedFd> {
        self.master.get_ref().try_clone()
    }

    /// Returns the slave side of the pseudo-terminal, which the program uses as its terminal.
    pub(super) fn slave(&self) -> io::Result<OwnedFd> {
        self.slave.try_clone()
    }

    /// True if keyboard input can be read from the terminal of this process.
    pub(super) fn has_keyboard(&self) -> bool {
        self.keyboard.is_some()
    }

    /// Starts to pass on keyboard input, if this process is in the foreground. The terminal of this
    /// process is set to raw mode.
    pub(super) fn enter(&mut self) {
        let Some(terminal) = self.terminal.as_ref().filter(|terminal| terminal.is_ours()) else {
            return;
        };
        terminal.set_raw();
        self.is_foreground = true;
        self.resize();
    }

    /// Stops passing on keyboard input, and restores the modes of this process's terminal.
    pub(super) fn leave(&mut self) {
        if let Some(terminal) = &self.terminal
            && self.is_foreground
            && terminal.is_ours()
        {
            terminal.restore();
        }
        self.is_foreground = false;
    }

    /// Calls `write` while the terminal of this process has its original modes. In raw mode, a
    /// newline would not return to the start of the line.
    pub(super) fn in_first_modes(&self, write: impl FnOnce()) {
        let terminal = self.terminal.as_ref().filter(|_| self.is_foreground);
        terminal.inspect(|terminal| terminal.restore());
        write();
        terminal.inspect(|terminal| terminal.set_raw());
    }

    /// Restores the initial modes of the pseudo-terminal. Needed before the program is started on
    /// it again.
    pub(super) fn reset(&self) {
        let _ = tcsetattr(&self.slave, SetArg::TCSANOW, &self.modes);
    }

    /// Sets the window size of the pseudo-terminal to that of this process's terminal. The system
    /// then sends SIGWINCH to the program. Returns true if the size has changed.
    pub(super) fn resize(&self) -> bool {
        let of_output = || tcgetwinsize(stdout()).ok();
        let size = self.terminal.as_ref().and_then(Terminal::size).or_else(of_output);
        let current = tcgetwinsize(&self.slave).ok();
        size.is_some_and(|size| {
            !current.is_some_and(|current| is_same(size, current))
                && tcsetwinsize(&self.slave, size).is_ok()
        })
    }

    /// Passes on the next keyboard input to the program. The future can be dropped at any time
    /// without losing input.
    pub(super) async fn relay(&mut self) {
        if !self.typed.is_empty() {
            return self.write().await;
        }
        match (&self.terminal, &self.keyboard) {
            (Some(terminal), Some(keyboard)) if self.is_foreground => {
                let Ok(mut ready) = keyboard.readable().await else { return };
                if !terminal.is_ours() {
                    self.is_foreground = false;
                    return;
                }
                let mut space = Zeroizing::new([0; READ_SIZE]);
                let read = ready.try_io(|input| Ok(rustix::io::read(input, &mut *space)?));
                match read {
                    Ok(Ok(0) | Err(_)) => self.is_foreground = false,
                    Ok(Ok(length)) => self.typed.extend_from_slice(&space[..length]),
                    // The readiness was spurious: there is no input.
                    Err(_) => {}
                }
            }
            (Some(_), Some(_)) => {
                tokio::time::sleep(POLL_INTERVAL).await;
                self.enter();
            }
            _ => std::future::pending().await,
        }
    }

    async fn write(&mut self) {
        let Ok(mut ready) = self.master.writable().await else { return };
        match ready.try_io(|master| Ok(rustix::io::write(master, &self.typed)?)) {
            Ok(Ok(length)) => drop(self.typed.drain(..length)),
            Ok(Err(_)) => self.typed.clear(),
            Err(_) => {}
        }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Registers a file descriptor with the async runtime, so that its readiness can be awaited.
#[expect(deprecated, reason = "sound for an `OwnedFd`, which always names one open description")]
fn watched(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(descriptor)
}

fn is_same(one: Winsize, other: Winsize) -> bool {
    (one.ws_row, one.ws_col, one.ws_xpixel, one.ws_ypixel)
        == (other.ws_row, other.ws_col, other.ws_xpixel, other.ws_ypixel)
}
