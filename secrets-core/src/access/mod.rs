//! Authorization. All access decisions are made here.
//!
//! Resolving a path also authorizes the caller: it returns a scope ([`TeamScope`],
//! [`ProjectScope`], [`EnvironmentScope`], [`View`]), and there is a scope only for a caller who
//! has permission. Errors are detected in this order: project unknown, project forbidden,
//! environment unknown, environment forbidden. So an error about the project reveals nothing about
//! its environments. A change gets the scope of the rows that it writes only after it has locked
//! them.

pub(crate) mod accounts;
mod address;
mod approval;
mod context;
mod lock;
mod memberships;
mod operator;
mod permission;
mod restore;
mod scope;
mod size;
mod team_rate;
#[cfg(test)]
#[cfg(feature = "testing")]
mod tests;

pub(crate) use address::proves_address;
pub(crate) use approval::{check_role_approval, outlives_session};
pub use lock::LockedRow;
pub use permission::MAX_CHAIN_LENGTH;
pub(crate) use permission::{CHAIN_TOO_LONG, NOT_A_MEMBER};
pub(crate) use restore::RESTORE_PERIOD;
pub use scope::{EnvironmentScope, ProjectScope, TeamScope, View};
pub(crate) use size::{chain_size, reserve_within_limit};
