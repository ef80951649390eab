//! Supervision of a program (`secrets run`): signals, job control, and restarts when secrets
//! change.

use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::sys::termios::Termios;
use nix::unistd::getpgrp;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::child::{self, Change, Child};
use super::environment::{Environment, Rules};
use super::mask::Masking;
use super::mount::{Mount, Mounted};
use super::pty::Pty;
use super::signals::Signals;
use super::start::start;
use super::supervision::{OnRevoked, SupervisionOptions};
use super::terminal::Terminal;
use super::values::Values;
use super::watch::{Message, Watch};
use super::{Program, environment};
use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::Place;
use crate::output::Output;
use crate::service::Service;

/// Maximum time to wait until killed processes have disappeared, before the program is started
/// again.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// Parameters of [`supervise`].
#[derive(Debug)]
pub(crate) struct Supervised<'a> {
    /// Program to run.
    pub(crate) program: Program,
    /// Rules for the program's environment variables.
    pub(crate) rules: Rules,
    /// Project and environment of the secrets.
    pub(crate) place: Place,
    /// Options of the supervision.
    pub(crate) options: SupervisionOptions,
    /// Output for messages of this process.
    pub(crate) output: &'a Output,
}

/// Supervisor of a running program.
struct Supervisor<'a> {
    inputs: Supervised<'a>,
    environment: Environment,
    mount: Option<Mounted>,
    signals: Signals,
    masking: Option<Masking>,
    /// Terminal on standard input, which the program uses together with this process.
    terminal: Option<Terminal>,
    /// Terminal modes that the program had set when it was stopped.
    modes: Option<Termios>,
    child: Child,
    is_stopped: bool,
}

/// Runs the program in this environment under supervision until it ends. With `--watch`, also
/// reacts to changes of the secrets.
pub(crate) async fn supervise(
    inputs: Supervised<'_>,
    environment: Environment,
    values: Values,
    service: Service,
) -> Result<Outcome, Failure> {
    // Before the file of `--mount` exists: a signal that ended this process would leave the file.
    let signals = Signals::register()?;
    let Supervised { rules, place, options, .. } = &inputs;
    let selected = rules.selected(&values)?.into_iter().cloned().collect::<Vec<_>>();
    let mount = options.mount.clone().map(|point| Mount::create(point, &selected)).transpose()?;
    let changes = options
        .watch
        .then(|| Watch::start(service, place.clone(), values.etag.clone(), options.splay));
    drop(values);
    let start = || Masking::start(&selected, options.mask_delay);
    let masking = options.mask.then(start).transpose().map_err(|error| {
        Failure::new(Exit::Run, format!("the output cannot be masked: {error}"))
    })?;
    let mount = mount.map(|mount| Mounted::new(mount, selected));
    Supervisor::start(inputs, environment, mount, masking, signals)?.run(changes).await
}

impl<'a> Supervisor<'a> {
    /// Starts the program, and returns its supervisor.
    fn start(
        inputs: Supervised<'a>,
        environment: Environment,
        mount: Option<Mounted>,
        masking: Option<Masking>,
        signals: Signals,
    ) -> Result<Self, Failure> {
        child::adopt_orphans();
        let has_pty = masking.as_ref().is_some_and(|masking| masking.pty.is_some());
        let terminal = if has_pty { None } else { Terminal::of_stdin() };
        let child = start(&inputs.program, &environment, terminal.as_ref(), masking.as_ref())?;
        Ok(Self {
            inputs,
            environment,
            mount,
            signals,
            masking,
            terminal,
            modes: None,
            child,
            is_stopped: false,
        })
    }

    /// Supervises the program until it ends, and returns its exit code.
    async fn run(mut self, changes: Option<mpsc::Receiver<Message>>) -> Result<Outcome, Failure> {
        let result = self.wait_for_status(changes).await;
        self.take_terminal_back();
        self.finish_output().await;
        result.map(Outcome::Status)
    }

    async fn wait_for_status(
        &mut self,
        mut changes: Option<mpsc::Receiver<Message>>,
    ) -> Result<u8, Failure> {
        loop {
            let ended = tokio::select! {
                signal = self.signals.next() => self.on_signal(signal),
                message = receive(&mut changes) => self.on_message(message).await?,
                () = Mounted::wait_for_retry(self.mount.as_ref()) => {
                    // A failure was reported already; repeated failures are not.
                    if self.mount.as_mut().is_some_and(Mounted::retry) {
                        self.child.signal(self.inputs.options.change_signal());
                    }
                    None
                }
                () = Masking::relay(&mut self.masking) => None,
            };
            if let Some(status) = ended {
                return Ok(status);
            }
        }
    }

    /// Waits until the remaining masked output of the program is written, or until this process
    /// receives a signal that requests its end.
    async fn finish_output(&mut self) {
        let Some(masking) = &mut self.masking else { return };
        loop {
            tokio::select! {
                () = masking.finish() => return,
                signal = self.signals.next() => {
                    if ENDING.contains(&signal) {
                        return;
                    }
                }
            }
        }
    }

    /// Handles a signal that this process has received. Returns the program's exit code if it has
    /// ended.
    fn on_signal(&mut self, signal: Signal) -> Option<u8> {
        match signal {
            Signal::SIGCHLD => return self.collect(),
            Signal::SIGCONT => self.resume(),
            // The system sends SIGWINCH to the program when its pseudo-terminal is resized.
            Signal::SIGWINCH if self.pty().is_some_and(|pty| pty.resize()) => {}
            signal => {
                self.child.signal(signal);
                if self.is_stopped && matches!(signal, Signal::SIGTERM | Signal::SIGHUP) {
                    self.child.signal(Signal::SIGCONT);
                }
            }
        }
        None
    }

    fn collect(&mut self) -> Option<u8> {
        for change in self.child.changes() {
            match change {
                Change::Ended(status) => return Some(status),
                Change::Stopped => self.stop_with_child(),
            }
        }
        None
    }

    /// Stops the process group of this process after the program was stopped, so that the shell
    /// shows a stopped job. Returns when the shell continues the job.
    fn stop_with_child(&mut self) {
        self.is_stopped = true;
        if let Some(terminal) = &self.terminal {
            if terminal.is_with(self.child.group()) {
                self.modes = terminal.take_back();
            }
        } else if self.pty().is_some_and(|pty| pty.has_keyboard()) {
            self.leave_pty();
        } else {
            return;
        }
        // Has no effect without a shell that could continue the group (POSIX: orphaned group).
        let _ = killpg(getpgrp(), Signal::SIGTSTP);
        self.resume();
    }

    /// Continues the stopped program, in the foreground if this process is in the foreground.
    fn resume(&mut self) {
        if let Some(terminal) = &self.terminal
            && terminal.is_ours()
        {
            if let Some(modes) = self.modes.take() {
                terminal.set(&modes);
            }
            terminal.give_to(self.child.group());
        }
        if let Some(pty) = self.pty() {
            pty.enter();
        }
        self.is_stopped = false;
        self.child.signal(Signal::SIGCONT);
    }

    /// Returns the pseudo-terminal of the program, if it has one.
    fn pty(&mut self) -> Option<&mut Pty> {
        self.masking.as_mut()?.pty.as_mut()
    }

    /// Restores the modes of this process's terminal, after the program's output was written.
    fn leave_pty(&mut self) {
        if let Some(masking) = &self.masking {
            masking.settle();
        }
        if let Some(pty) = self.pty() {
            pty.leave();
        }
    }

    fn take_terminal_back(&self) {
        if let Some(terminal) = &self.terminal
            && (terminal.is_with(self.child.group()) || terminal.is_ours())
        {
            terminal.take_back();
        }
    }

    /// Handles a message from the watch for changed secrets. Returns the exit code if a signal
    /// requested the end of this process during a restart of the program.
    async fn on_message(&mut self, message: Message) -> Result<Option<u8>, Failure> {
        match message {
            Message::Changed(values) => return self.on_values(&values).await,
            Message::Interrupted(failure) => {
                self.warn(&format!("changes cannot be seen, trying again: {}", failure.message));
            }
            Message::Revoked(failure) if self.inputs.options.on_revoked == OnRevoked::Stop => {
                self.stop().await;
                let message = format!("access was withdrawn: {}", failure.message);
                return Err(Failure::new(Exit::Run, message));
            }
            Message::Revoked(failure) => {
                self.warn(&format!("access was withdrawn, still running: {}", failure.message));
            }
        }
        Ok(None)
    }

    /// Writes the file of `--mount` again and sends a signal to the program, if the secrets have
    /// changed.
    fn rewrite(&mut self, values: &Values) -> Result<(), Failure> {
        let Some(mounted) = &mut self.mount else { return Ok(()) };
        let selected: Vec<_> = self.inputs.rules.selected(values)?.into_iter().cloned().collect();
        if let Some(masking) = &mut self.masking {
            masking.add(&selected);
        }
        if mounted.write(selected)? {
            self.child.signal(self.inputs.options.change_signal());
        }
        Ok(())
    }

    /// Restarts the program if its environment variables have changed, or writes the file of
    /// `--mount` again. Returns the exit code if a signal requested the end of this process.
    async fn on_values(&mut self, values: &Values) -> Result<Option<u8>, Failure> {
        if self.mount.is_some() {
            if let Err(failure) = self.rewrite(values) {
                self.warn(&format!("file not changed: {}", failure.message));
            }
            return Ok(None);
        }
        let Supervised { rules, place, .. } = &self.inputs;
        let environment = match rules.compose(environment::parent(), place, values) {
            Ok(environment) => environment,
            Err(failure) => {
                self.warn(&format!("not restarted: {}", failure.message));
                return Ok(None);
            }
        };
        if environment == self.environment {
            return Ok(None);
        }
        self.write(|output, place| {
            output.hint(&format!("{place}: secrets have changed, restarting"));
        });
        if let Some(status) = self.stop().await {
            return Ok(Some(status));
        }
        self.take_terminal_back();
        self.prepare_masking(values)?;
        let (terminal, masking) = (self.terminal.as_ref(), self.masking.as_ref());
        self.child = start(&self.inputs.program, &environment, terminal, masking)?;
        (self.environment, self.is_stopped, self.modes) = (environment, false, None);
        Ok(None)
    }

    /// Adds these values to the masked values and resets the pseudo-terminal, before the program is
    /// started again.
    fn prepare_masking(&mut self, values: &Values) -> Result<(), Failure> {
        let Some(masking) = &mut self.masking else { return Ok(()) };
        let selected: Vec<_> = self.inputs.rules.selected(values)?.into_iter().cloned().collect();
        masking.add(&selected);
        if let Some(pty) = &masking.pty {
            pty.reset();
        }
        Ok(())
    }

    /// Ends all processes in the group of the program: sends the signal of `--signal` first
    /// (SIGTERM with `--mount`), and SIGKILL after the time of `--grace`. Returns the program's
    /// exit code if a signal requested the end of this process meanwhile.
    async fn stop(&mut self) -> Option<u8> {
        let signal = match self.mount {
            Some(_) => Signal::SIGTERM,
            None => self.inputs.options.change_signal(),
        };
        self.child.signal(signal);
        self.child.signal(Signal::SIGCONT);
        let mut ending = Ending::default();
        self.wait_for_end(self.inputs.options.grace, &mut ending).await;
        if self.child.has_group() {
            self.child.signal(Signal::SIGKILL);
            self.wait_for_end(KILL_TIMEOUT, &mut ending).await;
        }
        Some(ending.status).filter(|_| ending.is_asked)
    }

    /// Handles signals until no process is left in the group of the program, at most for the time
    /// `limit`. Records the exit code and a request to end this process in `ending`.
    async fn wait_for_end(&mut self, limit: Duration, ending: &mut Ending) {
        let until = Instant::now() + limit;
        loop {
            let child = self.child;
            let signal = tokio::select! {
                signal = self.signals.next() => signal,
                () = child.wait_for_group(until) => return,
            };
            ending.is_asked |= ENDING.contains(&signal);
            if let Some(status) = self.on_signal(signal) {
                ending.status = status;
            }
        }
    }

    fn warn(&self, message: &str) {
        self.write(|output, _| output.warn(message));
    }

    /// Writes a message while the terminal has its original modes, because in raw mode a newline
    /// would not return to the start of the line.
    fn write(&self, write: impl FnOnce(&Output, &Place)) {
        let write = || write(self.inputs.output, &self.inputs.place);
        match self.masking.as_ref().and_then(|masking| masking.pty.as_ref()) {
            Some(pty) => pty.in_first_modes(write),
            None => write(),
        }
    }
}

/// Result of ending the program ([`Supervisor::stop`]).
#[derive(Default)]
struct Ending {
    /// Exit code of the program.
    status: u8,
    /// True if a signal has also requested the end of this process.
    is_asked: bool,
}

/// Signals that request the end of a program.
const ENDING: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// Waits for the next message of the watch for changed secrets. Waits forever if there is no watch
/// or if it has ended.
async fn receive(changes: &mut Option<mpsc::Receiver<Message>>) -> Message {
    if let Some(receiver) = changes
        && let Some(message) = receiver.recv().await
    {
        return message;
    }
    std::future::pending().await
}
