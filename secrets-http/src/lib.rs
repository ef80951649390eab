//! The REST API of secrets: warp filters over `secrets-core`.
//!
//! A request passes [`accept`] (connections and their deadlines), [`host`] (path, request id,
//! headers, log), [`gate`] (who is calling, and how often), [`router`] (one table), its route in
//! [`routes`] (what the request means) and [`api`] (the operation performed, the answer rendered).

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
