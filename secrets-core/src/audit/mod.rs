//! The audit log: who did what, written with the change or before the answer.
//!
//! Entries are chained per team: [`chain`] gives each a place and a hash that holds the one before,
//! some time after it was written, so that no writer waits for another. Whoever changes, removes or
//! inserts an entry behind the service's back is found out by [`Service::verify_audit`](crate::service::Service::verify_audit).

pub mod chain;
mod entry;
mod format;
mod list;
mod query;

pub use entry::AuditEntry;
pub use format::AuditFormat;
pub use list::{AuditOf, AuditPage, ListAudit};
pub use query::AuditQuery;
