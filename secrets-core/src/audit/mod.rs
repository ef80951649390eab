//! The audit log. Audit entries are written in the transaction of a change, or before the response
//! to a read.
//!
//! Entries form one audit chain (a hash chain) per team. [`chain`] assigns each entry its position
//! and a hash that includes the previous entry's hash. This happens some time after the entry was
//! written, so that writers do not wait for each other. [`verify`] detects entries that were
//! changed, removed or inserted by anything other than the service; [`VerifyAudit`] verifies the
//! newest entries of one team.

pub mod chain;
mod entry;
mod format;
mod list;
mod query;
mod verification;

pub use chain::{
    BrokenChain, PRUNE, SEAL, SEAL_BATCHES, VerifiedAudit, probe, prune, seal, verify,
};
pub use entry::AuditEntry;
pub use format::AuditFormat;
pub use list::{AuditPage, AuditTeams, ListAudit};
pub use query::AuditQuery;
pub use verification::{AuditVerification, ChainStatus, VerifyAudit};
