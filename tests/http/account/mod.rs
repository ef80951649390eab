//! Tests of the endpoints below `/api/v1/account`.

mod delete;
mod export;
mod profile;

const ACCOUNT: &str = "/api/v1/account";
const EXPORT: &str = "/api/v1/account/data-export";
