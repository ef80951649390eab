//! Who may do what. The only place that decides it.
//!
//! Resolving is authorizing: the way from a path to an id leads through a scope
//! ([`TeamScope`], [`ProjectScope`], [`EnvironmentScope`], [`View`]), and a scope exists only for a
//! caller who may. Levels are decided from outside in (project unknown, project forbidden,
//! environment unknown, environment forbidden), and nothing is told of a level below one that
//! did not allow it.

mod scope;

use chrono::TimeDelta;

pub use scope::{EnvironmentScope, LONGEST_CHAIN, ProjectScope, TeamScope, View};
pub(crate) use scope::{NOT_A_MEMBER, TOO_LONG};

/// Time after a project's deletion in which its deletion can be undone.
pub(crate) const RESTORABLE: TimeDelta = TimeDelta::days(30);
