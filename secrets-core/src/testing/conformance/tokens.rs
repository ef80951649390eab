//! Conformance rules for service tokens.

use super::{assert_duplicate, assert_stale, begin, committed, read};
use crate::crypto::{TokenMac, random};
use crate::model::Subject;
use crate::store::{NewCredential, PreviousToken, Store, TokenRecord, TokenScope, TokenUse};
use crate::testing::fixtures::{World, at, environment, project, project_key, team, token};

/// A token is found by its MAC and by its ID, with all its fields.
pub async fn a_token_is_found_by_hash_and_by_id(store: &dyn Store) {
    let world = World::build(store).await;
    let full = TokenRecord {
        name: "Ünï 日本".parse().unwrap(),
        mac: TokenMac([0, 1, 127, 128, 254, 255, b'\'', b'\\'].repeat(4).try_into().unwrap()),
        prefix: "env_AbC0123'".to_owned(),
        created_at: at(1),
        updated_at: at(2),
        expires_at: Some(at(3)),
        networks: ["10.0.0.0/8", "2001:db8::/32"].map(|text| text.parse().unwrap()).to_vec(),
        previous: Some(PreviousToken { mac: TokenMac(random()), until: at(4) }),
        rotated_at: Some(at(5)),
        last_use: Some(TokenUse { at: at(6), address: Some("192.0.2.1".parse().unwrap()) }),
        outlives_session: true,
        ..token(&world.team, &world.owner)
    };
    let bare = token(&world.team, &world.owner);
    let mut tx = begin(store).await;

    tx.insert_token(&full, &TokenScope::default()).await.unwrap();
    tx.insert_token(&bare, &TokenScope::default()).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.token_by_mac(&full.mac).await.unwrap(), Some(full.clone()));
    assert_eq!(seen.token(full.id).await.unwrap(), Some(full));
    assert_eq!(seen.token_by_mac(&bare.mac).await.unwrap(), Some(bare.clone()));
    assert_eq!(seen.token(bare.id).await.unwrap(), Some(bare));
}

/// A lookup by an unknown MAC or ID finds no token, even if the value is similar to a known one.
pub async fn an_unknown_token_is_not_found(store: &dyn Store) {
    let world = World::build(store).await;
    let known = token(&world.team, &world.owner);
    let mut tx = begin(store).await;
    tx.insert_token(&known, &TokenScope::default()).await.unwrap();
    let mut close = known.mac.0;
    close[31] ^= 1;

    let mut seen = committed(store, tx).await;

    assert_eq!(seen.token_by_mac(&TokenMac(close)).await.unwrap(), None);
    assert_eq!(seen.token_by_mac(&TokenMac(random())).await.unwrap(), None);
    assert_eq!(seen.token(token(&world.team, &world.owner).id).await.unwrap(), None);
}

/// Each Boolean field of a token is stored independently of the others.
pub async fn each_flag_of_a_token_is_kept(store: &dyn Store) {
    let world = World::build(store).await;
    let tokens = [0, 1, 2, 4, 8, 16, 31].map(|bits| TokenRecord {
        can_read: bits & 1 != 0,
        can_write: bits & 2 != 0,
        all_projects: bits & 4 != 0,
        all_environments: bits & 8 != 0,
        expiry_announced: bits & 16 != 0,
        ..token(&world.team, &world.owner)
    });
    let mut tx = begin(store).await;

    for token in &tokens {
        tx.insert_token(token, &TokenScope::default()).await.unwrap();
    }

    let mut seen = committed(store, tx).await;
    for token in tokens {
        assert_eq!(seen.token(token.id).await.unwrap(), Some(token));
    }
}

/// The MAC of a token is unique. A refused insertion stores nothing.
pub async fn a_token_hash_is_unique(store: &dyn Store) {
    let world = World::build(store).await;
    let first = token(&world.team, &world.owner);
    let second = TokenRecord { mac: first.mac, ..token(&world.other_team, &world.outsider) };
    let scope = TokenScope { projects: vec![world.project.id], ..TokenScope::default() };
    let mut tx = begin(store).await;
    tx.insert_token(&first, &TokenScope::default()).await.unwrap();

    let again = tx.insert_token(&second, &scope).await;

    assert_duplicate(again, Subject::Token);
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.token_by_mac(&first.mac).await.unwrap(), Some(first));
    assert_eq!(seen.token(second.id).await.unwrap(), None);
    assert_eq!(seen.token_scope(second.id).await.unwrap(), TokenScope::default());
}

/// Two tokens may have the same name.
pub async fn a_token_name_is_not_unique(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;

    for _ in 0..2 {
        tx.insert_token(&token(&world.team, &world.owner), &TokenScope::default()).await.unwrap();
    }

    assert_eq!(committed(store, tx).await.count_tokens(world.team.id).await.unwrap(), 2);
}

/// The scope of a token is stored unchanged. A token without a stored scope, or an unknown token,
/// has an empty scope.
pub async fn a_scope_is_kept_with_its_token(store: &dyn Store) {
    let world = World::build(store).await;
    let other = project(&world.team, "other");
    let scoped = TokenRecord {
        all_projects: false,
        all_environments: false,
        ..token(&world.team, &world.owner)
    };
    let bare = token(&world.team, &world.owner);
    let scope = TokenScope {
        projects: vec![other.id, world.project.id],
        environments: vec![world.staging.id, world.production.id, world.development.id],
    };
    let mut tx = begin(store).await;
    tx.insert_project(&other, &project_key(&other)).await.unwrap();
    tx.insert_token(&scoped, &scope).await.unwrap();
    tx.insert_token(&bare, &TokenScope::default()).await.unwrap();

    let mut seen = committed(store, tx).await;
    let found = seen.token_scope(scoped.id).await.unwrap();

    assert_eq!(ordered(found), ordered(scope));
    assert_eq!(seen.token_scope(bare.id).await.unwrap(), TokenScope::default());
    let unknown = token(&world.team, &world.owner).id;
    assert_eq!(seen.token_scope(unknown).await.unwrap(), TokenScope::default());
}

/// The service tokens of a team are listed oldest first, each with its own scope, without tokens of
/// other teams.
pub async fn tokens_come_oldest_first_with_their_scopes(store: &dyn Store) {
    let world = World::build(store).await;
    let third_team = team(&world.owner, "third");
    let made = |age, of, by| TokenRecord { created_at: at(age), ..token(of, by) };
    let newest = made(30, &world.team, &world.owner);
    let oldest = made(10, &world.team, &world.owner);
    let middle = made(20, &world.other_team, &world.outsider);
    let left_out = made(15, &third_team, &world.owner);
    let scope = TokenScope {
        projects: vec![world.project.id],
        environments: vec![world.production.id, world.staging.id],
    };
    let mut tx = begin(store).await;
    tx.insert_team(&third_team).await.unwrap();
    tx.insert_token(&newest, &scope).await.unwrap();
    for token in [&oldest, &middle, &left_out] {
        tx.insert_token(token, &TokenScope::default()).await.unwrap();
    }

    let mut seen = committed(store, tx).await;
    let found = seen.tokens(&[world.other_team.id, world.team.id]).await.unwrap();

    let found: Vec<_> = found.into_iter().map(|(token, scope)| (token, ordered(scope))).collect();
    let nothing = TokenScope::default();
    assert_eq!(found, [(oldest, nothing.clone()), (middle, nothing), (newest, ordered(scope))]);
}

/// The list of tokens is empty for an empty list of teams and for an unknown team.
pub async fn no_teams_have_no_tokens(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    tx.insert_token(&token(&world.team, &world.owner), &TokenScope::default()).await.unwrap();
    let unknown = team(&world.owner, "unknown").id;

    let mut seen = committed(store, tx).await;

    assert_eq!(seen.tokens(&[]).await.unwrap(), []);
    assert_eq!(seen.tokens(&[unknown]).await.unwrap(), []);
    assert_eq!(seen.count_tokens(unknown).await.unwrap(), 0);
}

/// `count_tokens` includes changes made in the same transaction.
pub async fn the_tokens_of_a_team_are_counted(store: &dyn Store) {
    let world = World::build(store).await;
    let [first, second] = [0, 1].map(|_| token(&world.team, &world.owner));
    let mut tx = begin(store).await;
    tx.lock_team(world.team.id).await.unwrap();

    for token in [&first, &second] {
        tx.insert_token(token, &TokenScope::default()).await.unwrap();
    }
    assert_eq!(tx.count_tokens(world.team.id).await.unwrap(), 2);
    tx.delete_token(first.id).await.unwrap();

    assert_eq!(tx.count_tokens(world.team.id).await.unwrap(), 1);
    assert_eq!(tx.count_tokens(world.other_team.id).await.unwrap(), 0);
}

/// Deleting a token also deletes its scope, but no other token or scope.
pub async fn a_deleted_token_is_gone_with_its_scope(store: &dyn Store) {
    let world = World::build(store).await;
    let [gone, kept] = [0, 1].map(|_| token(&world.team, &world.owner));
    let scope =
        TokenScope { projects: vec![world.project.id], environments: vec![world.staging.id] };
    let mut tx = begin(store).await;
    for token in [&gone, &kept] {
        tx.insert_token(token, &scope).await.unwrap();
    }

    tx.delete_token(gone.id).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.token(gone.id).await.unwrap(), None);
    assert_eq!(seen.token_by_mac(&gone.mac).await.unwrap(), None);
    assert_eq!(seen.token_scope(gone.id).await.unwrap(), TokenScope::default());
    assert_eq!(seen.tokens(&[world.team.id]).await.unwrap(), [(kept, scope)]);
}

/// A token can be inserted again under the ID of a deleted token, with a new MAC.
pub async fn a_deleted_token_can_be_inserted_again(store: &dyn Store) {
    let world = World::build(store).await;
    let first = token(&world.team, &world.owner);
    let renewed = TokenRecord { mac: TokenMac(random()), updated_at: at(60), ..first.clone() };
    let mut tx = begin(store).await;
    tx.insert_token(&first, &TokenScope::default()).await.unwrap();
    tx.delete_token(first.id).await.unwrap();

    tx.insert_token(&renewed, &TokenScope::default()).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.token_by_mac(&first.mac).await.unwrap(), None);
    assert_eq!(seen.token_by_mac(&renewed.mac).await.unwrap(), Some(renewed));
}

/// A deleted token cannot be deleted again.
pub async fn a_token_that_is_gone_is_stale(store: &dyn Store) {
    let world = World::build(store).await;
    let gone = token(&world.team, &world.owner);
    let mut tx = begin(store).await;
    tx.insert_token(&gone, &TokenScope::default()).await.unwrap();
    tx.delete_token(gone.id).await.unwrap();

    assert_stale(tx.delete_token(gone.id).await, Subject::Token);
    assert_stale(tx.delete_token(token(&world.team, &world.owner).id).await, Subject::Token);
}

/// An ID that occurs twice in a scope is stored only once.
pub async fn a_scope_contains_each_resource_once(store: &dyn Store) {
    let world = World::build(store).await;
    let twice = token(&world.team, &world.owner);
    let (project, staging) = (world.project.id, world.staging.id);
    let scope = TokenScope { projects: vec![project; 2], environments: vec![staging; 2] };
    let mut tx = begin(store).await;

    tx.insert_token(&twice, &scope).await.unwrap();

    let found = committed(store, tx).await.token_scope(twice.id).await.unwrap();
    assert_eq!(found, TokenScope { projects: vec![project], environments: vec![staging] });
}

/// A scope may contain many projects and environments.
pub async fn a_large_scope_survives(store: &dyn Store) {
    let world = World::build(store).await;
    let many = token(&world.team, &world.owner);
    let mut scope = TokenScope::default();
    let mut tx = begin(store).await;
    for number in 0..60 {
        let project = project(&world.team, &format!("p{number}"));
        let environment = environment(&project, "only");
        tx.insert_project(&project, &project_key(&project)).await.unwrap();
        tx.insert_environment(&environment).await.unwrap();
        scope.projects.push(project.id);
        scope.environments.push(environment.id);
    }

    tx.insert_token(&many, &scope).await.unwrap();

    let found = committed(store, tx).await.token_scope(many.id).await.unwrap();
    assert_eq!(ordered(found), ordered(scope));
    assert_eq!(read(store).await.tokens(&[world.team.id]).await.unwrap().len(), 1);
}

/// Returns the scope with its IDs sorted.
fn ordered(mut scope: TokenScope) -> TokenScope {
    scope.projects.sort();
    scope.environments.sort();
    scope
}

fn rotation(mac: TokenMac, until: Option<i64>) -> NewCredential {
    let prefix = "env_rotated0".to_owned();
    let previous_until = until.map(at);
    NewCredential { mac, prefix, previous_until, outlives_session: true, now: at(60) }
}

/// After a rotation, a token is found by its new MAC and by its previous MAC. Its other fields stay
/// unchanged.
pub async fn a_rotated_token_is_found_by_both_hashes(store: &dyn Store) {
    let world = World::build(store).await;
    let old = token(&world.team, &world.owner);
    let mac = TokenMac(random());
    let mut tx = begin(store).await;
    tx.insert_token(&old, &TokenScope::default()).await.unwrap();

    tx.rotate_token(old.id, &rotation(mac, Some(90))).await.unwrap();

    let mut seen = committed(store, tx).await;
    let rotated = TokenRecord {
        mac,
        prefix: "env_rotated0".to_owned(),
        updated_at: at(60),
        previous: Some(PreviousToken { mac: old.mac, until: at(90) }),
        rotated_at: Some(at(60)),
        outlives_session: true,
        ..old.clone()
    };
    assert_eq!(seen.token_by_mac(&mac).await.unwrap().as_ref(), Some(&rotated));
    assert_eq!(seen.token_by_mac(&old.mac).await.unwrap().as_ref(), Some(&rotated));
    assert_eq!(seen.token(old.id).await.unwrap(), Some(rotated));
}

/// A token rotated without a grace period is found by its new MAC only.
pub async fn a_rotation_without_grace_leaves_one_hash(store: &dyn Store) {
    let world = World::build(store).await;
    let old = token(&world.team, &world.owner);
    let mac = TokenMac(random());
    let mut tx = begin(store).await;
    tx.insert_token(&old, &TokenScope::default()).await.unwrap();

    tx.rotate_token(old.id, &rotation(mac, None)).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.token_by_mac(&old.mac).await.unwrap(), None);
    assert_eq!(seen.token_by_mac(&mac).await.unwrap().unwrap().previous, None);
}

/// After a second rotation, the previous MAC is the one from the first rotation, and the original
/// MAC is deleted.
pub async fn a_token_rotation_replaces_the_current_hash(store: &dyn Store) {
    let world = World::build(store).await;
    let old = token(&world.team, &world.owner);
    let [second, third] = [0, 1].map(|_| TokenMac(random()));
    let mut tx = begin(store).await;
    tx.insert_token(&old, &TokenScope::default()).await.unwrap();

    tx.rotate_token(old.id, &rotation(second, Some(90))).await.unwrap();
    tx.rotate_token(old.id, &rotation(third, Some(99))).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.token_by_mac(&old.mac).await.unwrap(), None);
    let found = seen.token_by_mac(&second).await.unwrap().unwrap();
    assert_eq!(found.mac, third);
    assert_eq!(found.previous, Some(PreviousToken { mac: second, until: at(99) }));
}

/// A deleted token is found by neither its current nor its previous MAC, and cannot be rotated.
pub async fn a_previous_hash_is_deleted_with_its_token(store: &dyn Store) {
    let world = World::build(store).await;
    let old = token(&world.team, &world.owner);
    let mac = TokenMac(random());
    let mut tx = begin(store).await;
    tx.insert_token(&old, &TokenScope::default()).await.unwrap();
    tx.rotate_token(old.id, &rotation(mac, Some(90))).await.unwrap();

    tx.delete_token(old.id).await.unwrap();

    assert_stale(tx.rotate_token(old.id, &rotation(mac, None)).await, Subject::Token);
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.token_by_mac(&old.mac).await.unwrap(), None);
    assert_eq!(seen.token_by_mac(&mac).await.unwrap(), None);
}

/// `record_token_use` does nothing if the last use was recorded less than a minute before, or if
/// the token is deleted.
pub async fn a_use_is_stored_once_per_interval(store: &dyn Store) {
    let world = World::build(store).await;
    let used = token(&world.team, &world.owner);
    let mut tx = begin(store).await;
    tx.insert_token(&used, &TokenScope::default()).await.unwrap();
    let address = Some("2001:db8::1".parse().unwrap());

    for (seconds, kept) in [(0, 0), (59, 0), (60, 60), (-5, 60), (119, 60), (130, 130)] {
        tx.record_token_use(used.id, TokenUse { at: at(seconds), address }).await.unwrap();

        let last = tx.token(used.id).await.unwrap().unwrap().last_use;
        assert_eq!(last, Some(TokenUse { at: at(kept), address }), "{seconds}");
    }
    tx.record_token_use(used.id, TokenUse { at: at(500), address: None }).await.unwrap();
    let gone = token(&world.team, &world.owner).id;
    tx.record_token_use(gone, TokenUse { at: at(0), address }).await.unwrap();

    let mut seen = committed(store, tx).await;
    let last = TokenUse { at: at(500), address: None };
    assert_eq!(
        seen.token(used.id).await.unwrap(),
        Some(TokenRecord { last_use: Some(last), ..used })
    );
    assert_eq!(seen.token(gone).await.unwrap(), None);
}
