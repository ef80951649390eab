//! Conformance rules for resolving an environment in one call: the project, the inheritance chain
//! and its secrets.

use std::slice::from_ref;
use std::sync::Arc;

use super::{begin, committed, read};
use crate::model::{EnvironmentPath, Principal, SecretKey};
use crate::store::{
    EnvironmentRecord, Relation, ResolvedEnvironment, SecretRecord, Selection, Store, TeamRecord,
    Tx,
};
use crate::testing::fixtures::{
    World, environment, next_version, project, project_key, sealed, secret, team,
};

/// Resolving an environment of an unknown project returns `None`.
pub async fn an_unknown_project_shows_nothing(store: &dyn Store) {
    let world = World::build(store).await;
    let mut seen = read(store).await;
    let owner = Principal::User(world.owner.id);
    let unknown = project(&world.team, "unknown");

    for path in [
        EnvironmentPath::new(unknown.id, world.production.id),
        EnvironmentPath::new("unknown", "production"),
        EnvironmentPath::new("Billing", "production"),
    ] {
        assert!(
            seen.resolve_environment(&path, owner, Selection::All).await.unwrap().is_none(),
            "{path:?}"
        );
    }
}

/// An unknown environment has an empty inheritance chain, but its project is still returned.
pub async fn an_unknown_environment_has_an_empty_chain(store: &dyn Store) {
    let world = World::build(store).await;
    let other = project(&world.team, "other");
    let foreign = environment(&other, "foreign");
    let mut tx = begin(store).await;
    tx.insert_project(&other, &project_key(&other)).await.unwrap();
    tx.insert_environment(&foreign).await.unwrap();
    let owner = Principal::User(world.owner.id);
    let mut seen = committed(store, tx).await;

    for path in [
        EnvironmentPath::new("billing", environment(&world.project, "unknown").id),
        EnvironmentPath::new("billing", foreign.id),
        EnvironmentPath::new("billing", "foreign"),
        EnvironmentPath::new("billing", "'; drop table environments; --"),
        EnvironmentPath::new("billing", ""),
        EnvironmentPath::new("billing", "production\0"),
    ] {
        let resolved =
            seen.resolve_environment(&path, owner, Selection::All).await.unwrap().unwrap();
        assert!(resolved.chain.is_empty(), "{path:?}");
        assert_eq!(resolved.project, world.project);
    }
}

/// Project and environment can each be given by ID or by name; all four combinations find the same
/// environment.
pub async fn ids_and_names_resolve_to_the_same_environment(store: &dyn Store) {
    let world = World::build(store).await;
    let mut seen = read(store).await;
    let owner = Principal::User(world.owner.id);

    for path in [
        EnvironmentPath::new(world.project.id, world.staging.id),
        EnvironmentPath::new(world.project.id, "staging"),
        EnvironmentPath::new("billing", world.staging.id),
        EnvironmentPath::new("billing", "staging"),
    ] {
        let resolved =
            seen.resolve_environment(&path, owner, Selection::All).await.unwrap().unwrap();
        assert_eq!(resolved.project, world.project);
        assert_eq!(resolved.chain.len(), 1);
        assert_eq!(resolved.chain[0].environment, world.staging);
    }
}

/// The lookup of an environment by name is case-sensitive, although two names in a project must not
/// differ only in case.
pub async fn an_environment_is_found_by_its_exact_name(store: &dyn Store) {
    let world = World::build(store).await;
    let mixed = environment(&world.project, "Mixed-Case");
    let mut tx = begin(store).await;
    tx.insert_environment(&mixed).await.unwrap();
    let mut seen = committed(store, tx).await;
    let owner = Principal::User(world.owner.id);

    for (name, found) in [
        ("Mixed-Case", 1),
        ("mixed-case", 0),
        ("MIXED-CASE", 0),
        ("Production", 0),
        ("production", 1),
    ] {
        let path = EnvironmentPath::new("billing", name);
        let resolved =
            seen.resolve_environment(&path, owner, Selection::None).await.unwrap().unwrap();
        assert_eq!(resolved.chain.len(), found, "{name}");
    }
}

/// The selection `None` returns the inheritance chain without secrets.
pub async fn requesting_no_secrets_returns_none(store: &dyn Store) {
    let world = World::build(store).await;
    let path = furnished(store, &world).await;

    let mut seen = read(store).await;
    let resolved = seen
        .resolve_environment(&path, Principal::User(world.owner.id), Selection::None)
        .await
        .unwrap()
        .unwrap();

    assert_eq!(names(&resolved), ["near", "middle", "production"]);
    assert_eq!(keys(&resolved), [vec![""; 0], vec![], vec![]]);
}

/// The selection `Key` returns the secret with this key from every environment of the inheritance
/// chain that has one.
pub async fn requesting_a_key_returns_it_from_each_link(store: &dyn Store) {
    let world = World::build(store).await;
    let path = furnished(store, &world).await;
    let key: SecretKey = "BOTH".parse().unwrap();

    let mut seen = read(store).await;
    let resolved = seen
        .resolve_environment(&path, Principal::User(world.owner.id), Selection::Key(&key))
        .await
        .unwrap()
        .unwrap();

    assert_eq!(names(&resolved), ["near", "middle", "production"]);
    assert_eq!(keys(&resolved), [vec!["BOTH"], vec![], vec!["BOTH"]]);
    assert_eq!(resolved.chain[2].secrets[0].environment, world.production.id);
}

/// The selection `Key` compares secret keys case-sensitively.
pub async fn a_requested_key_is_compared_exactly(store: &dyn Store) {
    let world = World::build(store).await;
    let path = furnished(store, &world).await;
    let mut seen = read(store).await;

    for other in ["both", "Both", "BOT_", "UNKNOWN"] {
        let key: SecretKey = other.parse().unwrap();
        let wanted = Selection::Key(&key);
        let resolved = seen
            .resolve_environment(&path, Principal::User(world.owner.id), wanted)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(keys(&resolved), [vec![""; 0], vec![], vec![]], "{other}");
    }
}

/// The selection `All` returns each environment of the chain with its own secrets, ordered by
/// secret key: digits, upper case, underscore, lower case.
pub async fn requesting_all_returns_the_secrets_of_each_link_by_key(store: &dyn Store) {
    let world = World::build(store).await;
    let path = furnished(store, &world).await;

    let mut seen = read(store).await;
    let resolved = seen
        .resolve_environment(&path, Principal::User(world.owner.id), Selection::All)
        .await
        .unwrap()
        .unwrap();

    assert_eq!(names(&resolved), ["near", "middle", "production"]);
    let near = vec!["A-B", "A.B", "A1", "AB", "A_B", "BOTH", "Z", "_A", "a", "aB", "b"];
    assert_eq!(keys(&resolved), [near, vec![], vec!["BOTH", "FAR"]]);
}

/// The selections `Own` and `OwnKey` return secrets of the environment itself, and none of its
/// ancestors. They return the same after the selection `All`, and do not change what `All` returns.
pub async fn requesting_own_secrets_returns_those_of_the_first_link(store: &dyn Store) {
    let world = World::build(store).await;
    let near = furnished(store, &world).await;
    let middle = EnvironmentPath::new("billing", "middle");
    let owner = Principal::User(world.owner.id);
    let both: SecretKey = "BOTH".parse().unwrap();

    for _ in 0..2 {
        for (path, len) in [(&near, 11), (&middle, 0)] {
            // A reader for each call, so that the second can use what the first has loaded.
            let all = read(store).await.resolve_environment(path, owner, Selection::All).await;
            let own = read(store).await.resolve_environment(path, owner, Selection::Own).await;
            let (all, own) = (all.unwrap().unwrap(), own.unwrap().unwrap());

            assert_eq!(names(&own), names(&all));
            assert_eq!(own.chain[0].secrets, all.chain[0].secrets);
            assert_eq!(own.chain[0].secrets.len(), len);
            assert!(own.chain[1..].iter().all(|link| link.secrets.is_empty()));
            assert_eq!(keys(&all).last(), Some(&vec!["BOTH", "FAR"]));
            let one = Selection::OwnKey(&both);
            let one = read(store).await.resolve_environment(path, owner, one).await;
            let one = one.unwrap().unwrap();
            assert_eq!(names(&one), names(&all));
            let expected: Vec<_> =
                own.chain[0].secrets.iter().filter(|own| own.key == both).collect();
            assert_eq!(one.chain[0].secrets.iter().collect::<Vec<_>>(), expected);
            assert!(one.chain[1..].iter().all(|link| link.secrets.is_empty()));
        }
    }
}

/// Secrets are loaded with all fields and in the newest version. Hidden secrets are included.
pub async fn resolving_returns_all_fields_of_secrets(store: &dyn Store) {
    let world = World::build(store).await;
    let first = secret(&world.production, "KEY");
    let second = SecretRecord {
        hidden: true,
        description: Some(sealed(b"what for")),
        changed_by: Some(world.member.id.uuid()),
        created_by: Some(world.owner.id.uuid()),
        updated_by: Some(world.outsider.id.uuid()),
        ..next_version(&first)
    };
    let first = SecretRecord { created_by: second.created_by, ..first };
    let mut tx = begin(store).await;
    tx.insert_secrets(&[first]).await.unwrap();
    tx.replace_secrets(from_ref(&second)).await.unwrap();
    let owner = Principal::User(world.owner.id);
    let path = EnvironmentPath::new("billing", "production");

    let mut seen = committed(store, tx).await;
    for wanted in [Selection::All, Selection::Key(&second.key)] {
        let resolved = seen.resolve_environment(&path, owner, wanted).await.unwrap().unwrap();
        assert_eq!(resolved.chain[0].secrets, [Arc::new(second.clone())]);
    }
}

/// The project is loaded with its team's plan and its newest encryption key.
pub async fn resolving_returns_project_plan_and_key(store: &dyn Store) {
    let world = World::build(store).await;
    let limited =
        TeamRecord { plan: "enterprise".parse().unwrap(), ..team(&world.owner, "limited") };
    let second = project(&limited, "second");
    let mut key = project_key(&second);
    (key.version, key.kek_id) = (u32::MAX, 7);
    let mut tx = begin(store).await;
    tx.insert_team(&limited).await.unwrap();
    tx.insert_project(&second, &key).await.unwrap();

    let path = EnvironmentPath::new("second", "none");
    let owner = Principal::User(world.owner.id);
    let resolved = resolve(store, tx, &path, owner, Selection::All).await;

    assert_eq!(resolved.project, second);
    assert_eq!(resolved.plan, limited.plan);
    assert_eq!(resolved.key, key);
    assert_eq!(resolved.relation, Relation::None);
    assert!(resolved.chain.is_empty());
}

/// Resolving within a transaction includes the transaction's own changes.
pub async fn resolving_in_a_transaction_sees_its_writes(store: &dyn Store) {
    let world = World::build(store).await;
    let path = EnvironmentPath::new("billing", "production");
    let own = secret(&world.production, "KEY");
    let mut tx = begin(store).await;
    tx.touch_environment(world.production.id, 1).await.unwrap();
    tx.insert_secrets(from_ref(&own)).await.unwrap();

    let resolved = tx
        .resolve_environment(&path, Principal::User(world.owner.id), Selection::All)
        .await
        .unwrap()
        .unwrap();

    assert_eq!(resolved.chain[0].environment.revision, 1);
    assert_eq!(resolved.chain[0].secrets, [Arc::new(own)]);
}

/// Resolving returns no secret of another project that has the same environment name and secret
/// key.
pub async fn resolving_stays_within_the_project(store: &dyn Store) {
    let world = World::build(store).await;
    let other = project(&world.team, "other");
    let namesake = environment(&other, "production");
    let mut tx = begin(store).await;
    tx.insert_project(&other, &project_key(&other)).await.unwrap();
    tx.insert_environment(&namesake).await.unwrap();
    let (here, there) = (secret(&world.production, "KEY"), secret(&namesake, "KEY"));
    tx.insert_secrets(&[here.clone(), there.clone()]).await.unwrap();
    let owner = Principal::User(world.owner.id);

    let mut seen = committed(store, tx).await;
    for (slug, expected) in [("billing", here), ("other", there)] {
        let path = EnvironmentPath::new(slug, "production");
        let resolved =
            seen.resolve_environment(&path, owner, Selection::All).await.unwrap().unwrap();
        assert_eq!(resolved.chain[0].secrets, [Arc::new(expected)]);
    }
}

/// Creates an inheritance chain of three environments, of which the first and the last have
/// secrets. Returns the path of the first.
async fn furnished(store: &dyn Store, world: &World) -> EnvironmentPath {
    let child = |name, of: &EnvironmentRecord| EnvironmentRecord {
        inherits_from: Some(of.id),
        ..environment(&world.project, name)
    };
    let middle = child("middle", &world.production);
    let near = child("near", &middle);
    let of_near = ["b", "Z", "A_B", "_A", "AB", "aB", "A.B", "a", "A1", "BOTH", "A-B"];
    let of_near = of_near.map(|key| secret(&near, key));
    let mut tx = begin(store).await;
    tx.insert_environment(&middle).await.unwrap();
    tx.insert_environment(&near).await.unwrap();
    tx.insert_secrets(&of_near).await.unwrap();
    tx.insert_secrets(&["FAR", "BOTH"].map(|key| secret(&world.production, key))).await.unwrap();
    tx.insert_secrets(&[secret(&world.development, "UNRELATED")]).await.unwrap();
    tx.commit().await.unwrap();
    EnvironmentPath::new("billing", "near")
}

pub(super) fn names(resolved: &ResolvedEnvironment) -> Vec<&str> {
    resolved.chain.iter().map(|link| link.environment.name.as_str()).collect()
}

fn keys(resolved: &ResolvedEnvironment) -> Vec<Vec<&str>> {
    resolved
        .chain
        .iter()
        .map(|link| link.secrets.iter().map(|secret| secret.key.as_str()).collect())
        .collect()
}

/// Commits a transaction, then resolves an environment, which must exist.
pub(super) async fn resolve(
    store: &dyn Store,
    tx: Box<dyn Tx>,
    path: &EnvironmentPath,
    principal: Principal,
    selection: Selection<'_>,
) -> ResolvedEnvironment {
    let mut seen = committed(store, tx).await;
    seen.resolve_environment(path, principal, selection).await.unwrap().unwrap()
}
