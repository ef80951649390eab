//! Selection of teams from the memberships of a user.

use crate::model::{Role, TeamId, UserId};
use crate::store::Membership;

/// Returns the teams in which the user is an owner or admin.
pub(super) fn managed_teams(memberships: &[Membership]) -> Vec<TeamId> {
    managed(memberships).map(|membership| membership.team.id).collect()
}

/// Returns the teams in which the user is an owner or admin. If that is only the personal team, and
/// the user is a regular member of another team, returns an empty list.
pub(super) fn audited_teams(memberships: &[Membership], user: UserId) -> Vec<TeamId> {
    let is_regular = managed(memberships).count() < memberships.len()
        && managed(memberships).all(|membership| membership.is_personal_of(user));
    let audited = managed(memberships).filter(|_| !is_regular);
    audited.map(|membership| membership.team.id).collect()
}

/// Returns the only team of the user or, for a user with several teams, the personal team if the
/// user is its owner; otherwise `None`.
pub(super) fn default_team(memberships: &[Membership], user: UserId) -> Option<TeamId> {
    let only = (memberships.len() == 1).then(|| memberships.first()).flatten();
    let own = only.or_else(|| {
        memberships.iter().find(|m| m.is_personal_of(user) && m.role == Some(Role::Owner))
    });
    own.map(|membership| membership.team.id)
}

/// Returns the personal team of the user; `None` if it is not among the memberships.
pub(super) fn personal_team(memberships: &[Membership], user: UserId) -> Option<TeamId> {
    memberships.iter().find(|own| own.is_personal_of(user)).map(|own| own.team.id)
}

/// Returns the memberships in which the user has the role owner or admin.
fn managed(memberships: &[Membership]) -> impl Iterator<Item = &Membership> {
    memberships.iter().filter(|membership| membership.role.is_some_and(Role::manages))
}
