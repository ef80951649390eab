//! Per-process runtime of the package: one tokio runtime for all services, which is never shut
//! down, and a gate that keeps threads out of the Python interpreter once it shuts down.
//!
//! A fork copies the memory of a process, but not its threads. The runtime therefore belongs to the
//! process that created it: a child process cannot use the services of its parent, and the services
//! that it opens itself get a separate runtime.

use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread, ThreadId};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};

/// Interval at which a waiting thread checks for signals, such as Ctrl-C. Also the maximum time for
/// which the calling thread runs an operation before a worker thread of the runtime continues it.
const SIGNAL_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Minimum free stack, in bytes, that a calling thread needs to run an operation itself. The stack
/// of a Python thread can be smaller.
const MIN_STACK: usize = 1024 * 1024;

/// Maximum time that the shutdown of the interpreter waits for threads that are entering the
/// interpreter.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Result of an operation, as a function that converts it to a Python object or an exception. The
/// function is called by a thread that is attached to the interpreter.
pub(crate) type Outcome = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// Thread that runs an operation.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// Calling thread, for at most 100 ms; if the thread runs an event loop, only until the
    /// operation has to wait. After that, a worker thread of the runtime continues the operation.
    Caller,
    /// Worker thread of the runtime, for operations that can use the CPU for a long time.
    Worker,
}

impl Place {
    /// Returns the time for which the operation may run on the calling thread; `None` if a worker
    /// thread has to run the operation from the start. A worker thread also runs an operation if
    /// the free stack of the calling thread is too small.
    fn limit(self, limit: Duration) -> Option<Duration> {
        let has_stack = || stacker::remaining_stack().is_some_and(|left| left >= MIN_STACK);
        match self {
            Self::Caller if has_stack() => Some(limit),
            Self::Caller | Self::Worker => None,
        }
    }
}

/// Future of an operation. A panic of the operation becomes an outcome that raises a Python
/// exception.
struct Operation(Pin<Box<dyn Future<Output = Outcome> + Send>>);

impl Future for Operation {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let polled = panic::catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx)));
        polled.unwrap_or_else(|_| Poll::Ready(Box::new(|_: Python<'_>| Err(panicked()))))
    }
}

/// Waker that unparks the thread that polls an operation.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Outcome of an operation, and the Python callback that is called with it.
type Completion = (Outcome, Py<PyAny>);

/// State of this package in one process: its runtime, and the gate to the interpreter.
pub(crate) struct Process {
    id: u32,
    runtime: Runtime,
    completions: Sender<Completion>,
    gate: ShutdownGate,
    /// State of a child process that was forked from this process. Set only in the child.
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

    /// Starts a background task on the runtime.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.runtime.spawn(work));
    }

    /// Runs an operation. Without the callback `done`, blocks until the operation ends; signals
    /// interrupt the wait. With `done`, does not block, and calls `done(result, error)`: before
    /// returning if the operation did not have to wait, otherwise later on another thread. The
    /// operation always runs to its end, even if the wait is interrupted.
    pub(crate) fn run(
        &'static self,
        py: Python<'_>,
        done: Option<Py<PyAny>>,
        place: Place,
        operation: impl Future<Output = Outcome> + Send + 'static,
    ) -> PyResult<Py<PyAny>> {
        self.still()?;
        if let Some(closer) = self.gate.closed_by() {
            if closer == thread::current().id() {
                return Err(PyRuntimeError::new_err("the interpreter is ending"));
            }
            // A daemon thread, which must not enter the interpreter during its shutdown.
            py.detach(|| park());
        }
        let operation = Operation(Box::pin(operation));
        match done {
            Some(done) => self.call_back(py, done, place, operation).map(|()| py.None()),
            None => self.wait(py, place, operation)?(py),
        }
    }

    fn call_back(
        &'static self,
        py: Python<'_>,
        done: Py<PyAny>,
        place: Place,
        operation: Operation,
    ) -> PyResult<()> {
        let mut done = Some(done);
        // The thread of an event loop polls once and never waits.
        let outcome = self.begin(py, operation, place.limit(Duration::ZERO), |operation| {
            if let Some(done) = done.take() {
                let completions = self.completions.clone();
                self.spawn(async move {
                    // The receiver no longer exists once the process ends.
                    drop(completions.send((operation.await, done)));
                });
            }
        });
        match (outcome, done) {
            (Ok(outcome), Some(done)) => deliver(py, outcome, &done),
            _ => Ok(()),
        }
    }

    fn wait(
        &'static self,
        py: Python<'_>,
        place: Place,
        operation: Operation,
    ) -> PyResult<Outcome> {
        // A worker continues the operation while this thread checks for signals, whose handlers may
        // perform operations too.
        let begun = self.begin(py, operation, place.limit(SIGNAL_POLL_INTERVAL), |operation| {
            let (sender, outcomes) = mpsc::sync_channel(1);
            self.spawn(async move { drop(sender.send(operation.await)) });
            outcomes
        });
        let mut outcomes = match begun {
            Ok(outcome) => return Ok(outcome),
            Err(outcomes) => outcomes,
        };
        loop {
            py.check_signals()?;
            let received;
            (received, outcomes) = self.detached(py, move || {
                let received = outcomes.recv_timeout(SIGNAL_POLL_INTERVAL);
                (received, outcomes)
            });
            match received {
                Ok(outcome) => return Ok(outcome),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(panicked()),
            }
        }
    }

    /// Runs an operation on the calling thread for at most `time`. If the operation has not ended
    /// by then, passes it to `hand_over` and returns the result of `hand_over` as the error. If
    /// `time` is `None`, calls `hand_over` immediately.
    fn begin<T: Send>(
        &'static self,
        py: Python<'_>,
        operation: Operation,
        time: Option<Duration>,
        hand_over: impl FnOnce(Operation) -> T + Send,
    ) -> Result<Outcome, T> {
        let Some(time) = time else { return Err(hand_over(operation)) };
        // Handed over before this thread waits for the interpreter, because the operation may hold
        // a lock of the store.
        self.detached(py, || self.drive(operation, time).map_err(hand_over))
    }

    /// Polls an operation on the current thread, for at most `time`. Returns the operation itself
    /// as the error if it has not ended in this time.
    fn drive(&self, mut operation: Operation, time: Duration) -> Result<Outcome, Operation> {
        let _runtime = self.runtime.enter();
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let end = Instant::now() + time;
        loop {
            let polled = Pin::new(&mut operation).poll(&mut Context::from_waker(&waker));
            if let Poll::Ready(outcome) = polled {
                return Ok(outcome);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(operation);
            }
            thread::park_timeout(left);
        }
    }

    /// Runs a function while this thread is detached from the Python interpreter, so that other
    /// threads can run Python code.
    fn detached<T: Send>(&self, py: Python<'_>, run: impl FnOnce() -> T + Send) -> T {
        // A thread that enters the interpreter after its shutdown would crash the process.
        let (returned, entry) = py.detach(|| (run(), self.gate.enter_or_park()));
        drop(entry);
        returned
    }

    /// Closes the [`ShutdownGate`] of this process. Called by the thread that shuts the interpreter
    /// down.
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

/// Calls the callbacks of completed operations, on one thread. All outcomes that are ready at the
/// same time are handled while the thread is attached to the interpreter once.
fn run_callbacks(completions: &Receiver<Completion>) {
    while let Ok(first) = completions.recv() {
        let Ok(process) = Process::here() else { return };
        let entry = process.gate.enter_or_park();
        let attached = Python::try_attach(|py| {
            let mut next = Some(first);
            while let Some((outcome, done)) = next {
                if let Err(error) = deliver(py, outcome, &done) {
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

/// Converts the outcome of an operation to Python objects, and calls the callback with the result
/// or the error.
fn deliver(py: Python<'_>, outcome: Outcome, done: &Py<PyAny>) -> PyResult<()> {
    let called = match outcome(py) {
        Ok(result) => done.call1(py, (result, py.None())),
        Err(error) => done.call1(py, (py.None(), error)),
    };
    called.map(drop)
}

fn panicked() -> PyErr {
    PyRuntimeError::new_err("the operation ended without a result: this is a bug in the package")
}

/// Gate that threads of this package pass before they enter the Python interpreter. The gate counts
/// the threads that are entering, and lets no thread pass once the interpreter shuts down.
#[derive(Default)]
struct ShutdownGate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// ID of the thread that closed the gate; `None` while the gate is open.
    closed_by: Option<ThreadId>,
    /// Number of threads that are entering the interpreter.
    entering: usize,
}

/// Guard of a thread that enters the interpreter. The gate counts the thread until the guard is
/// dropped.
struct Entry<'a>(&'a ShutdownGate);

impl ShutdownGate {
    fn closed_by(&self) -> Option<ThreadId> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).closed_by
    }

    /// Lets the current thread into the interpreter, or parks the thread forever if the gate is
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
