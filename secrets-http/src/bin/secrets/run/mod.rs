//! Running a program with secrets as environment variables.
//!
//! Without supervision, [`replace()`] replaces this process by the program: the program keeps the
//! process ID, group, terminal and exit status. With supervision, the program is a child in its own
//! process group: [`launch`] starts it, [`supervise()`] passes on signals, takes part in the job
//! control of the shell, and restarts the program when [`watch`] reports new values. [`mask`]
//! replaces values in the output; on a terminal, the program then has a pseudo-terminal ([`pty`])
//! and a [`session`] of its own.

mod environment;
mod program;
mod replace;
mod values;

#[cfg(unix)]
mod child;
#[cfg(unix)]
mod launch;
#[cfg(unix)]
mod mask;
#[cfg(unix)]
mod mount;
#[cfg(unix)]
mod pty;
#[cfg(unix)]
mod session;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod start;
#[cfg(unix)]
mod supervise;
#[cfg(unix)]
mod supervision;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod watch;

pub(crate) use environment::{Environment, EnvironmentOptions, parent};
pub(crate) use program::Program;
pub(crate) use replace::replace;
pub(crate) use values::{Values, fetch};

#[cfg(unix)]
pub(crate) use launch::launch_if_asked;
#[cfg(unix)]
pub(crate) use supervise::{Supervised, supervise};
#[cfg(unix)]
pub(crate) use supervision::SupervisionOptions;
