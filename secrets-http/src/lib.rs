//! The REST API of secrets: warp filters over `secrets-core`.
//!
//! A request passes these stages of [`serve`]: `accept` (connections and their timeouts), `host`
//! (path, request ID, headers, log), `gate` (authentication and rate limits), `router` (table of
//! routes), its route in [`routes`] (parsing into an operation) and `api` (performing the
//! operation, rendering the response). [`adapters`] connect the service to identity providers, mail
//! servers and webhook receivers; they do not depend on [`serve`] or [`routes`]. [`program`] is the
//! command-line program: settings, logs and commands.

pub mod adapters;
pub mod openapi;
pub mod program;
pub mod routes;
pub mod serve;
mod similar;
