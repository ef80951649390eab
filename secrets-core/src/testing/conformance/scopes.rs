//! Conformance rules for resolving an environment: which environments are in the scope of a user or
//! service token, and the relation (membership or token scope) of the caller to the project.

use super::{begin, committed, read};
use crate::model::{EnvironmentId, EnvironmentPath, Principal, ProjectId, Role};
use crate::store::{
    EnvironmentRecord, Reads, Relation, ResolvedEnvironment, Selection, Store, TokenRecord,
    TokenScope,
};
use crate::testing::fixtures::{World, at, environment, project, project_key, token, user};

/// An environment that is resolved for a team member has every environment of its inheritance chain
/// in scope, and its `relation` is `Member` with the user's role.
pub async fn users_have_every_link_in_scope(store: &dyn Store) {
    let world = World::build(store).await;
    let child = child(store, &world).await;
    let mut seen = read(store).await;

    for (person, relation) in [
        (&world.owner, Relation::Member(Role::Owner)),
        (&world.member, Relation::Member(Role::Member)),
    ] {
        let resolved = resolve(&mut *seen, &child, Principal::User(person.id)).await;
        assert_eq!(resolved.relation, relation);
        assert_eq!(in_scope(&resolved), [true, true]);
    }
}

/// An environment that is resolved for a user who does not exist or is not a member of the team has
/// the `relation` `None`.
pub async fn a_non_member_has_no_relation(store: &dyn Store) {
    let world = World::build(store).await;
    let mut seen = read(store).await;

    for person in [&world.outsider, &user("unknown")] {
        let resolved = resolve(&mut *seen, &world.production, Principal::User(person.id)).await;
        assert_eq!(resolved.relation, Relation::None);
    }
}

/// A service token for all projects and all environments has access to every environment of every
/// project of its team.
pub async fn a_token_for_everything_has_everything_in_scope(store: &dyn Store) {
    let world = World::build(store).await;
    let child = child(store, &world).await;
    let everything = token(&world.team, &world.owner);
    let principal = keep(store, &everything, TokenScope::default()).await;

    let mut seen = read(store).await;
    let resolved = resolve(&mut *seen, &child, principal).await;

    assert_eq!(resolved.relation, Relation::Token);
    assert_eq!(in_scope(&resolved), [true, true]);
    assert_eq!(relation(&mut *seen, &world, principal).await, Relation::Token);
    assert_eq!(seen.projects(principal).await.unwrap(), [world.project]);
}

/// A token for all projects has access to all projects of its team, also projects created later.
pub async fn a_token_for_all_projects_includes_later_ones(store: &dyn Store) {
    let world = World::build(store).await;
    let everything = token(&world.team, &world.owner);
    let principal = keep(store, &everything, TokenScope::default()).await;
    let later = project(&world.team, "later");
    let foreign = project(&world.other_team, "foreign");
    let mut tx = begin(store).await;
    for project in [&later, &foreign] {
        tx.insert_project(project, &project_key(project)).await.unwrap();
    }

    let mut seen = committed(store, tx).await;
    let mut found = seen.projects(principal).await.unwrap();
    found.sort_by_key(|project| project.slug.clone());

    assert_eq!(found, [world.project, later]);
    let stands = seen.project(&foreign.id.into(), principal).await.unwrap().unwrap().relation;
    assert_eq!(stands, Relation::None);
}

/// A token for all environments has access to all environments of its projects, also environments
/// created later.
pub async fn a_token_for_all_environments_includes_later_ones(store: &dyn Store) {
    let world = World::build(store).await;
    let of_project = TokenRecord { all_projects: false, ..token(&world.team, &world.owner) };
    let principal = keep(store, &of_project, scope(&[world.project.id], &[])).await;

    let child = child(store, &world).await;

    let resolved = resolve(&mut *read(store).await, &child, principal).await;
    assert_eq!(resolved.relation, Relation::Token);
    assert_eq!(in_scope(&resolved), [true, true]);
}

/// A service token for selected projects has access to these projects only.
pub async fn a_token_has_a_relation_to_the_projects_in_its_scope(store: &dyn Store) {
    let world = World::build(store).await;
    let other = project(&world.team, "other");
    let mut tx = begin(store).await;
    tx.insert_project(&other, &project_key(&other)).await.unwrap();
    tx.commit().await.unwrap();
    let of_other = TokenRecord { all_projects: false, ..token(&world.team, &world.owner) };
    let principal = keep(store, &of_other, scope(&[other.id], &[])).await;

    let mut seen = read(store).await;
    let here = seen.project(&other.id.into(), principal).await.unwrap().unwrap();

    assert_eq!(here.relation, Relation::Token);
    assert_eq!(relation(&mut *seen, &world, principal).await, Relation::None);
    assert_eq!(seen.projects(principal).await.unwrap(), [other]);
}

/// A service token for all environments of selected projects has no access to environments of other
/// projects.
pub async fn a_project_outside_the_scope_has_no_environments_in_scope(store: &dyn Store) {
    let world = World::build(store).await;
    let nowhere = TokenRecord { all_projects: false, ..token(&world.team, &world.owner) };
    let principal = keep(store, &nowhere, TokenScope::default()).await;

    let resolved = resolve(&mut *read(store).await, &world.production, principal).await;

    assert_eq!(resolved.relation, Relation::None);
    assert_eq!(in_scope(&resolved), [false]);
}

/// A service token for selected environments has exactly these environments of the inheritance
/// chain in scope, wherever they are in the chain.
pub async fn a_token_has_the_environments_of_its_scope(store: &dyn Store) {
    let world = World::build(store).await;
    let child = child(store, &world).await;
    let narrow = || TokenRecord { all_environments: false, ..token(&world.team, &world.owner) };
    let of_child = keep(store, &narrow(), scope(&[], &[child.id])).await;
    let of_parent = keep(store, &narrow(), scope(&[], &[world.production.id])).await;
    let of_both = keep(store, &narrow(), scope(&[], &[world.production.id, child.id])).await;
    let of_neither = keep(store, &narrow(), scope(&[], &[world.staging.id])).await;
    let mut seen = read(store).await;

    for (principal, held) in [
        (of_child, [true, false]),
        (of_parent, [false, true]),
        (of_both, [true, true]),
        (of_neither, [false, false]),
    ] {
        let resolved = resolve(&mut *seen, &child, principal).await;
        assert_eq!(resolved.relation, Relation::Token);
        assert_eq!(in_scope(&resolved), held);
    }
}

/// A token has no access to resources of another team, even if its scope names them.
pub async fn a_token_of_another_team_has_no_relation(store: &dyn Store) {
    let world = World::build(store).await;
    let foreign = token(&world.other_team, &world.outsider);
    let principal = keep(store, &foreign, TokenScope::default()).await;

    let mut seen = read(store).await;
    let resolved = resolve(&mut *seen, &world.production, principal).await;

    assert_eq!(resolved.relation, Relation::None);
    assert_eq!(in_scope(&resolved), [false]);
    assert_eq!(seen.projects(principal).await.unwrap(), []);
}

/// An unknown or deleted token has access to nothing.
pub async fn a_deleted_token_has_no_relation(store: &dyn Store) {
    let world = World::build(store).await;
    let deleted = token(&world.team, &world.owner);
    let principal = keep(store, &deleted, TokenScope::default()).await;
    let mut tx = begin(store).await;
    tx.delete_token(deleted.id).await.unwrap();
    let mut seen = committed(store, tx).await;

    for principal in [principal, Principal::Token(token(&world.team, &world.owner).id)] {
        let resolved = resolve(&mut *seen, &world.production, principal).await;
        assert_eq!(resolved.relation, Relation::None);
        assert_eq!(in_scope(&resolved), [false]);
        assert_eq!(relation(&mut *seen, &world, principal).await, Relation::None);
        assert_eq!(seen.projects(principal).await.unwrap(), []);
    }
}

/// A service token whose only project is deleted has access to nothing: an empty list of projects
/// never means all projects.
pub async fn a_token_outlives_its_projects_with_an_empty_scope(store: &dyn Store) {
    let world = World::build(store).await;
    let other = project(&world.team, "other");
    let mut tx = begin(store).await;
    tx.insert_project(&other, &project_key(&other)).await.unwrap();
    tx.commit().await.unwrap();
    let of_other = TokenRecord { all_projects: false, ..token(&world.team, &world.owner) };
    let principal = keep(store, &of_other, scope(&[other.id], &[])).await;
    let mut tx = begin(store).await;

    tx.delete_project(other.id, at(60)).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.token(of_other.id).await.unwrap(), Some(of_other.clone()));
    assert_eq!(seen.token_scope(of_other.id).await.unwrap(), TokenScope::default());
    assert_eq!(seen.projects(principal).await.unwrap(), []);
    assert_eq!(relation(&mut *seen, &world, principal).await, Relation::None);
}

/// A token whose only environment is deleted has access to no environment of its projects.
pub async fn a_token_outlives_its_environments_without_scope_in_others(store: &dyn Store) {
    let world = World::build(store).await;
    let of_staging = TokenRecord { all_environments: false, ..token(&world.team, &world.owner) };
    let principal = keep(store, &of_staging, scope(&[], &[world.staging.id])).await;
    let mut tx = begin(store).await;

    tx.delete_environment(world.staging.id).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.token(of_staging.id).await.unwrap(), Some(of_staging.clone()));
    assert_eq!(seen.token_scope(of_staging.id).await.unwrap(), TokenScope::default());
    assert_eq!(seen.environments(world.project.id, principal).await.unwrap(), []);
    let resolved = resolve(&mut *seen, &world.production, principal).await;
    assert_eq!((resolved.relation, in_scope(&resolved)), (Relation::Token, vec![false]));
}

/// Deleting a project or environment removes it from the scopes of service tokens, but keeps the
/// rest of the scopes.
pub async fn a_deletion_keeps_the_rest_of_a_scope(store: &dyn Store) {
    let world = World::build(store).await;
    let other = project(&world.team, "other");
    let mut tx = begin(store).await;
    tx.insert_project(&other, &project_key(&other)).await.unwrap();
    tx.commit().await.unwrap();
    let narrow = TokenRecord {
        all_projects: false,
        all_environments: false,
        ..token(&world.team, &world.owner)
    };
    let wide = scope(&[world.project.id, other.id], &[world.staging.id, world.production.id]);
    keep(store, &narrow, wide).await;
    let mut tx = begin(store).await;

    tx.delete_environment(world.staging.id).await.unwrap();
    tx.delete_project(other.id, at(60)).await.unwrap();

    let left = committed(store, tx).await.token_scope(narrow.id).await.unwrap();
    assert_eq!(left, scope(&[world.project.id], &[world.production.id]));
}

/// Creates an environment that inherits from the environment `production` of the test world.
async fn child(store: &dyn Store, world: &World) -> EnvironmentRecord {
    let child = EnvironmentRecord {
        inherits_from: Some(world.production.id),
        ..environment(&world.project, "child")
    };
    let mut tx = begin(store).await;
    tx.insert_environment(&child).await.unwrap();
    tx.commit().await.unwrap();
    child
}

async fn keep(store: &dyn Store, token: &TokenRecord, scope: TokenScope) -> Principal {
    let mut tx = begin(store).await;
    tx.insert_token(token, &scope).await.unwrap();
    tx.commit().await.unwrap();
    Principal::Token(token.id)
}

fn scope(projects: &[ProjectId], environments: &[EnvironmentId]) -> TokenScope {
    TokenScope { projects: projects.to_vec(), environments: environments.to_vec() }
}

async fn resolve(
    seen: &mut dyn Reads,
    environment: &EnvironmentRecord,
    principal: Principal,
) -> ResolvedEnvironment {
    let path = EnvironmentPath::new(environment.project, environment.id);
    seen.resolve_environment(&path, principal, Selection::None).await.unwrap().unwrap()
}

async fn relation(seen: &mut dyn Reads, world: &World, principal: Principal) -> Relation {
    seen.project(&world.project.id.into(), principal).await.unwrap().unwrap().relation
}

fn in_scope(resolved: &ResolvedEnvironment) -> Vec<bool> {
    resolved.chain.iter().map(|link| link.in_scope).collect()
}
