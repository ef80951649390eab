//! The audit log.

mod chain;
mod changes;
mod commits;
mod entries;
mod list;
mod reads;
