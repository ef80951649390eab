//! Conformance rules for projects, and for the relation of callers to them.

use super::{assert_duplicate, assert_stale, begin, committed, read};
use crate::model::{EnvironmentPath, Principal, ProjectRef, Role, Subject};
use crate::store::{ProjectRecord, Relation, Selection, Store, TeamRecord};
use crate::testing::fixtures::{World, at, member, project, project_key, team, user};

/// A project is found by its ID and by its slug, with all its fields.
pub async fn a_project_is_found_by_id_and_by_slug(store: &dyn Store) {
    let world = World::build(store).await;
    let full = ProjectRecord {
        name: "Ünï 日本 & Co".parse().unwrap(),
        description: Some("two\nlines, 'quoted' — ünï".to_owned()),
        created_by: Some(world.owner.id.uuid()),
        created_at: at(1),
        updated_at: at(2),
        ..project(&world.team, "full")
    };
    let mut tx = begin(store).await;
    tx.insert_project(&full, &project_key(&full)).await.unwrap();
    let owner = Principal::User(world.owner.id);

    let mut seen = committed(store, tx).await;
    let by_id = seen.project(&full.id.into(), owner).await.unwrap().unwrap();
    let by_slug = seen.project(&"full".into(), owner).await.unwrap().unwrap();
    let bare = seen.project(&world.project.id.into(), owner).await.unwrap().unwrap();

    assert_eq!(by_id.project, full);
    assert_eq!(by_slug.project, full);
    assert_eq!(bare.project, world.project);
}

/// A lookup by an unknown ID, an unknown slug, or a slug in another case finds no project.
pub async fn an_unknown_project_is_not_found(store: &dyn Store) {
    let world = World::build(store).await;
    let owner = Principal::User(world.owner.id);
    let mut seen = read(store).await;

    for unknown in [
        project(&world.team, "unknown").id.into(),
        "unknown".into(),
        "BILLING".into(),
        "billing ".into(),
        "bill%".into(),
        "'; drop table projects; --".into(),
        "billing\0".into(),
        ProjectRef::Slug(String::new()),
        ProjectRef::Slug(world.project.id.to_string()),
    ] {
        assert!(seen.project(&unknown, owner).await.unwrap().is_none(), "{unknown:?}");
    }
}

/// A slug is unique among the projects of all teams. A refused insertion stores nothing.
pub async fn a_slug_is_unique_among_projects(store: &dyn Store) {
    let world = World::build(store).await;
    let second = project(&world.other_team, world.project.slug.as_str());
    let mut tx = begin(store).await;

    let again = tx.insert_project(&second, &project_key(&second)).await;

    assert_duplicate(again, Subject::Project);
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.count_projects(world.other_team.id).await.unwrap(), 0);
    assert_eq!(seen.project_key(second.id, 1).await.unwrap(), None);
}

/// The slug of a deleted project can never be used again.
pub async fn a_deleted_projects_slug_stays_taken(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    tx.delete_project(world.project.id, at(60)).await.unwrap();
    tx.commit().await.unwrap();
    let second = project(&world.team, world.project.slug.as_str());
    let mut tx = begin(store).await;

    let again = tx.insert_project(&second, &project_key(&second)).await;

    assert_duplicate(again, Subject::Project);
}

/// A project may have the same slug as a team.
pub async fn a_project_and_a_team_may_share_a_slug(store: &dyn Store) {
    let world = World::build(store).await;
    let namesake = project(&world.team, world.team.slug.as_str());
    let mut tx = begin(store).await;

    tx.insert_project(&namesake, &project_key(&namesake)).await.unwrap();

    let owner = Principal::User(world.owner.id);
    let found = committed(store, tx).await.project(&"acme".into(), owner).await.unwrap().unwrap();
    assert_eq!(found.project, namesake);
}

/// A team member has the relation `Member`, with the member's role, to all projects of the team.
pub async fn a_member_has_their_role_in_a_project(store: &dyn Store) {
    let world = World::build(store).await;
    let admin = user("admin");
    let mut tx = begin(store).await;
    tx.insert_user(&admin).await.unwrap();
    tx.insert_member(&member(&world.team, &admin, Role::Admin)).await.unwrap();

    let mut seen = committed(store, tx).await;
    for (person, role) in
        [(&world.owner, Role::Owner), (&admin, Role::Admin), (&world.member, Role::Member)]
    {
        let found = seen.project(&"billing".into(), Principal::User(person.id)).await.unwrap();
        assert_eq!(found.unwrap().relation, Relation::Member(role));
    }
}

/// Users outside the team, and unknown users, have no relation to its projects.
pub async fn a_non_member_has_no_relation_to_a_project(store: &dyn Store) {
    let world = World::build(store).await;
    let mut seen = read(store).await;

    for person in [&world.outsider, &user("unknown")] {
        let found = seen.project(&"billing".into(), Principal::User(person.id)).await.unwrap();
        assert_eq!(found.unwrap().relation, Relation::None);
    }
}

/// A project is loaded with its team's plan.
pub async fn a_project_is_loaded_with_the_plan_of_its_team(store: &dyn Store) {
    let world = World::build(store).await;
    let limited = TeamRecord { plan: "free".parse().unwrap(), ..team(&world.owner, "limited") };
    let small = project(&limited, "small");
    let mut tx = begin(store).await;
    tx.insert_team(&limited).await.unwrap();
    tx.insert_project(&small, &project_key(&small)).await.unwrap();
    let owner = Principal::User(world.owner.id);

    let mut seen = committed(store, tx).await;
    let free = seen.project(&"small".into(), owner).await.unwrap().unwrap();
    let unlimited = seen.project(&"billing".into(), owner).await.unwrap().unwrap();

    assert_eq!((free.plan.as_str(), unlimited.plan.as_str()), ("free", "unlimited"));
}

/// `projects` lists the projects of a user's teams, oldest first.
pub async fn projects_come_oldest_first(store: &dyn Store) {
    let world = World::build(store).await;
    let [third, first, second] = [(30, "a"), (10, "b"), (20, "c")]
        .map(|(age, slug)| ProjectRecord { created_at: at(age), ..project(&world.team, slug) });
    let elsewhere = ProjectRecord { created_at: at(15), ..project(&world.other_team, "d") };
    let mut tx = begin(store).await;
    for project in [&third, &first, &elsewhere, &second] {
        tx.insert_project(project, &project_key(project)).await.unwrap();
    }

    let mut seen = committed(store, tx).await;
    let of_member = seen.projects(Principal::User(world.member.id)).await.unwrap();
    let of_outsider = seen.projects(Principal::User(world.outsider.id)).await.unwrap();
    let of_unknown = seen.projects(Principal::User(user("unknown").id)).await.unwrap();

    assert_eq!(of_member, [world.project, first, second, third]);
    assert_eq!(of_outsider, [elsewhere]);
    assert_eq!(of_unknown, []);
}

/// A user in several teams gets one list with the projects of all of them, oldest first.
pub async fn the_projects_of_several_teams_come_in_one_order(store: &dyn Store) {
    let world = World::build(store).await;
    let [second, first] = [(20, &world.team), (10, &world.other_team)].map(|(age, team)| {
        ProjectRecord { created_at: at(age), ..project(team, &format!("p{age}")) }
    });
    let mut tx = begin(store).await;
    tx.insert_member(&member(&world.other_team, &world.owner, Role::Member)).await.unwrap();
    for project in [&second, &first] {
        tx.insert_project(project, &project_key(project)).await.unwrap();
    }

    let found = committed(store, tx).await.projects(Principal::User(world.owner.id)).await.unwrap();

    assert_eq!(found, [world.project, first, second]);
}

/// `count_projects` includes changes made in the same transaction.
pub async fn the_projects_of_a_team_are_counted(store: &dyn Store) {
    let world = World::build(store).await;
    let second = project(&world.team, "second");
    let mut tx = begin(store).await;
    tx.lock_team(world.team.id).await.unwrap();
    assert_eq!(tx.count_projects(world.team.id).await.unwrap(), 1);

    tx.insert_project(&second, &project_key(&second)).await.unwrap();
    assert_eq!(tx.count_projects(world.team.id).await.unwrap(), 2);
    tx.delete_project(world.project.id, at(60)).await.unwrap();
    assert_eq!(tx.count_projects(world.team.id).await.unwrap(), 1);

    assert_eq!(tx.count_projects(world.other_team.id).await.unwrap(), 0);
}

/// A project key is found by its version. All byte values and the largest numbers are stored
/// unchanged.
pub async fn a_project_key_is_found_by_version(store: &dyn Store) {
    let world = World::build(store).await;
    let second = project(&world.team, "second");
    let mut key = project_key(&second);
    (key.version, key.kek_id) = (u32::MAX, u32::MAX);
    key.wrapped = (0..=u8::MAX).collect();
    let mut tx = begin(store).await;
    tx.insert_project(&second, &key).await.unwrap();

    let mut seen = committed(store, tx).await;

    assert_eq!(seen.project_key(second.id, 1).await.unwrap(), None);
    assert_eq!(seen.project_key(second.id, u32::MAX).await.unwrap(), Some(key));
    assert_eq!(seen.project_key(world.project.id, 1).await.unwrap(), Some(world.key));
}

/// An update replaces the name, description and update time of a project, and nothing else.
pub async fn an_update_changes_name_and_description_of_a_project(store: &dyn Store) {
    let world = World::build(store).await;
    let renamed = ProjectRecord {
        name: "Renamed".parse().unwrap(),
        description: Some("new".to_owned()),
        updated_at: at(60),
        ..world.project.clone()
    };
    let elsewhere = ProjectRecord {
        team: world.other_team.id,
        slug: "other".parse().unwrap(),
        created_by: Some(world.outsider.id.uuid()),
        created_at: at(30),
        ..renamed.clone()
    };
    let mut tx = begin(store).await;

    tx.update_project(&elsewhere).await.unwrap();

    let owner = Principal::User(world.owner.id);
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.projects(owner).await.unwrap(), [renamed]);
    assert!(seen.project(&"other".into(), owner).await.unwrap().is_none());
}

/// An update can remove the description of a project.
pub async fn an_update_can_clear_a_description(store: &dyn Store) {
    let world = World::build(store).await;
    let described = ProjectRecord { description: Some("old".to_owned()), ..world.project.clone() };
    let mut tx = begin(store).await;
    tx.update_project(&described).await.unwrap();

    tx.update_project(&world.project).await.unwrap();

    let found = committed(store, tx).await.projects(Principal::User(world.owner.id)).await.unwrap();
    assert_eq!(found, [world.project]);
}

/// Updating, deleting or locking an unknown or deleted project fails with `Stale`.
pub async fn a_project_that_is_gone_is_stale(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    tx.delete_project(world.project.id, at(60)).await.unwrap();

    for gone in [&world.project, &project(&world.team, "unknown")] {
        assert_stale(tx.update_project(gone).await, Subject::Project);
        assert_stale(tx.delete_project(gone.id, at(61)).await, Subject::Project);
        assert_stale(tx.lock_project(gone.id).await, Subject::Project);
    }
}

/// An existing project can be locked several times in one transaction.
pub async fn an_existing_project_can_be_locked(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;

    tx.lock_project(world.project.id).await.unwrap();
    tx.lock_project(world.project.id).await.unwrap();

    let found = committed(store, tx).await.projects(Principal::User(world.owner.id)).await.unwrap();
    assert_eq!(found, [world.project]);
}

/// No lookup, list or count includes a deleted project, and other projects are unchanged.
pub async fn a_deleted_project_is_not_found(store: &dyn Store) {
    let world = World::build(store).await;
    let other = project(&world.team, "other");
    let mut tx = begin(store).await;
    tx.insert_project(&other, &project_key(&other)).await.unwrap();
    let owner = Principal::User(world.owner.id);

    tx.delete_project(world.project.id, at(60)).await.unwrap();

    let mut seen = committed(store, tx).await;
    for named in [ProjectRef::from(world.project.id), "billing".into()] {
        assert!(seen.project(&named, owner).await.unwrap().is_none());
        let path = EnvironmentPath::new(named, world.development.id);
        assert!(seen.resolve_environment(&path, owner, Selection::All).await.unwrap().is_none());
    }
    assert_eq!(seen.environments(world.project.id, owner).await.unwrap(), []);
    assert_eq!(seen.project_key(world.project.id, 1).await.unwrap(), None);
    assert_eq!(seen.projects(owner).await.unwrap(), [other]);
    assert_eq!(seen.count_projects(world.team.id).await.unwrap(), 1);
}
