//! Tests of plan limits and rate limits.

mod addresses;
mod bytes;
mod failures;
mod memory;
mod plans;
mod principals;
mod refusals;
mod team_bytes;
mod teams;
mod time;
