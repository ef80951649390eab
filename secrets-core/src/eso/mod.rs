//! What a secrets operator of a container orchestrator reads, with a service token.

mod get;
mod get_all;

pub use get::{EsoSecret, GetEsoSecret};
pub use get_all::{EsoSecrets, GetEsoSecrets};
