//! The secrets service without a framework: every operation, inheritance, encryption and limits,
//! over pluggable stores.
//!
//! An operation is a value; [`Service::perform`] is the one door through which it is done. Where to
//! read on: [`operation`] for what an operation is, [`access`] for who may, [`crypto`] for keys and
//! records, [`store`] for the contract of a store, and the folders named after the nouns of the
//! interface for what it does.

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

pub use engine::{Operation, Options, Ports, Task};
pub use model::{Error, Result};
pub use service::Service;
