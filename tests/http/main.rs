//! The interface, rule by rule, over sockets and on every store.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod audit;
mod billing;
mod bodies;
mod credentials;
mod endpoints;
mod environments;
mod eso;
mod limits;
mod members;
mod permissions;
mod projects;
mod public;
mod races;
mod secrets;
mod tampering;
mod targets;
mod teams;
mod tenants;
mod tokens;
mod users;
