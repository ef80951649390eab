//! Conformance rules for environments.

use super::{assert_duplicate, assert_stale, begin, committed, read};
use crate::model::{EnvironmentPath, Principal, Subject};
use crate::store::{EnvironmentRecord, Selection, Store, TokenRecord, TokenScope};
use crate::testing::fixtures::{World, at, environment, project, project_key, token};

/// All fields of an environment are stored: with optional fields present or absent, and with the
/// largest possible numbers.
pub async fn everything_of_an_environment_survives(store: &dyn Store) {
    let world = World::build(store).await;
    let full = EnvironmentRecord {
        inherits_from: Some(world.production.id),
        description: Some("ünï\n'日本'".to_owned()),
        is_default: true,
        position: u32::MAX,
        revision: u64::try_from(i64::MAX).unwrap(),
        created_by: Some(world.member.id.uuid()),
        created_at: at(1),
        updated_at: at(2),
        ..environment(&world.project, "Full_1-x")
    };
    let mut tx = begin(store).await;

    tx.insert_environment(&full).await.unwrap();

    let member = Principal::User(world.member.id);
    let found = committed(store, tx).await.environments(world.project.id, member).await.unwrap();
    assert_eq!(found, [world.development, world.staging, world.production, full]);
}

/// An environment name is unique within its project, ignoring case.
pub async fn a_name_is_unique_within_its_project_in_any_case(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;

    for name in ["production", "Production", "PRODUCTION"] {
        let again = tx.insert_environment(&environment(&world.project, name)).await;
        assert_duplicate(again, Subject::Environment);
    }

    let member = Principal::User(world.member.id);
    assert_eq!(tx.environments(world.project.id, member).await.unwrap().len(), 3);
}

/// Two projects may have environments of the same name.
pub async fn two_projects_may_use_the_same_environment_name(store: &dyn Store) {
    let world = World::build(store).await;
    let other = project(&world.team, "other");
    let namesake = environment(&other, "production");
    let mut tx = begin(store).await;
    tx.insert_project(&other, &project_key(&other)).await.unwrap();

    tx.insert_environment(&namesake).await.unwrap();

    let member = Principal::User(world.member.id);
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.environments(other.id, member).await.unwrap(), [namesake]);
    assert_eq!(seen.environments(world.project.id, member).await.unwrap().len(), 3);
}

/// Environments are listed by position, regardless of the order in which they were created.
pub async fn environments_come_by_position(store: &dyn Store) {
    let world = World::build(store).await;
    let [last, middle] = [("a", 20), ("z", 10)].map(|(name, position)| EnvironmentRecord {
        position,
        ..environment(&world.project, name)
    });
    let mut tx = begin(store).await;
    tx.insert_environment(&last).await.unwrap();
    tx.insert_environment(&middle).await.unwrap();

    let member = Principal::User(world.member.id);
    let found = committed(store, tx).await.environments(world.project.id, member).await.unwrap();

    assert_eq!(found, [world.development, world.staging, world.production, middle, last]);
}

/// The list of environments is empty for a project that does not exist.
pub async fn an_unknown_project_has_no_environments(store: &dyn Store) {
    let world = World::build(store).await;
    let unknown = project(&world.team, "unknown").id;

    let found = read(store).await.environments(unknown, Principal::User(world.owner.id)).await;

    assert_eq!(found.unwrap(), []);
}

/// The list for a service token contains only the environments in the token's scope.
pub async fn a_token_lists_the_environments_of_its_scope(store: &dyn Store) {
    let world = World::build(store).await;
    let everywhere = token(&world.team, &world.owner);
    let here = TokenRecord { all_environments: false, ..token(&world.team, &world.owner) };
    let scope = TokenScope {
        environments: vec![world.staging.id, world.development.id],
        ..TokenScope::default()
    };
    let mut tx = begin(store).await;
    tx.insert_token(&everywhere, &TokenScope::default()).await.unwrap();
    tx.insert_token(&here, &scope).await.unwrap();

    let mut seen = committed(store, tx).await;
    let all = seen.environments(world.project.id, Principal::Token(everywhere.id)).await.unwrap();
    let some = seen.environments(world.project.id, Principal::Token(here.id)).await.unwrap();

    assert_eq!(all, [world.development.clone(), world.staging.clone(), world.production]);
    assert_eq!(some, [world.development, world.staging]);
}

/// The list for a service token with access to all environments contains only environments of the
/// projects in its scope.
pub async fn a_token_lists_no_environments_of_a_project_beyond_its_scope(store: &dyn Store) {
    let world = World::build(store).await;
    let other = project(&world.team, "other");
    let elsewhere = TokenRecord { all_projects: false, ..token(&world.team, &world.owner) };
    let scope = TokenScope { projects: vec![other.id], ..TokenScope::default() };
    let foreign = token(&world.other_team, &world.outsider);
    let unknown = token(&world.team, &world.owner);
    let mut tx = begin(store).await;
    tx.insert_project(&other, &project_key(&other)).await.unwrap();
    tx.insert_token(&elsewhere, &scope).await.unwrap();
    tx.insert_token(&foreign, &TokenScope::default()).await.unwrap();

    let mut seen = committed(store, tx).await;
    for token in [elsewhere, foreign, unknown] {
        let found = seen.environments(world.project.id, Principal::Token(token.id)).await.unwrap();
        assert_eq!(found, []);
    }
}

/// `child_environments` lists only direct children, ordered by name, upper case before lower case.
pub async fn children_are_direct_and_ordered_by_name(store: &dyn Store) {
    let world = World::build(store).await;
    let child = |name, of: &EnvironmentRecord| EnvironmentRecord {
        inherits_from: Some(of.id),
        ..environment(&world.project, name)
    };
    let [b, z, ten, two] = ["b", "Z", "10", "2"].map(|name| child(name, &world.production));
    let grandchild = child("a", &b);
    let mut tx = begin(store).await;
    for environment in [&b, &z, &ten, &two, &grandchild] {
        tx.insert_environment(environment).await.unwrap();
    }

    let mut seen = committed(store, tx).await;

    let expected = [ten, two, z, b.clone()].map(|child| child.name);
    assert_eq!(seen.child_environments(world.production.id).await.unwrap(), expected);
    assert_eq!(seen.child_environments(b.id).await.unwrap(), [grandchild.name]);
    assert_eq!(seen.child_environments(grandchild.id).await.unwrap(), []);
}

/// Locking an environment of a deleted project, or increasing its revision with
/// `touch_environment`, fails with `Stale`.
pub async fn an_environment_of_a_deleted_project_is_stale(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    tx.delete_project(world.project.id, at(60)).await.unwrap();

    let locked = tx.lock_environment(world.production.id).await;
    let touched = tx.touch_environment(world.production.id, 1).await;

    assert_stale(locked, Subject::Environment);
    assert_stale(touched, Subject::Environment);
}

/// `touch_environment` adds the given number to the stored revision of the environment, and returns
/// the new revision.
pub async fn touching_counts_from_the_stored_revision(store: &dyn Store) {
    let world = World::build(store).await;
    let busy = EnvironmentRecord { revision: 1 << 40, ..environment(&world.project, "busy") };
    let mut tx = begin(store).await;
    tx.insert_environment(&busy).await.unwrap();

    assert_eq!(tx.touch_environment(busy.id, 1).await.unwrap().revision, busy.revision + 1);
    assert_eq!(tx.touch_environment(busy.id, 1).await.unwrap().revision, busy.revision + 2);
    tx.commit().await.unwrap();

    let mut tx = begin(store).await;
    assert_eq!(tx.touch_environment(busy.id, 1).await.unwrap().revision, busy.revision + 3);
}

/// `touch_environment` changes the revision of an environment, and nothing else. Locking an
/// environment changes nothing.
pub async fn touching_changes_nothing_but_the_revision(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;

    tx.lock_environment(world.staging.id).await.unwrap();
    tx.touch_environment(world.staging.id, 1).await.unwrap();

    let member = Principal::User(world.member.id);
    let found = committed(store, tx).await.environments(world.project.id, member).await.unwrap();
    let touched = EnvironmentRecord { revision: 1, ..world.staging };
    assert_eq!(found, [world.development, touched, world.production]);
}

/// A lookup by name treats `_` literally, not as a wildcard; `1` and `01` are different names.
pub async fn environment_names_are_no_patterns(store: &dyn Store) {
    let world = World::build(store).await;
    let names = ["a_b", "a-b", "axb", "a-B-", "1", "01"];
    let mut tx = begin(store).await;

    for name in names {
        tx.insert_environment(&environment(&world.project, name)).await.unwrap();
    }

    let member = Principal::User(world.member.id);
    let mut seen = committed(store, tx).await;
    for name in names {
        let path = EnvironmentPath::new(world.project.id, name);
        let resolved =
            seen.resolve_environment(&path, member, Selection::None).await.unwrap().unwrap();
        assert_eq!(resolved.chain[0].environment.name.as_str(), name);
    }
}
