//! Thread that copies an output stream of the program run by `secrets run`, and masks secret values
//! in it.
//!
//! It is a separate thread, because a slow reader of the output must block the program, but not the
//! supervisor.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use secrets_core::model::lock::lock;
use tokio::sync::mpsc;

use super::masker::Masker;
use super::patterns::Patterns;

/// Strings to mask, shared between the threads. They are replaced when the secrets change.
pub(super) type SharedPatterns = Arc<Mutex<Arc<Patterns>>>;

/// Output stream of the program, and the stream of this process to which the masked output is
/// copied.
pub(super) struct Stream {
    /// Read end of the pipe, or master side of the pseudo-terminal, to which the program writes.
    pub(super) source: OwnedFd,
    /// Output stream of this process to which the masked output is written.
    pub(super) target: OwnedFd,
    /// Read end of a pipe whose write end is closed when the program has ended.
    pub(super) end: OwnedFd,
    /// Strings to mask.
    pub(super) patterns: SharedPatterns,
    /// Time after which bytes that were held back, because they may be the start of a value, are
    /// written anyway.
    pub(super) delay: Duration,
    /// Lock that the thread holds while it has read bytes and not yet written them.
    pub(super) activity: Arc<Mutex<()>>,
}

/// Event that ends a wait for data.
#[derive(PartialEq, Eq)]
enum Event {
    Data,
    Timeout,
    /// The program has ended, and all its output was read.
    End,
}

impl Stream {
    /// Starts the thread that copies the output. The thread drops `finished` when all output has
    /// been copied.
    pub(super) fn start(self, finished: mpsc::Sender<()>) -> io::Result<()> {
        thread::Builder::new().name("mask".to_owned()).spawn(move || {
            let _finished = finished;
            // An error means that the reader or the terminal is closed. Then the source is closed
            // too, so that SIGPIPE ends the program.
            let _ = self.copy();
        })?;
        Ok(())
    }

    fn copy(self) -> io::Result<()> {
        let (mut source, mut target) =
            (File::from(self.source.try_clone()?), File::from(self.target.try_clone()?));
        let mut masker = Masker::default();
        loop {
            let limit = masker.is_holding().then_some(self.delay);
            let event = self.wait(limit)?;
            let _activity = lock(&self.activity);
            let patterns = Arc::clone(&*lock(&self.patterns));
            let length = match event {
                Event::Data => read(&mut source, masker.space(&patterns))?,
                Event::Timeout | Event::End => 0,
            };
            let output = match length {
                0 => masker.flush(&patterns),
                length => masker.advance(length, &patterns),
            };
            target.write_all(output)?;
            if length == 0 && event != Event::Timeout {
                return Ok(());
            }
        }
    }

    /// Waits for data of the stream, at most for the time `limit`.
    fn wait(&self, limit: Option<Duration>) -> io::Result<Event> {
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        loop {
            let mut sources =
                [PollFd::new(&self.source, PollFlags::IN), PollFd::new(&self.end, PollFlags::IN)];
            match poll(&mut sources, limit.as_ref()) {
                Ok(0) => return Ok(Event::Timeout),
                Ok(_) if !sources[0].revents().is_empty() => return Ok(Event::Data),
                Ok(_) => return Ok(Event::End),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// True if data can be read from the stream without waiting.
pub(super) fn has_data(source: impl AsFd) -> bool {
    let mut sources = [PollFd::new(&source, PollFlags::IN)];
    let result = poll(&mut sources, Some(&Timespec::default()));
    result.is_ok_and(|_| sources[0].revents().contains(PollFlags::IN))
}

/// Reads bytes from a stream. The error with which a pseudo-terminal reports its end is returned as
/// the end of the stream (0 bytes).
fn read(source: &mut File, space: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(space) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => {
                return Ok(0);
            }
            result => return result,
        }
    }
}
