//! Endpoints for the External Secrets Operator (ESO) or a similar operator that syncs secrets to a
//! container orchestrator. They require a service token.

mod get;
mod get_all;

pub use get::{EsoSecret, GetEsoSecret};
pub use get_all::{EsoSecrets, GetEsoSecrets};
