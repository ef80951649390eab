//! The REST API of secrets: warp filters over `secrets-core`.
//!
//! A request passes these stages: [`accept`] (connections and their timeouts), [`host`] (path,
//! request ID, headers, log), [`gate`] (authentication and rate limits), [`router`] (table of
//! routes), its route in [`routes`] (parsing into an operation) and [`api`] (performing the
//! operation, rendering the response).

pub mod accept;
pub mod api;
pub mod body;
pub mod client_address;
pub mod commands;
pub mod conditions;
pub mod config;
pub mod debug;
pub mod fault;
pub mod fetch;
pub mod gate;
pub mod host;
pub mod identity;
pub mod jobs;
pub mod links;
pub mod logs;
pub mod mail;
pub mod openapi;
pub mod path;
pub mod reply;
pub mod rotators;
pub mod router;
pub mod routes;
pub mod server;
pub mod target;
pub mod tls;
pub mod watches;
pub mod webhooks;
