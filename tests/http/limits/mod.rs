//! Limits of plans and rate limits.

mod addresses;
mod bytes;
mod failures;
mod plans;
mod principals;
mod refusals;
mod teams;
mod time;
