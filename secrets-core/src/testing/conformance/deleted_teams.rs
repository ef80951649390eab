//! Conformance rules for deleting teams.

use std::slice::from_ref;

use super::{assert_duplicate, begin, committed, purge};
use crate::crypto::TokenMac;
use crate::model::{EnvironmentPath, Principal, Subject};
use crate::store::{
    EnvironmentRecord, PreviousToken, PurgeProgress, Selection, Store, TokenRecord, TokenScope,
};
use crate::testing::fixtures::{
    World, at, environment, finding, invitation, next_version, project, project_key, scan, secret,
    team, token,
};

/// Deleting a team and purging its projects deletes all records of the team, and no record of other
/// teams. The slug of the team can be used again; the slugs of the projects stay taken. Even before
/// the purge, no lookup finds the projects.
pub async fn a_deleted_team_is_empty_and_its_slug_is_free(store: &dyn Store) {
    let world = World::build(store).await;
    let secret = secret(&world.staging, "KEY");
    let token = token(&world.team, &world.owner);
    let scope = TokenScope { projects: vec![world.project.id], environments: Vec::new() };
    let child = EnvironmentRecord {
        inherits_from: Some(world.staging.id),
        ..environment(&world.project, "child")
    };
    let mut tx = begin(store).await;
    tx.insert_environment(&child).await.unwrap();
    tx.insert_secrets(from_ref(&secret)).await.unwrap();
    tx.replace_secrets(from_ref(&next_version(&secret))).await.unwrap();
    tx.insert_token(&token, &scope).await.unwrap();
    tx.insert_invitation(&invitation(&world.team, &world.owner, "x@example.com")).await.unwrap();
    let scan = scan(&world.team, &world.owner);
    tx.insert_scan(&scan, &[finding(&scan, 0)]).await.unwrap();

    tx.delete_team(world.team.id, at(60)).await.unwrap();

    let mut seen = committed(store, tx).await;
    let principal = Principal::User(world.owner.id);
    let key = EnvironmentPath::new(world.project.id, world.staging.id);
    assert!(seen.resolve_environment(&key, principal, Selection::All).await.unwrap().is_none());
    assert!(seen.deleted_project(world.project.id, at(0), principal).await.unwrap().is_none());
    purge(store, world.project.id).await;
    assert_eq!(seen.memberships(world.owner.id).await.unwrap(), []);
    assert_eq!(seen.projects(principal).await.unwrap(), []);
    assert_eq!(seen.environments(world.project.id, principal).await.unwrap(), []);
    assert_eq!(seen.secret_versions(secret.id, u32::MAX, 10).await.unwrap(), []);
    assert_eq!(seen.secret_range().await.unwrap(), None);
    assert_eq!(seen.token(token.id).await.unwrap(), None);
    assert_eq!(seen.invitations(world.team.id).await.unwrap(), []);
    assert_eq!(seen.scans(&[world.team.id], None, 10).await.unwrap(), []);
    assert_eq!(seen.findings(scan.id).await.unwrap(), []);
    assert_eq!(seen.members(&[world.other_team.id]).await.unwrap().len(), 1);
    let mut tx = begin(store).await;
    tx.insert_team(&team(&world.owner, "acme")).await.unwrap();
    let again = project(&world.other_team, "billing");
    assert_duplicate(tx.insert_project(&again, &project_key(&again)).await, Subject::Project);
    tx.delete_team(world.other_team.id, at(60)).await.unwrap();
    tx.commit().await.unwrap();
}

/// After a team is deleted, its already deleted projects can be purged at once, and its tokens are
/// no longer found by their previous MACs.
pub async fn deleting_a_team_deletes_its_deleted_projects_and_old_hashes(store: &dyn Store) {
    let world = World::build(store).await;
    let previous = PreviousToken { mac: TokenMac([7; 32]), until: at(99) };
    let token = TokenRecord { previous: Some(previous), ..token(&world.team, &world.owner) };
    let secret = secret(&world.staging, "KEY");
    let mut tx = begin(store).await;
    tx.insert_token(&token, &TokenScope::default()).await.unwrap();
    tx.insert_secrets(from_ref(&secret)).await.unwrap();
    tx.delete_project(world.project.id, at(1)).await.unwrap();

    tx.delete_team(world.team.id, at(60)).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.token_by_mac(&previous.mac).await.unwrap(), None);
    assert_eq!(seen.purgeable_projects(at(0), at(99), 9).await.unwrap().len(), 1);
    purge(store, world.project.id).await;
    assert_eq!(seen.secret_range().await.unwrap(), None);
    assert_eq!(seen.purgeable_projects(at(99), at(99), 9).await.unwrap(), []);
    let mut tx = begin(store).await;
    let reused = TokenRecord { team: world.other_team.id, ..token };
    tx.insert_token(&reused, &TokenScope::default()).await.unwrap();
    let purged = tx.purge_project(world.project.id, at(99), 10).await.unwrap();
    assert_eq!(purged, PurgeProgress::Nothing);
}
