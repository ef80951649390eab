//! The HTTP server: from a connection to a route and back.

pub mod accept;
pub mod api;
pub mod body;
pub mod client_address;
pub mod conditions;
pub mod descriptors;
pub mod fault;
pub mod gate;
pub mod host;
pub mod links;
pub mod memory;
pub mod path;
pub mod reply;
pub mod router;
mod run_to_end;
pub mod server;
pub mod target;
pub mod tls;
pub mod watches;
