//! Per-process runtime of the package: one tokio runtime for all services, which is never shut
//! down, and a gate that keeps threads out of the interpreter once it shuts down.
//!
//! A fork copies the memory but not the threads. So the runtime belongs to the process that created
//! it: a child process cannot use the services of its parent, and the services that it opens itself
//! get a runtime of their own.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};

/// Interval at which a waiting thread checks for signals, such as Ctrl-C.
const SIGNAL_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Maximum time that the shutdown of the interpreter waits for threads that are entering the
/// interpreter.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Outcome of an operation. Converted to a Python object by a thread that holds the interpreter.
pub(crate) type Outcome = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// Outcome and the callback that receives it.
type Completion = (Outcome, Py<PyAny>);

/// State of the current process.
pub(crate) struct Process {
    id: u32,
    runtime: Runtime,
    completions: Sender<Completion>,
    gate: ShutdownGate,
    /// State of a process forked from this process.
    child: OnceLock<Box<Process>>,
}

static FIRST: OnceLock<Process> = OnceLock::new();

impl Process {
    /// Returns the state of the current process. Starts the runtime on first use.
    pub(crate) fn here() -> PyResult<&'static Self> {
        let id = std::process::id();
        let mut process = match FIRST.get() {
            Some(first) => first,
            None => FIRST.get_or_init({
                let new = Self::new(id)?;
                || new
            }),
        };
        while process.id != id {
            process = match process.child.get() {
                Some(child) => child,
                None => process.child.get_or_init({
                    let new = Box::new(Self::new(id)?);
                    || new
                }),
            };
        }
        Ok(process)
    }

    fn new(id: u32) -> PyResult<Self> {
        let unusable = |error| PyRuntimeError::new_err(format!("cannot start threads: {error}"));
        let runtime = Builder::new_multi_thread()
            .thread_name("secrets")
            .enable_all()
            .build()
            .map_err(unusable)?;
        let (completions, received) = mpsc::channel();
        let notifier = thread::Builder::new().name("secrets-done".to_owned());
        notifier.spawn(move || run_callbacks(&received)).map_err(unusable)?;
        Ok(Self { id, runtime, completions, gate: ShutdownGate::default(), child: OnceLock::new() })
    }

    /// Fails if the current process is a fork of the process that created this state.
    pub(crate) fn still(&self) -> PyResult<()> {
        if self.id == std::process::id() {
            return Ok(());
        }
        Err(PyRuntimeError::new_err(
            "this service was opened before the process was forked: open one in the child",
        ))
    }

    /// Spawns a background task. It may run until the process ends.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.runtime.spawn(work));
    }

    /// Runs an operation. Without `done`, blocks until the operation ends; signals interrupt the
    /// wait. With `done`, returns immediately and calls `done(result, error)` on another thread.
    /// The operation always runs to its end, even if the wait is interrupted.
    pub(crate) fn run(
        &'static self,
        py: Python<'_>,
        done: Option<Py<PyAny>>,
        operation: impl Future<Output = Outcome> + Send + 'static,
    ) -> PyResult<Py<PyAny>> {
        self.still()?;
        if let Some(closer) = self.gate.closed_by() {
            if closer == thread::current().id() {
                return Err(PyRuntimeError::new_err("the interpreter is ending"));
            }
            // Only daemon threads are left by then.
            py.detach(|| park());
        }
        let Some(done) = done else { return self.wait(py, operation)?(py) };
        let completions = self.completions.clone();
        self.spawn(async move {
            // The receiver is gone once the process ends.
            drop(completions.send((operation.await, done)));
        });
        Ok(py.None())
    }

    fn wait(
        &'static self,
        py: Python<'_>,
        operation: impl Future<Output = Outcome> + Send + 'static,
    ) -> PyResult<Outcome> {
        let (sender, mut outcomes) = mpsc::sync_channel(1);
        self.spawn(async move { drop(sender.send(operation.await)) });
        loop {
            let (received, entry);
            (received, entry, outcomes) = py.detach(move || {
                let received = outcomes.recv_timeout(SIGNAL_POLL_INTERVAL);
                // A thread that enters the interpreter after its shutdown would crash the process.
                (received, self.gate.enter_or_park(), outcomes)
            });
            drop(entry);
            match received {
                Ok(outcome) => return Ok(outcome),
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => return Err(panicked()),
            }
        }
    }

    /// Closes the gate. Called by the thread that shuts the interpreter down.
    pub(crate) fn end(py: Python<'_>) {
        let Some(mut process) = FIRST.get() else { return };
        let id = std::process::id();
        while process.id != id {
            let Some(child) = process.child.get() else { return };
            process = child;
        }
        py.detach(|| process.gate.close());
    }
}

/// Calls the callbacks of completed operations, on one thread. Outcomes that are ready at the same
/// time share one attachment to the interpreter.
fn run_callbacks(completions: &Receiver<Completion>) {
    while let Ok(first) = completions.recv() {
        let Ok(process) = Process::here() else { return };
        let entry = process.gate.enter_or_park();
        let attached = Python::try_attach(|py| {
            let mut next = Some(first);
            while let Some((outcome, done)) = next {
                let called = match outcome(py) {
                    Ok(result) => done.call1(py, (result, py.None())),
                    Err(error) => done.call1(py, (py.None(), error)),
                };
                if let Err(error) = called {
                    error.write_unraisable(py, None);
                }
                drop(done);
                next = completions.try_recv().ok();
            }
        });
        drop(entry);
        if attached.is_none() {
            return;
        }
    }
}

fn panicked() -> PyErr {
    PyRuntimeError::new_err("the operation ended without a result: this is a bug in the package")
}

/// Gate into the interpreter. Counts the threads that are entering the interpreter, and closes when
/// the interpreter shuts down.
#[derive(Default)]
struct ShutdownGate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Thread that shuts the interpreter down, once the gate is closed.
    closed_by: Option<ThreadId>,
    entering: usize,
}

/// Guard of a thread that is entering the interpreter.
struct Entry<'a>(&'a ShutdownGate);

impl ShutdownGate {
    fn closed_by(&self) -> Option<ThreadId> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).closed_by
    }

    /// Lets the current thread into the interpreter, or parks the thread for ever if the gate is
    /// closed.
    fn enter_or_park(&self) -> Entry<'_> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.closed_by.is_some() {
            drop(state);
            park();
        }
        state.entering += 1;
        Entry(self)
    }

    fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed_by = Some(thread::current().id());
        let waited =
            self.changed.wait_timeout_while(state, SHUTDOWN_TIMEOUT, |state| state.entering > 0);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Parks the current thread until the process ends.
fn park() -> ! {
    loop {
        thread::park();
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).entering -= 1;
        self.0.changed.notify_all();
    }
}
