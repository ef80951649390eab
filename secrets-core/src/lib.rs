//! The secrets service without an HTTP framework: all operations, inheritance, encryption and
//! limits, on top of pluggable stores.
//!
//! Every request is an operation: a value passed to [`Service::perform`]. Where to start reading:
//!
//! - [`operation`]: the [`Operation`] trait and the context in which operations run.
//! - [`access`]: authorization.
//! - [`crypto`]: keys and encrypted records.
//! - [`store`]: the contract that every store implements.
//! - The other modules are named after the resources of the HTTP interface and hold their
//!   operations.

pub mod access;
pub mod account;
pub mod audit;
pub mod billing;
pub mod bundle;
pub mod crypto;
pub mod device_login;
pub mod egress;
pub mod engine;
pub mod environments;
pub mod eso;
#[doc(hidden)]
pub mod failpoint;
pub mod formats;
pub mod invitations;
#[cfg(feature = "jwt")]
pub mod jwt;
pub mod limits;
pub mod members;
pub mod model;
pub mod outbox;
pub mod permissions;
pub mod ports;
pub mod projects;
pub mod registry;
pub mod rotations;
pub mod rotators;
#[cfg(feature = "runtime")]
pub mod runtime;
pub mod scanner;
pub mod scans;
pub mod secrets;
pub mod service;
pub mod store;
pub mod teams;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tokens;
pub mod users;
pub mod workers;

pub use engine::{Operation, Options, Ports, Task};
pub use model::{Error, Result};
pub use service::Service;
