//! `/api/v1/tokens`.

mod create;
mod delete;
mod list;
mod scope;

const TOKENS: &str = "/api/v1/tokens";
