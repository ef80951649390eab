//! Rules of permissions: the actions that a member (depending on the role) or a service token may
//! perform in a project or an environment.

use std::collections::BTreeSet;

use crate::engine::Who;
use crate::model::{Code, EnvironmentId, Error, MemberAccess, Permission, Result};
use crate::store::{ChainLink, Relation};

/// Maximum length of an inheritance chain, including the environment itself.
pub const MAX_CHAIN_LENGTH: usize = 16;

/// Fails unless the caller has the permission in an environment. Team owners and admins have all
/// permissions. Any other member has the access level that was granted in the environment
/// (`granted`) or, if there is none, the default level (`otherwise`).
pub(super) fn allow_in(
    who: &Who,
    relation: Relation,
    (granted, otherwise): (Option<MemberAccess>, MemberAccess),
    permission: Permission,
) -> Result<()> {
    let Relation::Member(role) = relation else { return allow(who, relation, permission) };
    if role.manages() || MemberAccess::of(role, granted, otherwise).allows(permission) {
        return Ok(());
    }
    Err(match permission {
        Permission::Manage => MANAGERS_ONLY,
        Permission::Grant => ADMINS_ONLY,
        _ => NO_ACCESS,
    })
}

/// Fails unless the caller has the permission in a project, by role or by the permissions of the
/// service token.
pub(super) fn allow(who: &Who, relation: Relation, permission: Permission) -> Result<()> {
    match (relation, who) {
        (Relation::Member(role), _) => match permission {
            Permission::See | Permission::Contribute => Ok(()),
            _ if role.manages() => Ok(()),
            Permission::Manage => Err(MANAGERS_ONLY),
            Permission::Read | Permission::Write | Permission::Grant => Err(NO_ACCESS),
        },
        (Relation::Token, Who::Token(token)) => match permission {
            Permission::See => Ok(()),
            Permission::Read if token.can_read => Ok(()),
            Permission::Write if token.can_write => Ok(()),
            Permission::Read => Err(Error::forbidden("this token may not read")),
            Permission::Write => Err(Error::forbidden("this token may not write")),
            Permission::Contribute | Permission::Grant | Permission::Manage => {
                Err(Error::forbidden("a service token may not do this"))
            }
        },
        (Relation::None, Who::Token(_)) => Err(OUT_OF_SCOPE),
        (Relation::None | Relation::Token, _) => Err(NOT_A_MEMBER),
    }
}

/// Returns the ancestors in an inheritance chain whose secrets a member may not read. A service
/// token may read the whole chain, because an admin chose the token's environments.
pub(super) fn restricted_ancestors(
    who: &Who,
    relation: Relation,
    chain: &[ChainLink],
    otherwise: MemberAccess,
) -> BTreeSet<EnvironmentId> {
    let is_restricted = |link: &&ChainLink| {
        matches!(relation, Relation::Member(_))
            && allow_in(who, relation, (link.granted, otherwise), Permission::Read).is_err()
    };
    let ancestors = chain.iter().skip(1).filter(is_restricted);
    ancestors.map(|link| link.environment.id).collect()
}

/// Fails if the inheritance chain is circular or too long. The service never stores such a chain,
/// but a database that was edited by hand may contain one.
pub(super) fn check_chain(chain: &[ChainLink]) -> Result<()> {
    let distinct: BTreeSet<_> = chain.iter().map(|link| link.environment.id).collect();
    if distinct.len() < chain.len() {
        return Err(Error::Refused {
            code: Code::CircularInheritance,
            reason: "environments inherit from each other in a circle".into(),
        });
    }
    if chain.len() > MAX_CHAIN_LENGTH {
        return Err(CHAIN_TOO_LONG);
    }
    Ok(())
}

/// Error for callers who are not members of the team.
pub(crate) const NOT_A_MEMBER: Error = Error::forbidden("you are not a member of this team");
/// Error for callers who are neither owner nor admin of the team.
pub(super) const MANAGERS_ONLY: Error =
    Error::forbidden("only an owner or admin of the team may do this");
/// Error for callers who are neither admin of the environment nor owner or admin of the team.
pub(super) const ADMINS_ONLY: Error =
    Error::forbidden("only an admin of this environment or of the team may do this");
/// Error for callers without access to the environment.
pub(super) const NO_ACCESS: Error = Error::forbidden("you have no access to this environment");
/// Error for service tokens whose scope does not include the project or environment.
pub(super) const OUT_OF_SCOPE: Error = Error::forbidden("outside of this token's scope");

/// Error for an inheritance chain of more than 16 environments ([`MAX_CHAIN_LENGTH`]).
pub(crate) const CHAIN_TOO_LONG: Error = Error::Refused {
    code: Code::InvalidRequest,
    reason: std::borrow::Cow::Borrowed("an inheritance chain may hold at most 16 environments"),
};
