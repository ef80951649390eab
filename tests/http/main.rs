//! The rules of the REST API, tested over sockets with every store.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod account;
mod audit;
mod billing;
mod bodies;
mod credentials;
mod device_login;
mod docs;
mod document;
mod endpoints;
mod envelope;
mod environments;
mod eso;
mod examples;
mod limits;
mod members;
mod people;
mod permissions;
mod projects;
mod public;
mod races;
mod registry;
mod rotations;
mod scans;
mod secrets;
mod tampering;
mod targets;
mod teams;
mod tenants;
mod tokens;
mod userinfo;
mod users;
mod watch;
mod webhooks;
