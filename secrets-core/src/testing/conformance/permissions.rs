//! Conformance rules for permissions of users in environments and projects.

use super::{assert_stale, begin, committed, read};
use crate::model::{EnvironmentPath, MemberAccess, Principal, Role, Subject};
use crate::store::{
    EnvironmentDefault, EnvironmentRecord, PermissionDefault, PermissionRecord, Reads, Selection,
    Store, StoreError, UserRecord,
};
use crate::testing::fixtures::{World, at, environment, member, project, project_key, token};

/// Creates a read permission of a user in an environment.
fn permission_for(world: &World, user: &UserRecord, place: &EnvironmentRecord) -> PermissionRecord {
    PermissionRecord {
        environment: place.id,
        user: user.id,
        team: world.team.id,
        access: MemberAccess::Read,
        granted_by: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

/// Resolves an environment, and returns the access level granted in each environment of its
/// inheritance chain.
async fn granted(
    seen: &mut dyn Reads,
    place: &EnvironmentRecord,
    principal: Principal,
) -> Vec<Option<MemberAccess>> {
    let path = EnvironmentPath::new(place.project, place.id);
    let resolved =
        seen.resolve_environment(&path, principal, Selection::All).await.unwrap().unwrap();
    resolved.chain.iter().map(|link| link.granted).collect()
}

/// All fields of a permission are stored, for every access level.
pub async fn all_fields_of_a_permission_survive(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    let all = [MemberAccess::None, MemberAccess::Read, MemberAccess::Write, MemberAccess::Admin];

    for (access, place) in all.into_iter().zip([&world.development, &world.staging].repeat(2)) {
        let granted_by = Some(world.owner.id.uuid());
        let full = PermissionRecord {
            access,
            granted_by,
            created_at: at(1),
            updated_at: at(2),
            ..permission_for(&world, &world.member, place)
        };
        tx.put_permission(&full).await.unwrap();
        tx.delete_permission(full.environment, full.user).await.unwrap();
        let first = tx.put_permission(&full).await.unwrap();

        assert_eq!(first, at(1));
        assert_eq!(tx.permissions(place.id).await.unwrap(), [full]);
    }
}

/// A new permission replaces the existing permission of the user in the environment. The creation
/// time is kept.
pub async fn a_new_permission_replaces_the_previous_one(store: &dyn Store) {
    let world = World::build(store).await;
    let first = permission_for(&world, &world.member, &world.staging);
    let again = PermissionRecord {
        access: MemberAccess::Admin,
        granted_by: Some(world.owner.id.uuid()),
        created_at: at(9),
        updated_at: at(9),
        ..first.clone()
    };
    let mut tx = begin(store).await;
    tx.put_permission(&first).await.unwrap();

    assert_eq!(tx.put_permission(&again).await.unwrap(), at(0));

    let mut seen = committed(store, tx).await;
    let kept = PermissionRecord { created_at: at(0), ..again };
    assert_eq!(seen.permissions(world.staging.id).await.unwrap(), [kept]);
}

/// Permissions of an environment are listed oldest first, without permissions of other
/// environments.
pub async fn permissions_come_oldest_first(store: &dyn Store) {
    let world = World::build(store).await;
    let later = PermissionRecord {
        created_at: at(5),
        ..permission_for(&world, &world.owner, &world.staging)
    };
    let first = permission_for(&world, &world.member, &world.staging);
    let elsewhere = permission_for(&world, &world.member, &world.production);
    let mut tx = begin(store).await;
    for permission in [&later, &first, &elsewhere] {
        tx.put_permission(permission).await.unwrap();
    }

    let mut seen = committed(store, tx).await;

    assert_eq!(seen.permissions(world.staging.id).await.unwrap(), [first, later]);
    assert_eq!(seen.permissions(world.development.id).await.unwrap(), []);
}

/// Permissions of a user are listed for one project at a time, ordered by environment.
pub async fn permissions_of_a_user_are_found_by_project(store: &dyn Store) {
    let world = World::build(store).await;
    let other = project(&world.team, "other");
    let far = environment(&other, "far");
    let mut tx = begin(store).await;
    tx.insert_project(&other, &project_key(&other)).await.unwrap();
    tx.insert_environment(&far).await.unwrap();
    let mut here = [&world.staging, &world.development]
        .map(|place| permission_for(&world, &world.member, place));
    for permission in &here {
        tx.put_permission(permission).await.unwrap();
    }
    tx.put_permission(&permission_for(&world, &world.member, &far)).await.unwrap();
    tx.put_permission(&permission_for(&world, &world.owner, &world.staging)).await.unwrap();

    let mut seen = committed(store, tx).await;
    let found = seen.permissions_of(world.project.id, world.member.id).await.unwrap();

    here.sort_by_key(|permission| permission.environment);
    assert_eq!(found, here);
}

/// Deleting a permission deletes no other permission. Deleting a permission that does not exist
/// fails with `Stale`.
pub async fn a_removed_permission_is_gone(store: &dyn Store) {
    let world = World::build(store).await;
    let kept = permission_for(&world, &world.owner, &world.staging);
    let mut tx = begin(store).await;
    tx.put_permission(&kept).await.unwrap();
    tx.put_permission(&permission_for(&world, &world.member, &world.staging)).await.unwrap();

    tx.delete_permission(world.staging.id, world.member.id).await.unwrap();
    let again = tx.delete_permission(world.staging.id, world.member.id).await;

    assert_stale(again, Subject::Permission);
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.permissions(world.staging.id).await.unwrap(), [kept]);
}

/// A permission cannot be set for a user who is not a member of the team.
pub async fn a_non_member_cannot_have_a_permission(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;

    let refused = tx.put_permission(&permission_for(&world, &world.outsider, &world.staging)).await;

    assert!(matches!(refused, Err(StoreError::Corrupt(_))), "{refused:?}");
}

/// Deleting an environment deletes its permissions.
pub async fn deleting_an_environment_deletes_its_permissions(store: &dyn Store) {
    let world = World::build(store).await;
    let kept = permission_for(&world, &world.member, &world.production);
    let mut tx = begin(store).await;
    tx.put_permission(&kept).await.unwrap();
    tx.put_permission(&permission_for(&world, &world.member, &world.staging)).await.unwrap();

    tx.delete_environment(world.staging.id).await.unwrap();

    let mut seen = committed(store, tx).await;
    let found = seen.permissions_of(world.project.id, world.member.id).await.unwrap();
    assert_eq!(found, [kept]);
    assert_eq!(seen.permissions(world.staging.id).await.unwrap(), []);
}

/// A user who leaves a team and joins it again has none of the earlier permissions. Other users
/// keep their permissions.
pub async fn a_returning_member_has_no_old_permissions(store: &dyn Store) {
    let world = World::build(store).await;
    let kept = permission_for(&world, &world.owner, &world.staging);
    let mut tx = begin(store).await;
    tx.put_permission(&kept).await.unwrap();
    tx.put_permission(&permission_for(&world, &world.member, &world.staging)).await.unwrap();
    tx.delete_member(world.team.id, world.member.id).await.unwrap();
    tx.insert_member(&member(&world.team, &world.member, Role::Member)).await.unwrap();

    let mut seen = committed(store, tx).await;

    assert_eq!(seen.permissions(world.staging.id).await.unwrap(), [kept]);
    let principal = Principal::User(world.member.id);
    assert_eq!(granted(&mut *seen, &world.staging, principal).await, [None]);
}

/// The default access level of a project can be stored, replaced and deleted.
pub async fn the_default_of_a_project_is_kept(store: &dyn Store) {
    let world = World::build(store).await;
    let project = world.project.id;
    let (first, set_by) = (MemberAccess::None, Some(world.owner.id.uuid()));
    let first = PermissionDefault { project, access: first, set_by, updated_at: at(1) };
    let second = PermissionDefault {
        access: MemberAccess::Write,
        set_by: None,
        updated_at: at(2),
        ..first.clone()
    };
    let mut tx = begin(store).await;
    assert_eq!(tx.permission_default(project).await.unwrap(), None);

    for default in [&first, &second] {
        tx.put_permission_default(default).await.unwrap();
        assert_eq!(tx.permission_default(project).await.unwrap().as_ref(), Some(default));
    }
    tx.delete_permission_default(project).await.unwrap();

    assert_stale(tx.delete_permission_default(project).await, Subject::Permission);
    assert_eq!(committed(store, tx).await.permission_default(project).await.unwrap(), None);
}

/// The default access level of an environment can be stored. It can be deleted for all environments
/// of a project, and it is deleted with the environment.
pub async fn the_default_of_an_environment_is_kept(store: &dyn Store) {
    let world = World::build(store).await;
    let project = world.project.id;
    let (short, lasting) = (environment(&world.project, "a"), environment(&world.project, "b"));
    let mut defaults = vec![
        environment_default(&short, MemberAccess::None),
        environment_default(&lasting, MemberAccess::Admin),
    ];
    defaults.sort_by_key(|default| default.environment);
    let mut tx = begin(store).await;
    for environment in [&short, &lasting] {
        tx.insert_environment(environment).await.unwrap();
    }
    assert_eq!(tx.environment_defaults(project).await.unwrap(), []);

    for default in &defaults {
        tx.insert_environment_default(default).await.unwrap();
    }

    assert_eq!(tx.environment_defaults(project).await.unwrap(), defaults);
    tx.delete_environment(short.id).await.unwrap();
    defaults.retain(|default| default.environment == lasting.id);
    assert_eq!(tx.environment_defaults(project).await.unwrap(), defaults);
    tx.delete_environment_defaults(project).await.unwrap();
    assert_eq!(committed(store, tx).await.environment_defaults(project).await.unwrap(), []);
}

/// A resolved environment contains the access level of the calling user in each environment of the
/// inheritance chain: the user's own permission, or else the default of the environment, or else
/// the default of the project. Service tokens have no such level.
pub async fn resolving_returns_the_permission(store: &dyn Store) {
    let world = World::build(store).await;
    let child = EnvironmentRecord {
        inherits_from: Some(world.staging.id),
        ..environment(&world.project, "child")
    };
    let own = PermissionRecord {
        access: MemberAccess::Admin,
        ..permission_for(&world, &world.member, &world.staging)
    };
    let of_all = PermissionDefault {
        project: world.project.id,
        access: MemberAccess::None,
        set_by: None,
        updated_at: at(0),
    };
    let machine = token(&world.team, &world.owner);
    let mut tx = begin(store).await;
    tx.insert_environment(&child).await.unwrap();
    tx.insert_token(&machine, &crate::store::TokenScope::default()).await.unwrap();
    tx.put_permission(&own).await.unwrap();
    tx.commit().await.unwrap();
    let (someone, owner) = (Principal::User(world.member.id), Principal::User(world.owner.id));

    let mut seen = read(store).await;
    assert_eq!(granted(&mut *seen, &child, someone).await, [None, Some(MemberAccess::Admin)]);
    assert_eq!(granted(&mut *seen, &child, owner).await, [None, None]);

    let mut tx = begin(store).await;
    tx.put_permission_default(&of_all).await.unwrap();
    let of_child = environment_default(&child, MemberAccess::Read);
    tx.insert_environment_default(&of_child).await.unwrap();
    let mut seen = committed(store, tx).await;
    let read_only = Some(MemberAccess::Read);
    assert_eq!(granted(&mut *seen, &child, someone).await, [read_only, Some(MemberAccess::Admin)]);
    assert_eq!(granted(&mut *seen, &child, Principal::Token(machine.id)).await, [None, None]);

    let mut tx = begin(store).await;
    tx.delete_environment_defaults(world.project.id).await.unwrap();
    let mut seen = committed(store, tx).await;
    let none = Some(MemberAccess::None);
    assert_eq!(granted(&mut *seen, &child, someone).await, [none, Some(MemberAccess::Admin)]);
    assert_eq!(granted(&mut *seen, &child, owner).await, [none, none]);
    assert_eq!(granted(&mut *seen, &child, Principal::Token(machine.id)).await, [None, None]);
}

fn environment_default(
    environment: &EnvironmentRecord,
    access: MemberAccess,
) -> EnvironmentDefault {
    EnvironmentDefault { environment: environment.id, access, set_by: None, created_at: at(1) }
}
