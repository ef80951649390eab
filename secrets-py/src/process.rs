//! What operations run on in this process: one runtime for all services, which is never ended, and
//! the gate that nobody passes once the interpreter ends.
//!
//! A fork copies the memory and none of the threads. So all of it belongs to the process that made
//! it: what a child finds of its parent is refused, and what it opens itself has a runtime of its
//! own.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};

/// How long a thread waits before it looks whether somebody interrupts the program.
const LOOK: Duration = Duration::from_millis(100);

/// How long the end of the interpreter waits for those who are just going in or out.
const LAST: Duration = Duration::from_secs(1);

/// What an operation gives, made an object where Python may be touched.
pub(crate) type Outcome = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// An outcome, and what is to be called with it.
type Ended = (Outcome, Py<PyAny>);

/// The process that we are.
pub(crate) struct Process {
    id: u32,
    runtime: Runtime,
    ended: Sender<Ended>,
    gate: Gate,
    /// The one that was forked from this one.
    child: OnceLock<Box<Process>>,
}

static FIRST: OnceLock<Process> = OnceLock::new();

impl Process {
    /// The process that we are; starts its runtime where there is none yet.
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
        let unusable = |error| PyRuntimeError::new_err(format!("no threads to be had: {error}"));
        let runtime = Builder::new_multi_thread()
            .thread_name("secrets")
            .enable_all()
            .build()
            .map_err(unusable)?;
        let (ended, outcomes) = mpsc::channel();
        let teller = thread::Builder::new().name("secrets-done".to_owned());
        teller.spawn(move || tell(&outcomes)).map_err(unusable)?;
        Ok(Self { id, runtime, ended, gate: Gate::default(), child: OnceLock::new() })
    }

    /// Refuses what was forked.
    pub(crate) fn still(&self) -> PyResult<()> {
        if self.id == std::process::id() {
            return Ok(());
        }
        Err(PyRuntimeError::new_err(
            "this service was opened before the process was forked: open one in the child",
        ))
    }

    /// Runs in the background, for as long as the process lives.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.runtime.spawn(work));
    }

    /// Runs an operation. Without `done` its end is waited for, and the wait can be interrupted;
    /// with it, `done(result, error)` is called on another thread. The operation goes on to its end
    /// whatever becomes of who asked.
    pub(crate) fn run(
        &'static self,
        py: Python<'_>,
        done: Option<Py<PyAny>>,
        operation: impl Future<Output = Outcome> + Send + 'static,
    ) -> PyResult<Py<PyAny>> {
        self.still()?;
        if let Some(last) = self.gate.shut_by() {
            if last == thread::current().id() {
                return Err(PyRuntimeError::new_err("the interpreter is ending"));
            }
            // What is left then are threads that nobody waits for.
            py.detach(|| park());
        }
        let Some(done) = done else { return self.wait(py, operation)?(py) };
        let ended = self.ended.clone();
        self.spawn(async move {
            // Nobody listens once the process ends.
            drop(ended.send((operation.await, done)));
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
            let (received, passage);
            (received, passage, outcomes) = py.detach(move || {
                let received = outcomes.recv_timeout(LOOK);
                // Who comes back after the interpreter's end would bring the process down.
                (received, self.gate.pass_or_park(), outcomes)
            });
            drop(passage);
            match received {
                Ok(outcome) => return Ok(outcome),
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => return Err(broken_off()),
            }
        }
    }

    /// Lets nobody in any more. Called when the interpreter ends, by the thread that ends it.
    pub(crate) fn end(py: Python<'_>) {
        let Some(mut process) = FIRST.get() else { return };
        let id = std::process::id();
        while process.id != id {
            let Some(child) = process.child.get() else { return };
            process = child;
        }
        py.detach(|| process.gate.shut());
    }
}

/// Calls what waits for outcomes, from one thread: those that are there together are told together.
fn tell(outcomes: &Receiver<Ended>) {
    while let Ok(first) = outcomes.recv() {
        let Ok(process) = Process::here() else { return };
        let passage = process.gate.pass_or_park();
        let told = Python::try_attach(|py| {
            let mut next = Some(first);
            while let Some((outcome, done)) = next {
                let told = match outcome(py) {
                    Ok(result) => done.call1(py, (result, py.None())),
                    Err(error) => done.call1(py, (py.None(), error)),
                };
                if let Err(error) = told {
                    error.write_unraisable(py, None);
                }
                drop(done);
                next = outcomes.try_recv().ok();
            }
        });
        drop(passage);
        if told.is_none() {
            return;
        }
    }
}

fn broken_off() -> PyErr {
    PyRuntimeError::new_err("the operation broke off: this is a fault of the package")
}

/// Who is just entering or leaving the interpreter, and whether it has ended.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The thread that ends the interpreter, once it does.
    shut_by: Option<ThreadId>,
    passing: usize,
}

/// Somebody who goes through.
struct Passage<'a>(&'a Gate);

impl Gate {
    fn shut_by(&self) -> Option<ThreadId> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).shut_by
    }

    /// Lets a thread into the interpreter, or holds it for ever where that has ended.
    fn pass_or_park(&self) -> Passage<'_> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.shut_by.is_some() {
            drop(state);
            park();
        }
        state.passing += 1;
        Passage(self)
    }

    fn shut(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.shut_by = Some(thread::current().id());
        let waited = self.changed.wait_timeout_while(state, LAST, |state| state.passing > 0);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Holds a thread until the process ends.
fn park() -> ! {
    loop {
        thread::park();
    }
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).passing -= 1;
        self.0.changed.notify_all();
    }
}
