//! Conformance rules for teams and their members.

use super::{assert_duplicate, assert_stale, begin, committed, read};
use crate::model::{Role, Subject};
use crate::store::{
    MemberRecord, Membership, Store, StoreError, TeamRecord, TeamUsage, TokenScope, UserRecord,
};
use crate::testing::fixtures::{
    World, at, environment, member, project, project_key, secret, team, token, user,
};

/// A team is found by its ID, with all its fields. A lookup by an unknown ID finds no team.
pub async fn a_team_is_found_by_id(store: &dyn Store) {
    let alice = user("alice");
    let ours = TeamRecord {
        name: "Ünï & Söhne".parse().unwrap(),
        is_personal: true,
        updated_at: at(60),
        ..team(&alice, "ours")
    };
    let unknown = team(&alice, "unknown");
    let mut tx = begin(store).await;
    tx.insert_user(&alice).await.unwrap();

    tx.insert_team(&ours).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.team(ours.id).await.unwrap(), Some(ours));
    assert_eq!(seen.team(unknown.id).await.unwrap(), None);
}

/// The plan of a team is stored unchanged, even if its name is not the name of a built-in plan.
pub async fn every_plan_survives(store: &dyn Store) {
    let world = World::build(store).await;
    let plans = ["unlimited", "free", "team", "of-our-own"];
    let teams =
        plans.map(|plan| TeamRecord { plan: plan.parse().unwrap(), ..team(&world.owner, plan) });
    let mut tx = begin(store).await;

    for team in &teams {
        tx.insert_team(team).await.unwrap();
    }

    let mut seen = committed(store, tx).await;
    for team in teams {
        assert_eq!(seen.team(team.id).await.unwrap(), Some(team));
    }
}

/// A team slug is unique among all teams.
pub async fn a_team_slug_is_unique(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;

    let again = tx.insert_team(&team(&world.outsider, world.team.slug.as_str())).await;

    assert_duplicate(again, Subject::Team);
}

/// A team is loaded together with the role of the user and the time at which the user joined.
pub async fn a_membership_has_its_role_and_time_of_joining(store: &dyn Store) {
    let world = World::build(store).await;
    let late = user("late");
    let place = MemberRecord {
        created_at: at(60),
        updated_at: at(120),
        ..member(&world.team, &late, Role::Admin)
    };
    let mut tx = begin(store).await;
    tx.insert_user(&late).await.unwrap();

    tx.insert_member(&place).await.unwrap();

    let found = committed(store, tx).await.membership(world.team.id, late.id).await.unwrap();
    let role = Some(Role::Admin);
    assert_eq!(found, Some(Membership { team: world.team, role, joined_at: Some(at(60)) }));
}

/// The role is `None` for a user who is not a member of the team.
pub async fn a_non_member_finds_a_team_without_a_role(store: &dyn Store) {
    let world = World::build(store).await;

    let found = read(store).await.membership(world.team.id, world.outsider.id).await.unwrap();

    assert_eq!(found, Some(Membership { team: world.team, role: None, joined_at: None }));
}

/// `membership` returns `None` for a team that does not exist.
pub async fn an_unknown_team_has_no_membership(store: &dyn Store) {
    let world = World::build(store).await;
    let unknown = team(&world.owner, "unknown");

    let found = read(store).await.membership(unknown.id, world.owner.id).await.unwrap();

    assert_eq!(found, None);
}

/// A user's teams are listed oldest first, without teams of other users.
pub async fn memberships_come_oldest_first(store: &dyn Store) {
    let world = World::build(store).await;
    let [third, first, second] = [(30, "a"), (10, "b"), (20, "c")]
        .map(|(age, slug)| TeamRecord { created_at: at(age), ..team(&world.owner, slug) });
    let newcomer = user("newcomer");
    let mut tx = begin(store).await;
    tx.insert_user(&newcomer).await.unwrap();
    for team in [&third, &first, &second] {
        tx.insert_team(team).await.unwrap();
        let place = member(team, &newcomer, Role::Member);
        tx.insert_member(&MemberRecord { created_at: team.created_at, ..place }).await.unwrap();
    }

    let found = committed(store, tx).await.memberships(newcomer.id).await.unwrap();

    let expected = [first, second, third].map(|team| Membership {
        role: Some(Role::Member),
        joined_at: Some(team.created_at),
        team,
    });
    assert_eq!(found, expected);
}

/// A user without a team has no memberships.
pub async fn a_person_without_a_team_has_no_memberships(store: &dyn Store) {
    World::build(store).await;
    let loner = user("loner");
    let mut tx = begin(store).await;
    tx.insert_user(&loner).await.unwrap();

    assert_eq!(committed(store, tx).await.memberships(loner.id).await.unwrap(), []);
}

/// Members are listed by team, and within a team in the order they joined.
pub async fn members_come_by_team_in_the_order_they_joined(store: &dyn Store) {
    let world = World::build(store).await;
    let [later, sooner] = [(20, "later"), (10, "sooner")].map(|(age, name)| {
        let person = user(name);
        let place = member(&world.team, &person, Role::Admin);
        (MemberRecord { created_at: at(age), ..place }, person)
    });
    let mut tx = begin(store).await;
    for (place, person) in [&later, &sooner] {
        tx.insert_user(person).await.unwrap();
        tx.insert_member(place).await.unwrap();
    }

    let mut seen = committed(store, tx).await;
    let found = seen.members(&[world.other_team.id, world.team.id]).await.unwrap();

    let owner = member(&world.team, &world.owner, Role::Owner);
    let plain = member(&world.team, &world.member, Role::Member);
    let plain = MemberRecord { created_at: at(1), ..plain };
    let other = member(&world.other_team, &world.outsider, Role::Owner);
    let mut expected = [owner, plain, sooner.0, later.0, other];
    expected.sort_by_key(|place| place.team);
    assert_eq!(found, expected);
}

/// `members` returns only members of the given teams, and no members for an empty list of teams.
pub async fn no_teams_have_no_members(store: &dyn Store) {
    let world = World::build(store).await;
    let mut seen = read(store).await;

    let of_none = seen.members(&[]).await.unwrap();
    let of_unknown = seen.members(&[team(&world.owner, "unknown").id]).await.unwrap();
    let of_other = seen.members(&[world.other_team.id]).await.unwrap();

    assert_eq!(of_none, []);
    assert_eq!(of_unknown, []);
    assert_eq!(of_other, [member(&world.other_team, &world.outsider, Role::Owner)]);
}

/// A member is listed with the user's current profile, not with the profile at the time of joining.
pub async fn a_member_is_shown_as_the_person_is_now(store: &dyn Store) {
    let world = World::build(store).await;
    let renamed = UserRecord {
        email: "new@example.com".to_owned(),
        name: "Néw Name".to_owned(),
        avatar_url: Some("https://images.example/new".to_owned()),
        ..world.outsider.clone()
    };
    let mut tx = begin(store).await;

    tx.update_user(&renamed).await.unwrap();

    let found = committed(store, tx).await.members(&[world.other_team.id]).await.unwrap();
    assert_eq!(found, [member(&world.other_team, &renamed, Role::Owner)]);
}

/// A user cannot be inserted twice as a member of a team, even with a different role.
pub async fn a_person_is_in_a_team_once(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;

    let again = tx.insert_member(&member(&world.team, &world.member, Role::Admin)).await;

    assert!(matches!(again, Err(StoreError::Duplicate(_))), "{again:?}");
    let found = tx.membership(world.team.id, world.member.id).await.unwrap();
    assert_eq!(found.and_then(|found| found.role), Some(Role::Member));
}

/// A user may be a member of several teams, with a separate role in each.
pub async fn a_person_has_a_role_in_each_team(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    tx.insert_member(&member(&world.other_team, &world.owner, Role::Member)).await.unwrap();

    let mut seen = committed(store, tx).await;
    let here = seen.membership(world.team.id, world.owner.id).await.unwrap().unwrap();
    let there = seen.membership(world.other_team.id, world.owner.id).await.unwrap().unwrap();

    assert_eq!((here.role, there.role), (Some(Role::Owner), Some(Role::Member)));
}

/// A team can be locked repeatedly in one transaction. Locking an unknown team fails with `Stale`.
pub async fn an_existing_team_can_be_locked(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;

    tx.lock_team(world.team.id).await.unwrap();
    tx.lock_team(world.team.id).await.unwrap();
    let unknown = tx.lock_team(team(&world.owner, "unknown").id).await;

    assert_stale(unknown, Subject::Team);
    assert_eq!(tx.team(world.team.id).await.unwrap(), Some(world.team));
}

/// Changing a role changes only one member of one team.
pub async fn a_member_can_be_given_another_role(store: &dyn Store) {
    let world = World::build(store).await;
    let place = member(&world.team, &world.member, Role::Member);
    let admin =
        MemberRecord { role: Role::Admin, created_at: at(1), updated_at: at(60), ..place.clone() };
    let mut tx = begin(store).await;

    tx.update_member(&MemberRecord { created_at: at(30), ..admin.clone() }).await.unwrap();
    let outsider = tx.update_member(&member(&world.team, &world.outsider, Role::Owner)).await;

    assert_stale(outsider, Subject::User);
    let found = committed(store, tx).await.members(&[world.team.id]).await.unwrap();
    assert_eq!(found, [member(&world.team, &world.owner, Role::Owner), admin]);
}

/// A member who is removed from a team stays a member of other teams. A second removal fails with
/// `Stale`.
pub async fn a_member_can_be_removed(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    tx.insert_member(&member(&world.other_team, &world.member, Role::Member)).await.unwrap();

    tx.delete_member(world.team.id, world.member.id).await.unwrap();
    let again = tx.delete_member(world.team.id, world.member.id).await;

    assert_stale(again, Subject::User);
    let mut seen = committed(store, tx).await;
    let left = seen.members(&[world.team.id]).await.unwrap();
    let teams = seen.memberships(world.member.id).await.unwrap();
    assert_eq!(left, [member(&world.team, &world.owner, Role::Owner)]);
    assert_eq!(teams.iter().map(|of| of.team.id).collect::<Vec<_>>(), [world.other_team.id]);
}

/// `set_plan` changes only the plan and the update time; for a deleted team it fails with `Stale`.
pub async fn the_plan_of_a_team_can_be_changed(store: &dyn Store) {
    let world = World::build(store).await;
    let plan = "custom".parse().unwrap();
    let mut tx = begin(store).await;

    tx.set_plan(world.team.id, &plan, at(7)).await.unwrap();

    let gone = team(&world.owner, "gone").id;
    assert_stale(tx.set_plan(gone, &plan, at(7)).await, Subject::Team);
    let mut seen = committed(store, tx).await;
    let changed = TeamRecord { plan, updated_at: at(7), ..world.team };
    assert_eq!(seen.team(changed.id).await.unwrap(), Some(changed));
    assert_eq!(seen.team(world.other_team.id).await.unwrap(), Some(world.other_team));
}

/// `team_usage` returns the total numbers of resources, and the numbers in the largest project or
/// environment. It does not count deleted resources.
pub async fn the_resources_of_a_team_are_counted(store: &dyn Store) {
    let world = World::build(store).await;
    let (other, gone) = (project(&world.team, "other"), project(&world.team, "gone"));
    let [far, nowhere] =
        [(&other, "far"), (&gone, "nowhere")].map(|(of, name)| environment(of, name));
    let mut tx = begin(store).await;
    for (project, environment) in [(&other, &far), (&gone, &nowhere)] {
        tx.insert_project(project, &project_key(project)).await.unwrap();
        tx.insert_environment(environment).await.unwrap();
    }
    let secrets = [
        secret(&world.staging, "A"),
        secret(&world.staging, "B"),
        secret(&far, "A"),
        secret(&nowhere, "A"),
    ];
    tx.insert_secrets(&secrets).await.unwrap();
    let machine = token(&world.team, &world.owner);
    tx.insert_token(&machine, &TokenScope::default()).await.unwrap();
    tx.delete_project(gone.id, at(1)).await.unwrap();

    let mut seen = committed(store, tx).await;

    let usage = TeamUsage {
        members: 2,
        projects: 2,
        environments: 4,
        most_environments: 3,
        secrets: 3,
        most_secrets: 2,
        bytes: secrets[..3].iter().map(|secret| secret.size() as u64).sum(),
        most_bytes: 2 * secrets[0].size() as u64,
        stored_bytes: secrets.iter().map(|secret| secret.size() as u64).sum(),
        service_tokens: 1,
        rotations: 0,
    };
    assert_eq!(seen.team_usage(world.team.id).await.unwrap(), usage);
    let alone = TeamUsage { members: 1, ..TeamUsage::default() };
    assert_eq!(seen.team_usage(world.other_team.id).await.unwrap(), alone);
    let unknown = team(&world.owner, "unknown").id;
    assert_eq!(seen.team_usage(unknown).await.unwrap(), TeamUsage::default());
}
