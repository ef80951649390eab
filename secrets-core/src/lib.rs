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
pub mod caller;
pub mod clock;
pub mod crypto;
pub mod device_login;
pub mod document;
pub mod egress;
pub mod environments;
pub mod error;
pub mod eso;
pub mod failpoint;
pub mod formats;
pub mod ids;
pub mod invitations;
#[cfg(feature = "jwt")]
pub mod jwt;
pub mod limits;
pub mod links;
pub mod members;
pub mod names;
pub mod object;
pub mod operation;
pub mod outbox;
pub mod permissions;
pub mod projects;
pub mod registry;
pub mod rotations;
pub mod rule;
pub mod scans;
pub mod secrets;
pub mod service;
pub mod store;
pub mod task;
pub mod teams;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tokens;
pub mod users;

pub use error::{Error, Result};
pub use operation::Operation;
pub use service::{Options, Ports, Service};
pub use task::Task;
