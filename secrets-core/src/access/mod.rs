//! Authorization. All access decisions are made here.
//!
//! Resolving includes authorizing: resolving a path to an ID returns a scope ([`TeamScope`],
//! [`ProjectScope`], [`EnvironmentScope`], [`View`]), and a scope is only created for a caller who
//! has permission. Levels are checked from the outside in (project unknown, project forbidden,
//! environment unknown, environment forbidden). If a level is refused, the error reveals nothing
//! about the levels below. Operations that change something get a scope only under a lock.

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
