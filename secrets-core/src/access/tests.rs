//! Tests of permissions for each relation to a project, each role and each access level, and of the
//! rules of inheritance chains.

use std::sync::Arc;

use super::MAX_CHAIN_LENGTH;
use super::permission::{allow, allow_in, check_chain};
use crate::engine::Who;
use crate::model::{Code, Error, MemberAccess, Permission, Role};
use crate::store::{ChainLink, EnvironmentRecord, Relation};
use crate::testing::fixtures::{environment, project, team, token, user};

const PERMISSIONS: [Permission; 6] = [
    Permission::See,
    Permission::Read,
    Permission::Write,
    Permission::Grant,
    Permission::Contribute,
    Permission::Manage,
];

/// Creates a service token that may read, write, both or neither.
fn service_token(can_read: bool, can_write: bool) -> Who {
    let creator = user("alice");
    let mut token = token(&team(&creator, "ops"), &creator);
    (token.can_read, token.can_write) = (can_read, can_write);
    Who::Token(Arc::new(token))
}

/// Calls `check` with each permission, in the order of [`PERMISSIONS`]. Returns 1 for each
/// permission for which `check` succeeds, and 0 for the others.
fn allowed(check: impl Fn(Permission) -> Result<(), Error>) -> [u8; 6] {
    PERMISSIONS.map(|permission| u8::from(check(permission).is_ok()))
}

#[test]
fn a_relation_to_a_project_gives_its_permissions_alone() {
    let read_only = service_token(true, false);
    let write_only = service_token(false, true);
    let user = Who::Anonymous;

    // Columns: see, read, write, grant, contribute, manage.
    for (who, relation, expected) in [
        (&user, Relation::Member(Role::Owner), [1, 1, 1, 1, 1, 1]),
        (&user, Relation::Member(Role::Admin), [1, 1, 1, 1, 1, 1]),
        (&user, Relation::Member(Role::Member), [1, 0, 0, 0, 1, 0]),
        (&user, Relation::None, [0; 6]),
        (&user, Relation::Token, [0; 6]),
        (&read_only, Relation::Token, [1, 1, 0, 0, 0, 0]),
        (&write_only, Relation::Token, [1, 0, 1, 0, 0, 0]),
        (&service_token(false, false), Relation::Token, [1, 0, 0, 0, 0, 0]),
        (&service_token(true, true), Relation::None, [0; 6]),
    ] {
        let found = allowed(|permission| allow(who, relation, permission));

        assert_eq!(found, expected, "{relation:?}");
    }
}

#[test]
fn the_access_of_a_member_in_an_environment_gives_its_permissions_alone() {
    use MemberAccess::{Admin, None as Nothing, Read, Write};

    // Columns: see, read, write, grant, contribute, manage.
    for (role, granted, otherwise, expected) in [
        (Role::Owner, Some(Nothing), Nothing, [1, 1, 1, 1, 1, 1]),
        (Role::Admin, None, Nothing, [1, 1, 1, 1, 1, 1]),
        (Role::Member, Some(Admin), Nothing, [1, 1, 1, 1, 1, 0]),
        (Role::Member, Some(Write), Nothing, [1, 1, 1, 0, 1, 0]),
        (Role::Member, Some(Read), Write, [1, 1, 0, 0, 1, 0]),
        (Role::Member, Some(Nothing), Write, [0; 6]),
        (Role::Member, None, Write, [1, 1, 1, 0, 1, 0]),
        (Role::Member, None, Nothing, [0; 6]),
    ] {
        let relation = Relation::Member(role);
        let access = (granted, otherwise);

        let found = allowed(|permission| allow_in(&Who::Anonymous, relation, access, permission));

        assert_eq!(found, expected, "{role:?} {granted:?} {otherwise:?}");
    }
}

#[test]
fn the_access_of_members_gives_a_token_no_permission() {
    let token = service_token(true, false);
    let access = (Some(MemberAccess::Admin), MemberAccess::Admin);

    let found = allowed(|permission| allow_in(&token, Relation::Token, access, permission));

    assert_eq!(found, [1, 1, 0, 0, 0, 0]);
}

#[test]
fn a_refusal_names_who_may() {
    let member = Relation::Member(Role::Member);
    let nothing = (None, MemberAccess::None);
    let both = service_token(false, false);
    let in_environment = |permission| allow_in(&Who::Anonymous, member, nothing, permission);

    for (refused, reason) in [
        (in_environment(Permission::Manage), "only an owner or admin of the team may do this"),
        (
            in_environment(Permission::Grant),
            "only an admin of this environment or of the team may do this",
        ),
        (in_environment(Permission::Read), "you have no access to this environment"),
        (
            allow(&Who::Anonymous, member, Permission::Manage),
            "only an owner or admin of the team may do this",
        ),
        (allow(&both, Relation::Token, Permission::Read), "this token may not read"),
        (allow(&both, Relation::Token, Permission::Write), "this token may not write"),
        (allow(&both, Relation::Token, Permission::Grant), "a service token may not do this"),
        (allow(&both, Relation::None, Permission::See), "outside of this token's scope"),
        (
            allow(&Who::Anonymous, Relation::None, Permission::See),
            "you are not a member of this team",
        ),
    ] {
        assert_eq!(refused.unwrap_err().to_string(), reason);
    }
}

#[test]
fn a_chain_has_at_most_16_environments_and_no_circle() {
    let creator = user("alice");
    let project = project(&team(&creator, "ops"), "shop");
    let link = |environment: EnvironmentRecord| ChainLink {
        environment,
        in_scope: true,
        granted: None,
        secrets: Vec::new(),
    };
    let mut chain: Vec<_> = (0..=MAX_CHAIN_LENGTH)
        .map(|number| link(environment(&project, &format!("e{number}"))))
        .collect();

    assert!(matches!(check_chain(&chain), Err(Error::Refused { code: Code::InvalidRequest, .. })));
    chain.pop();
    assert!(check_chain(&chain).is_ok());
    chain[MAX_CHAIN_LENGTH - 1] = link(chain[0].environment.clone());
    assert!(matches!(
        check_chain(&chain),
        Err(Error::Refused { code: Code::CircularInheritance, .. })
    ));
    assert!(check_chain(&[]).is_ok());
}
