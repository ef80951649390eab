//! The audit log: who did what.

mod changes;
mod entries;
mod reads;
