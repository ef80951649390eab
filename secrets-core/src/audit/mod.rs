//! The audit log: who did what, written with the change or before the answer.

mod note;
mod queue;

pub(crate) use note::Note;
pub(crate) use queue::AuditQueue;
