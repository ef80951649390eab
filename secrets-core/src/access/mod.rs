//! Who may do what. The only place that decides it.
//!
//! Resolving is authorizing: the way from a path to an id leads through a scope
//! ([`TeamScope`], [`ProjectScope`], [`EnvironmentScope`], [`View`]), and a scope exists only for a
//! caller who may. Levels are decided from outside in (project unknown, project forbidden,
//! environment unknown, environment forbidden), and nothing is told of a level below one that
//! did not allow it.

mod path;
mod rights;
mod scope;

pub use path::{EnvironmentPath, EnvironmentRef, ProjectRef};
pub use rights::{MemberAccess, Permission, Role};
pub use scope::{EnvironmentScope, LONGEST_CHAIN, ProjectScope, TeamScope, View};
pub(crate) use scope::{NOT_A_MEMBER, TOO_LONG};
