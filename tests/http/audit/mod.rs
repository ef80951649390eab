//! The audit log.

mod chain;
mod changes;
mod entries;
mod list;
mod reads;
