//! Masking of secret values in the output of the program that `secrets run` runs.
//!
//! The output goes through a pipe for each stream, or through a pseudo-terminal if this process
//! writes to a terminal. A thread for each pipe or pseudo-terminal copies the output ([`stream`]),
//! and replaces all encodings of the values ([`forms`]) while the output arrives ([`masker`]).

mod forms;
mod masker;
mod patterns;
mod stream;

use std::io::{self, IsTerminal as _, PipeReader, PipeWriter, pipe, stderr, stdin, stdout};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::stat::fstat;
use secrets_core::crypto::Plaintext;
use secrets_core::model::SecretKey;
use secrets_core::model::lock::lock;
use tokio::sync::mpsc;

use self::patterns::Patterns;
use self::stream::{SharedPatterns, Stream, has_data};
use super::pty::Pty;

/// Maximum time to wait until the output of a stopped program is written to the terminal.
const SETTLE_TIMEOUT: Duration = Duration::from_millis(500);

/// Masks secret values in the output of the program that `secrets run` runs.
pub(super) struct Masking {
    /// Pseudo-terminal for the program, if standard output or standard error of this process is a
    /// terminal.
    pub(super) pty: Option<Pty>,
    patterns: SharedPatterns,
    /// Values that are masked: those of the current secrets, and those of earlier secrets that the
    /// program had.
    values: Vec<Plaintext>,
    /// Standard streams for the program. They include standard input only if it is the
    /// pseudo-terminal.
    streams: Streams,
    /// Master side of the pseudo-terminal, from which a thread reads the program's output, and the
    /// lock that this thread holds while it copies output. `None` without a pseudo-terminal.
    source: Option<(OwnedFd, Arc<Mutex<()>>)>,
    end: Option<PipeWriter>,
    finished: mpsc::Receiver<()>,
}

struct Streams {
    input: Option<OwnedFd>,
    output: OwnedFd,
    errors: OwnedFd,
}

/// Starts the threads that copy and mask the output.
struct Threads {
    patterns: SharedPatterns,
    delay: Duration,
    end: PipeReader,
    finished: mpsc::Sender<()>,
    source: Option<(OwnedFd, Arc<Mutex<()>>)>,
}

impl Masking {
    /// Creates the standard streams for the program, and starts the threads that copy them. Bytes
    /// that may be the start of a value are held back, until nothing has followed them for `delay`.
    pub(super) fn start(secrets: &[(SecretKey, Plaintext)], delay: Duration) -> io::Result<Self> {
        let (end, end_writer) = pipe()?;
        let (sender, finished) = mpsc::channel(1);
        let patterns = SharedPatterns::new(Mutex::new(Arc::new(Patterns::of_values([]))));
        let mut threads =
            Threads { patterns: Arc::clone(&patterns), delay, end, finished: sender, source: None };
        let has_terminal = stdout().is_terminal() || stderr().is_terminal();
        let pty = has_terminal.then(Pty::open).transpose()?;
        let streams = Streams::create(pty.as_ref(), &mut threads)?;
        let source = threads.source;
        let (values, end) = (Vec::new(), Some(end_writer));
        let mut masking = Self { pty, patterns, values, streams, source, end, finished };
        masking.add(secrets);
        Ok(masking)
    }

    /// Adds the values of these secrets to the values that are masked. Earlier values are still
    /// masked, because the program may still print them.
    pub(super) fn add(&mut self, secrets: &[(SecretKey, Plaintext)]) {
        for (_, value) in secrets {
            if !self.values.contains(value) {
                self.values.push(value.clone());
            }
        }
        let patterns = Patterns::of_values(self.values.iter().map(Plaintext::reveal));
        *lock(&self.patterns) = Arc::new(patterns);
    }

    /// Connects the standard streams of `command`, which starts the program, to the masking
    /// threads.
    pub(super) fn attach(&self, command: &mut Command) -> io::Result<()> {
        if let Some(input) = &self.streams.input {
            command.stdin(input.try_clone()?);
        }
        command.stdout(self.streams.output.try_clone()?);
        command.stderr(self.streams.errors.try_clone()?);
        Ok(())
    }

    /// Waits until the output of a stopped program is written to the terminal.
    pub(super) fn settle(&self) {
        const INTERVAL: Duration = Duration::from_millis(1);
        let until = Instant::now() + SETTLE_TIMEOUT;
        let is_busy = |(source, activity): &(OwnedFd, Arc<Mutex<()>>)| {
            has_data(source) || activity.try_lock().is_err() || has_data(source)
        };
        while self.source.as_ref().is_some_and(is_busy) && Instant::now() < until {
            sleep(INTERVAL);
        }
    }

    /// Passes on the next keyboard input to the pseudo-terminal. Without a pseudo-terminal, waits
    /// forever. The future can be dropped at any time without losing input.
    pub(super) async fn relay(masking: &mut Option<Self>) {
        match masking.as_mut().and_then(|masking| masking.pty.as_mut()) {
            Some(pty) => pty.relay().await,
            None => std::future::pending().await,
        }
    }

    /// Waits until all remaining output of a program that has ended is written. The future can be
    /// dropped at any time.
    pub(super) async fn finish(&mut self) {
        // Closing the pipe signals the end to the threads.
        self.end = None;
        while self.finished.recv().await.is_some() {}
    }
}

impl Streams {
    fn create(pty: Option<&Pty>, threads: &mut Threads) -> io::Result<Self> {
        let terminal = pty.map(|pty| threads.start_terminal(pty)).transpose()?;
        let slave = |is_terminal: bool| terminal.as_ref().filter(|_| is_terminal);
        let has_keyboard = pty.is_some_and(Pty::has_keyboard);
        let input = slave(has_keyboard && stdin().is_terminal()).map(OwnedFd::try_clone);
        let output = match slave(stdout().is_terminal()) {
            Some(terminal) => terminal.try_clone()?,
            None => threads.start(stdout().as_fd())?,
        };
        let errors = match slave(stderr().is_terminal()) {
            Some(terminal) => terminal.try_clone()?,
            // One pipe keeps the order of the streams.
            None if is_same_file() => output.try_clone()?,
            None => threads.start(stderr().as_fd())?,
        };
        Ok(Self { input: input.transpose()?, output, errors })
    }
}

impl Threads {
    /// Starts a thread that copies from a new pipe to the stream `target` of this process, and
    /// returns the write end of the pipe for the program.
    fn start(&self, target: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        let (reader, writer) = pipe()?;
        // A larger buffer means fewer context switches. Not all systems allow it.
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(&reader, 1 << 20);
        self.copy(reader.into(), target, Arc::default())?;
        Ok(writer.into())
    }

    /// Starts a thread that copies the output of a pseudo-terminal, and returns the slave side,
    /// which the program uses as its terminal.
    fn start_terminal(&mut self, pty: &Pty) -> io::Result<OwnedFd> {
        let (output, errors) = (stdout(), stderr());
        let target = if output.is_terminal() { output.as_fd() } else { errors.as_fd() };
        let activity = Arc::default();
        self.source = Some((pty.master()?, Arc::clone(&activity)));
        self.copy(pty.master()?, target, activity)?;
        pty.slave()
    }

    fn copy(
        &self,
        source: OwnedFd,
        target: BorrowedFd<'_>,
        activity: Arc<Mutex<()>>,
    ) -> io::Result<()> {
        let stream = Stream {
            source,
            target: target.try_clone_to_owned()?,
            end: self.end.try_clone()?.into(),
            patterns: Arc::clone(&self.patterns),
            delay: self.delay,
            activity,
        };
        stream.start(self.finished.clone())
    }
}

/// True if standard output and standard error of this process are the same file or pipe.
fn is_same_file() -> bool {
    let file = |stream: BorrowedFd<'_>| fstat(stream).ok().map(|file| (file.st_dev, file.st_ino));
    let output = file(stdout().as_fd());
    output.is_some() && output == file(stderr().as_fd())
}
