//! What is said of people's access, and what a look finds of it.

use super::{assert_stale, begin, committed, read};
use crate::model::{EnvironmentPath, MemberAccess, Principal, Role, Subject};
use crate::store::{
    EnvironmentRecord, PermissionDefault, PermissionRecord, Reads, Store, StoreError, UserRecord,
    Wanted,
};
use crate::testing::fixtures::{World, at, environment, member, project, project_key, token};

/// What is said of a person in an environment.
fn said(world: &World, user: &UserRecord, place: &EnvironmentRecord) -> PermissionRecord {
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

/// What a look into an environment tells of each link.
async fn granted(
    seen: &mut dyn Reads,
    place: &EnvironmentRecord,
    principal: Principal,
) -> Vec<Option<MemberAccess>> {
    let path = EnvironmentPath::new(place.project, place.id);
    let sight = seen.sight(&path, principal, Wanted::All).await.unwrap().unwrap();
    sight.chain.iter().map(|link| link.granted).collect()
}

/// All that is said survives, whatever the access.
pub async fn everything_said_of_a_person_survives(store: &dyn Store) {
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
            ..said(&world, &world.member, place)
        };
        tx.put_permission(&full).await.unwrap();
        tx.delete_permission(full.environment, full.user).await.unwrap();
        let first = tx.put_permission(&full).await.unwrap();

        assert_eq!(first, at(1));
        assert_eq!(tx.permissions(place.id).await.unwrap(), [full]);
    }
}

/// What is said again takes the place of what was said; the moment of the first time stays.
pub async fn what_is_said_again_takes_the_place(store: &dyn Store) {
    let world = World::build(store).await;
    let first = said(&world, &world.member, &world.staging);
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

/// What is said of an environment comes oldest first, and of no other.
pub async fn what_is_said_comes_oldest_first(store: &dyn Store) {
    let world = World::build(store).await;
    let later =
        PermissionRecord { created_at: at(5), ..said(&world, &world.owner, &world.staging) };
    let first = said(&world, &world.member, &world.staging);
    let elsewhere = said(&world, &world.member, &world.production);
    let mut tx = begin(store).await;
    for permission in [&later, &first, &elsewhere] {
        tx.put_permission(permission).await.unwrap();
    }

    let mut seen = committed(store, tx).await;

    assert_eq!(seen.permissions(world.staging.id).await.unwrap(), [first, later]);
    assert_eq!(seen.permissions(world.development.id).await.unwrap(), []);
}

/// What is said of a person is found by project, by environment.
pub async fn what_is_said_of_a_person_is_found_by_project(store: &dyn Store) {
    let world = World::build(store).await;
    let other = project(&world.team, "other");
    let far = environment(&other, "far");
    let mut tx = begin(store).await;
    tx.insert_project(&other, &project_key(&other)).await.unwrap();
    tx.insert_environment(&far).await.unwrap();
    let mut here =
        [&world.staging, &world.development].map(|place| said(&world, &world.member, place));
    for permission in &here {
        tx.put_permission(permission).await.unwrap();
    }
    tx.put_permission(&said(&world, &world.member, &far)).await.unwrap();
    tx.put_permission(&said(&world, &world.owner, &world.staging)).await.unwrap();

    let mut seen = committed(store, tx).await;
    let found = seen.permissions_of(world.project.id, world.member.id).await.unwrap();

    here.sort_by_key(|permission| permission.environment);
    assert_eq!(found, here);
}

/// What nobody said cannot be taken back, and nothing else goes with what is.
pub async fn what_is_taken_back_is_gone(store: &dyn Store) {
    let world = World::build(store).await;
    let kept = said(&world, &world.owner, &world.staging);
    let mut tx = begin(store).await;
    tx.put_permission(&kept).await.unwrap();
    tx.put_permission(&said(&world, &world.member, &world.staging)).await.unwrap();

    tx.delete_permission(world.staging.id, world.member.id).await.unwrap();
    let again = tx.delete_permission(world.staging.id, world.member.id).await;

    assert_stale(again, Subject::Permission);
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.permissions(world.staging.id).await.unwrap(), [kept]);
}

/// Nothing is said of somebody who is no member.
pub async fn nothing_is_said_of_a_stranger(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;

    let refused = tx.put_permission(&said(&world, &world.stranger, &world.staging)).await;

    assert!(matches!(refused, Err(StoreError::Broken(_))), "{refused:?}");
}

/// What was said of an environment goes with it.
pub async fn an_environment_takes_what_was_said_along(store: &dyn Store) {
    let world = World::build(store).await;
    let kept = said(&world, &world.member, &world.production);
    let mut tx = begin(store).await;
    tx.put_permission(&kept).await.unwrap();
    tx.put_permission(&said(&world, &world.member, &world.staging)).await.unwrap();

    tx.delete_environment(world.staging.id).await.unwrap();

    let mut seen = committed(store, tx).await;
    let found = seen.permissions_of(world.project.id, world.member.id).await.unwrap();
    assert_eq!(found, [kept]);
    assert_eq!(seen.permissions(world.staging.id).await.unwrap(), []);
}

/// Who leaves a team and comes back has no old rights; the others keep theirs.
pub async fn who_comes_back_has_no_old_rights(store: &dyn Store) {
    let world = World::build(store).await;
    let kept = said(&world, &world.owner, &world.staging);
    let mut tx = begin(store).await;
    tx.put_permission(&kept).await.unwrap();
    tx.put_permission(&said(&world, &world.member, &world.staging)).await.unwrap();
    tx.delete_member(world.team.id, world.member.id).await.unwrap();
    tx.insert_member(&member(&world.team, &world.member, Role::Member)).await.unwrap();

    let mut seen = committed(store, tx).await;

    assert_eq!(seen.permissions(world.staging.id).await.unwrap(), [kept]);
    let principal = Principal::User(world.member.id);
    assert_eq!(granted(&mut *seen, &world.staging, principal).await, [None]);
}

/// What is said of a project is kept, replaced and taken back.
pub async fn what_is_said_of_a_project_is_kept(store: &dyn Store) {
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

/// A look tells of each link what was said of the one who looks, or else of the project.
pub async fn a_look_tells_what_was_granted(store: &dyn Store) {
    let world = World::build(store).await;
    let heir = EnvironmentRecord {
        inherits_from: Some(world.staging.id),
        ..environment(&world.project, "heir")
    };
    let own = PermissionRecord {
        access: MemberAccess::Admin,
        ..said(&world, &world.member, &world.staging)
    };
    let of_all = PermissionDefault {
        project: world.project.id,
        access: MemberAccess::None,
        set_by: None,
        updated_at: at(0),
    };
    let machine = token(&world.team, &world.owner);
    let mut tx = begin(store).await;
    tx.insert_environment(&heir).await.unwrap();
    tx.insert_token(&machine, &crate::store::TokenScope::default()).await.unwrap();
    tx.put_permission(&own).await.unwrap();
    tx.commit().await.unwrap();
    let (someone, owner) = (Principal::User(world.member.id), Principal::User(world.owner.id));

    let mut seen = read(store).await;
    assert_eq!(granted(&mut *seen, &heir, someone).await, [None, Some(MemberAccess::Admin)]);
    assert_eq!(granted(&mut *seen, &heir, owner).await, [None, None]);

    let mut tx = begin(store).await;
    tx.put_permission_default(&of_all).await.unwrap();
    let mut seen = committed(store, tx).await;
    let none = Some(MemberAccess::None);
    assert_eq!(granted(&mut *seen, &heir, someone).await, [none, Some(MemberAccess::Admin)]);
    assert_eq!(granted(&mut *seen, &heir, owner).await, [none, none]);
    assert_eq!(granted(&mut *seen, &heir, Principal::Token(machine.id)).await, [None, None]);
}
