//! Conformance rules for the inheritance chain of a resolved environment.

use std::slice::from_ref;
use std::sync::Arc;

use super::resolve_environment::{names, resolve};
use super::{begin, read};
use crate::model::{EnvironmentPath, Principal};
use crate::store::{EnvironmentRecord, ResolvedEnvironment, Selection, Store};
use crate::testing::fixtures::{World, environment, secret};

/// An inheritance chain begins with the environment itself and continues with its ancestors,
/// nearest first. This holds for chains of every length, and for every order in which the
/// environments were created.
pub async fn a_chain_comes_nearest_first(store: &dyn Store) {
    let world = World::build(store).await;
    let chain = inherit(store, &world, 16).await;
    let mut seen = read(store).await;
    let owner = Principal::User(world.owner.id);

    for length in 1..=chain.len() {
        let expected = &chain[chain.len() - length..];
        let path = EnvironmentPath::new("billing", expected[0].id);
        let resolved =
            seen.resolve_environment(&path, owner, Selection::None).await.unwrap().unwrap();
        let found: Vec<_> = resolved.chain.into_iter().map(|link| link.environment).collect();
        assert_eq!(found, expected);
    }
}

/// Only the first 17 environments ([`ResolvedEnvironment::MAX_LINKS`]) of a longer inheritance
/// chain are loaded.
pub async fn resolving_reaches_one_link_beyond_the_longest_chain(store: &dyn Store) {
    let world = World::build(store).await;
    let chain = inherit(store, &world, 20).await;
    let reach = ResolvedEnvironment::MAX_LINKS as usize;
    let path = EnvironmentPath::new("billing", chain[0].id);

    let mut seen = read(store).await;
    let resolved = seen
        .resolve_environment(&path, Principal::User(world.owner.id), Selection::All)
        .await
        .unwrap()
        .unwrap();

    let expected: Vec<_> = chain[..reach].iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names(&resolved), expected);
}

/// If an environment inherits from itself, its inheritance chain contains it repeatedly, up to the
/// maximum length.
pub async fn a_cycle_shows_as_a_repeated_link(store: &dyn Store) {
    let world = World::build(store).await;
    let circle = environment(&world.project, "circle");
    let circle = EnvironmentRecord { inherits_from: Some(circle.id), ..circle };
    let mut tx = begin(store).await;
    tx.insert_environment(&circle).await.unwrap();
    let own = secret(&circle, "KEY");
    tx.insert_secrets(from_ref(&own)).await.unwrap();

    let path = EnvironmentPath::new("billing", "circle");
    let owner = Principal::User(world.owner.id);
    let resolved = resolve(store, tx, &path, owner, Selection::All).await;

    assert!((2..=ResolvedEnvironment::MAX_LINKS as usize).contains(&resolved.chain.len()));
    for link in &resolved.chain {
        assert_eq!(link.environment, circle);
        assert_eq!(link.secrets, [Arc::new(own.clone())]);
    }
}

/// If an ancestor of an environment is part of a cycle, the inheritance chain contains the
/// environment, and then the environments of the cycle repeatedly.
pub async fn a_cycle_further_up_shows_as_a_repeated_link(store: &dyn Store) {
    let world = World::build(store).await;
    let circle = environment(&world.project, "circle");
    let circle = EnvironmentRecord { inherits_from: Some(circle.id), ..circle };
    let child = EnvironmentRecord {
        inherits_from: Some(circle.id),
        ..environment(&world.project, "child")
    };
    let mut tx = begin(store).await;
    tx.insert_environment(&circle).await.unwrap();
    tx.insert_environment(&child).await.unwrap();

    let path = EnvironmentPath::new("billing", "child");
    let owner = Principal::User(world.owner.id);
    let resolved = resolve(store, tx, &path, owner, Selection::None).await;

    assert_eq!(names(&resolved)[..3], ["child", "circle", "circle"]);
    assert!(resolved.chain.len() <= ResolvedEnvironment::MAX_LINKS as usize);
}

/// Creates an inheritance chain of `length` environments; the first inherits from the second, and
/// so on.
async fn inherit(store: &dyn Store, world: &World, length: usize) -> Vec<EnvironmentRecord> {
    let mut tx = begin(store).await;
    let mut chain: Vec<EnvironmentRecord> = Vec::new();
    for place in 0..length {
        let inherits_from = chain.last().map(|parent| parent.id);
        let position = u32::try_from(place * 7 % 5).unwrap();
        let link = environment(&world.project, &format!("link-{place}"));
        chain.push(EnvironmentRecord { inherits_from, position, ..link });
        tx.insert_environment(&chain[place]).await.unwrap();
    }
    tx.commit().await.unwrap();
    chain.reverse();
    chain
}
