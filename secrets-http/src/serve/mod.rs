//! The HTTP server: everything between a network connection and the route that handles a request.

pub mod accept;
pub mod api;
pub mod body;
pub mod browser_sign_in;
pub mod client_address;
pub(crate) mod compression;
pub mod conditions;
pub(crate) mod cookies;
pub mod descriptors;
pub mod fault;
pub mod gate;
pub mod host;
pub mod links;
pub mod memory;
pub mod metrics;
pub mod path;
pub mod reply;
pub mod request;
pub mod router;
mod run_to_end;
pub mod server;
pub(crate) mod session_cookie;
mod spans;
pub mod target;
pub mod tls;
