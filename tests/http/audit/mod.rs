//! The audit log: who did what.

mod chain;
mod changes;
mod commits;
mod entries;
mod list;
mod reads;
