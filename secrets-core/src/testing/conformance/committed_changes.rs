//! Conformance rules for reads after commits: a reader sees every committed change, even if it read
//! the record before the change.

use std::slice::from_ref;

use super::{begin, read};
use crate::crypto::random;
use crate::model::{
    EnvironmentName, EnvironmentPath, MemberAccess, Principal, ProjectRef, Role, SecretKey,
};
use crate::store::{
    EnvironmentDefault, EnvironmentRecord, MemberRecord, NewCredential, PermissionDefault,
    PermissionRecord, ProjectRecord, Reads, SecretRecord, Selection, Store, TokenRecord,
    TokenScope, TokenUse, Tx, UserRecord,
};
use crate::testing::fixtures::{World, at, environment, member, next_version, secret, token};

/// Returns the results of all lookups that a store may cache, as a string to compare. Looks up
/// users, a service token, and environments (by project ID and by slug, as each user and as the
/// token, with each selection of secrets).
async fn seen(reads: &mut dyn Reads, world: &World, token: &TokenRecord) -> String {
    let mut seen = Vec::new();
    for user in [&world.owner, &world.member] {
        seen.push(format!("{:?}", reads.user_by_subject(&user.issuer, &user.subject).await));
    }
    seen.push(format!("{:?}", reads.token_by_mac(&token.mac).await));
    let projects: [ProjectRef; 2] =
        [world.project.id.into(), world.project.slug.to_string().into()];
    let users = [&world.owner, &world.member, &world.outsider].map(|user| Principal::User(user.id));
    let principals = users.into_iter().chain([Principal::Token(token.id)]);
    let key: SecretKey = "KEY".parse().unwrap();
    for principal in principals {
        for project in &projects {
            for name in ["staging", "renamed", "child"] {
                let path = EnvironmentPath::new(project.clone(), name.to_owned());
                let key = Selection::Key(&key);
                for selection in [Selection::None, key, Selection::Own, Selection::All] {
                    let found = reads.resolve_environment(&path, principal, selection).await;
                    seen.push(format!("{found:?}"));
                }
            }
        }
    }
    seen.join("\n")
}

/// Asserts that two consecutive readers return the same results as a transaction, which never uses
/// the cache. Returns these results. `change` is the name of the last change, for the message of a
/// failure.
async fn check(store: &dyn Store, world: &World, token: &TokenRecord, change: &str) -> String {
    let mut tx = begin(store).await;
    let expected = seen(tx.as_mut(), world, token).await;
    drop(tx);
    for _ in 0..2 {
        assert_eq!(seen(read(store).await.as_mut(), world, token).await, expected, "{change}");
    }
    expected
}

/// Makes one of the changes that this module tests, selected by its number. Returns the name of the
/// change, or `None` if the number is too high.
#[expect(clippy::too_many_lines, reason = "a list with an arm for each kind of change")]
async fn change(
    tx: &mut dyn Tx,
    world: &World,
    fixture: &Fixture,
    number: usize,
) -> Option<&'static str> {
    let World { staging, production, project, team, owner, member: person, .. } = world;
    let permission = PermissionRecord {
        environment: staging.id,
        user: person.id,
        team: team.id,
        access: MemberAccess::None,
        granted_by: None,
        created_at: at(0),
        updated_at: at(0),
    };
    let credential = NewCredential {
        mac: fixture.mac(),
        prefix: "env_".into(),
        previous_until: Some(at(9)),
        outlives_session: false,
        now: at(5),
    };
    let name: EnvironmentName = "renamed".parse().unwrap();
    let (name, result) = match number {
        0 => ("a new version", tx.replace_secrets(from_ref(&next_version(&fixture.own))).await),
        1 => ("a new secret", tx.insert_secrets(&[secret(&fixture.child, "OTHER")]).await),
        2 => ("an inherited secret", tx.insert_secrets(&[secret(production, "KEY")]).await),
        3 => ("a deleted secret", tx.delete_secret(fixture.own.id).await),
        4 => ("a raised revision", tx.touch_environment(staging.id, 3).await.map(drop)),
        5 => ("a permission", tx.put_permission(&permission).await.map(drop)),
        6 => ("a removed permission", tx.delete_permission(staging.id, person.id).await),
        7 => {
            let default = PermissionDefault {
                project: project.id,
                access: MemberAccess::Read,
                set_by: None,
                updated_at: at(1),
            };
            ("a default of the project", tx.put_permission_default(&default).await)
        }
        8 => {
            let default = EnvironmentDefault {
                environment: production.id,
                access: MemberAccess::Admin,
                set_by: None,
                created_at: at(1),
            };
            ("a default of an environment", tx.insert_environment_default(&default).await)
        }
        9 => ("removed defaults", tx.delete_environment_defaults(project.id).await),
        10 => ("a removed default", tx.delete_permission_default(project.id).await),
        11 => {
            let changed = MemberRecord { updated_at: at(2), ..member(team, person, Role::Admin) };
            ("a role", tx.update_member(&changed).await)
        }
        12 => ("a plan", tx.set_plan(team.id, &"free".parse().unwrap(), at(3)).await),
        13 => {
            let renamed = UserRecord { name: "Renamed".into(), ..owner.clone() };
            ("a profile", tx.update_user(&renamed).await)
        }
        14 => {
            let renamed = ProjectRecord { description: Some("new".into()), ..project.clone() };
            ("a project's description", tx.update_project(&renamed).await)
        }
        15 => {
            let parentless = EnvironmentRecord { inherits_from: None, ..fixture.child.clone() };
            ("a removed parent", tx.update_environment(&parentless).await)
        }
        16 => {
            let parent =
                EnvironmentRecord { inherits_from: Some(staging.id), ..fixture.child.clone() };
            ("a new parent", tx.update_environment(&parent).await)
        }
        17 => {
            let renamed = EnvironmentRecord { name, ..staging.clone() };
            ("a new name", tx.update_environment(&renamed).await)
        }
        18 => {
            let used = TokenUse { at: at(4), address: None };
            ("a use of the token", tx.record_token_use(fixture.token.id, used).await)
        }
        19 => ("a new credential", tx.rotate_token(fixture.token.id, &credential).await),
        20 => ("a removed member", tx.delete_member(team.id, person.id).await),
        21 => ("a new member", tx.insert_member(&member(team, person, Role::Member)).await),
        22 => ("a deleted environment", tx.delete_environment(fixture.child.id).await),
        23 => ("a deleted token", tx.delete_token(fixture.token.id).await),
        24 => ("a deleted project", tx.delete_project(project.id, at(6)).await),
        25 => ("a restored project", tx.restore_project(project.id, at(7), at(0)).await),
        26 => ("a deleted account", tx.erase_user(person.id, at(8)).await),
        _ => return None,
    };
    result.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    Some(name)
}

/// Records that these tests use in addition to those of [`World`]: a child environment, a secret
/// and a service token.
struct Fixture {
    child: EnvironmentRecord,
    own: SecretRecord,
    token: TokenRecord,
}

impl Fixture {
    async fn build(store: &dyn Store, world: &World) -> Self {
        let child = EnvironmentRecord {
            inherits_from: Some(world.production.id),
            ..environment(&world.project, "child")
        };
        let own = secret(&world.staging, "KEY");
        let token = TokenRecord {
            all_projects: false,
            all_environments: false,
            ..token(&world.team, &world.owner)
        };
        let scope = TokenScope {
            projects: vec![world.project.id],
            environments: vec![world.staging.id, child.id],
        };
        let mut tx = begin(store).await;
        tx.insert_environment(&child).await.unwrap();
        tx.insert_secrets(from_ref(&own)).await.unwrap();
        tx.insert_token(&token, &scope).await.unwrap();
        tx.commit().await.unwrap();
        Self { child, own, token }
    }

    fn mac(&self) -> crate::crypto::TokenMac {
        let mac = crate::crypto::TokenMac(random());
        assert!(mac != self.token.mac);
        mac
    }
}

/// After each kind of change, two consecutive readers return the same results as a transaction.
pub async fn a_reader_sees_every_committed_change(store: &dyn Store) {
    let world = World::build(store).await;
    let fixture = Fixture::build(store, &world).await;
    let mut before = check(store, &world, &fixture.token, "nothing").await;
    for number in 0.. {
        let mut tx = begin(store).await;
        let Some(name) = change(tx.as_mut(), &world, &fixture, number).await else { break };
        tx.commit().await.unwrap();

        let after = check(store, &world, &fixture.token, name).await;
        assert!(after != before, "{name} changes nothing that is read");
        before = after;
    }
}

/// The changes of a transaction that is rolled back do not affect the results of lookups.
pub async fn a_rollback_reports_no_changes(store: &dyn Store) {
    let world = World::build(store).await;
    let fixture = Fixture::build(store, &world).await;
    let before = check(store, &world, &fixture.token, "nothing").await;
    for number in [0, 1, 5, 12, 17, 19, 23] {
        let mut tx = begin(store).await;
        change(tx.as_mut(), &world, &fixture, number).await.unwrap();
        drop(tx);

        assert_eq!(check(store, &world, &fixture.token, "a rollback").await, before);
    }
}
