//! Authorization. All access decisions are made here.
//!
//! Resolving a path also authorizes the caller: it returns a scope ([`TeamScope`],
//! [`ProjectScope`], [`EnvironmentScope`], [`View`]), and there is a scope only for a caller who
//! has permission. The project is checked before the environment: project unknown, project
//! forbidden, environment unknown, environment forbidden. An error about the project reveals
//! nothing about its environments. A change gets the scope of the rows that it writes only after it
//! has locked them.

mod context;
mod permission;
mod scope;
#[cfg(test)]
#[cfg(feature = "testing")]
mod tests;

use chrono::TimeDelta;

pub use context::LockedRow;
pub use permission::MAX_CHAIN_LENGTH;
pub(crate) use permission::{CHAIN_TOO_LONG, NOT_A_MEMBER};
pub use scope::{EnvironmentScope, ProjectScope, TeamScope, View};

/// Time during which a deleted project can be restored.
pub(crate) const RESTORE_PERIOD: TimeDelta = TimeDelta::days(30);
