//! Tests of permissions that are revoked while a request waits for a lock. Every request of the
//! policy that changes data must then be refused, and must change nothing. The test holds the lock,
//! so that the revocation always comes first.

use std::sync::Arc;

use chrono::TimeDelta;
use hyper::Method;
use secrets_core::model::{Clock as _, Role};
use secrets_core::store::sql;
use secrets_core::testing::patient;
use secrets_tests::{App, Build, Client, Kind, Person, Reply, paths};
use serde_json::{Value, json};
use sqlx::Connection as _;
use sqlx::postgres::PgConnection;
use tokio::task::JoinHandle;

use super::locks::{HOLD_ENVIRONMENTS, HOLD_PROJECTS, HOLD_TEAM, HOLD_USER, HeldLocks, waiting};
use super::policy::{
    CONNECTION, Effect, Level, PERMISSIONS, POLICY, RESTORE, ROTATIONS, Rule, TEST, Target, Who,
};
use super::requests::Names;
use super::world::World;

/// Number of times that requests wait for a lock while their permission is revoked. Few, because
/// the locks of the test determine the order.
const ROUNDS: usize = 10;

/// Number of times that changes of different fields wait for a lock, in any order.
const CHANGES: usize = 50;

/// Number of accounts that each test of account deletion deletes.
const ACCOUNTS: usize = 5;

/// Number of requests that wait for the lock at the same time. The number is small, because each
/// request and the revocation need a database connection.
const BATCH: usize = 3;

/// Requests that change nothing except the audit log, and therefore wait for no lock.
const RECORDED_READS: [&str; 2] = [CONNECTION, TEST];

/// Server without lock timeouts and without background workers, which could wait for locks too, and
/// two connections of the test to its database: `holder` holds locks, and `observer` counts the
/// sessions that wait for a lock.
struct Race {
    app: App,
    /// Server that created the database. Kept, because dropping it deletes the database.
    _first: App,
    world: World,
    holder: PgConnection,
    observer: PgConnection,
    racer: Person,
}

/// Request to an endpoint of the policy, with the names of existing objects.
type Request = (Arc<Names>, &'static Rule);

/// Permission that the test grants to the user `racer` and revokes while requests with this
/// permission wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Right {
    /// Role admin of the team, revoked by removing the member.
    Membership,
    /// Permission `write` in the environment, revoked by setting the permission `none`.
    Permission,
    /// Service token, revoked by deleting the token.
    Token,
}

async fn a_member_removed_meanwhile_changes_no_project(kind: Kind) {
    let mut race = Race::new(kind).await;
    let rules = rules(|rule| !locks_team(rule));

    race.run(Right::Membership, &rules, &[HOLD_PROJECTS, HOLD_ENVIRONMENTS]).await;
}

async fn a_member_removed_meanwhile_changes_no_team(kind: Kind) {
    let mut race = Race::new(kind).await;
    let rules = rules(locks_team);

    race.run(Right::Membership, &rules, &[HOLD_TEAM]).await;
}

async fn a_member_who_lost_write_access_changes_no_secret(kind: Kind) {
    let mut race = Race::new(kind).await;
    app_join(&race).await;
    let rules = rules(|rule| rule.who == Who::Writers || rule.who == Who::Editors);
    let rules: Vec<_> = rules.into_iter().filter(|rule| !locks_team(rule)).collect();

    race.run(Right::Permission, &rules, &[HOLD_ENVIRONMENTS]).await;
}

async fn a_token_that_is_deleted_meanwhile_changes_no_secret(kind: Kind) {
    let mut race = Race::new(kind).await;
    let rules = rules(|rule| rule.who == Who::Writers);

    race.run(Right::Token, &rules, &[HOLD_ENVIRONMENTS]).await;
}

/// Checks that two concurrent requests that change different fields of an object both succeed, and
/// that both changes stay. The recorded time of a change is the time at which it was made, not the
/// time at which its request arrived.
async fn changes_of_different_fields_both_stay(kind: Kind) {
    let mut race = Race::new(kind).await;
    let owner = race.world.first.owner.clone();
    let project = format!("/api/v1/projects/{}", race.world.first.project);
    let environment = owner.environment(&project, "racing", None).await;
    let environment = paths::environment(&project, &environment);

    for round in 0..CHANGES {
        let fields = [
            json!({ "name": format!("name-{round}") }),
            json!({ "description": format!("{round}") }),
        ];
        let held = HeldLocks::take(&mut race.holder, &owner.team, &[HOLD_PROJECTS]).await;
        let changes = [&project, &environment].into_iter().flat_map(|path| {
            fields.iter().map(|field| {
                let (client, path, field) = (Client::clone(&owner), path.clone(), field.clone());
                tokio::spawn(async move { client.patch(&path, &field).await })
            })
        });
        let changes: Vec<_> = changes.collect();
        waiting(&mut race.observer, 4).await;
        race.app.wait(TimeDelta::seconds(5));
        held.release().await;
        let now = json!(race.app.clock.now());
        for change in changes {
            assert_eq!(change.await.unwrap().is(200).json()["updated_at"], now);
        }

        for path in [&project, &environment] {
            let stored = owner.get(path).await.is(200).json();
            assert_eq!(stored["name"], fields[0]["name"]);
            assert_eq!(stored["description"], fields[1]["description"]);
        }
    }
    let entries = owner.get(&format!("/api/v1/teams/{}/audit?limit=4", owner.team)).await.json();
    let now = json!(race.app.clock.now());
    let last = &entries["logs"].as_array().unwrap()[..4];
    assert!(last.iter().all(|entry| entry["created_at"] == now), "{last:#?}");
}

/// Checks that a device login is not approved if the approving user deletes their account while the
/// approval waits for a lock.
async fn a_user_deleted_meanwhile_approves_nothing(kind: Kind) {
    let mut race = Race::new(kind).await;

    for round in 0..ACCOUNTS {
        let (person, login) = (race.newcomer(round).await, race.login().await);
        let approval = json!({ "user_code": login["user_code"] });
        let client = Client::clone(&person);
        let approved = race
            .delete(&person, round, async move {
                client.post("/api/v1/auth/cli/approve", &approval).await
            })
            .await;

        approved.is(404);
        race.poll(&login).await.is(400);
    }
}

/// Checks that a client gets no session for an approved device login if the approving user deletes
/// their account while the client's request waits for a lock.
async fn a_user_deleted_meanwhile_gets_no_session(kind: Kind) {
    let mut race = Race::new(kind).await;

    for round in 0..ACCOUNTS {
        let (person, login) = (race.newcomer(round).await, race.login().await);
        let approval = json!({ "user_code": login["user_code"] });
        person.post("/api/v1/auth/cli/approve", &approval).await.is(200);
        let (client, poll) = (race.app.anonymous(), poll(&login));
        let polled =
            race.delete(&person, round, async move {
                client.post("/api/v1/auth/cli/token", &poll).await
            })
            .await;

        assert_eq!(polled.is(400).json()["error"], "invalid_grant");
    }
}

secrets_tests::on_store!(
    postgres,
    Postgres,
    [],
    [
        a_member_removed_meanwhile_changes_no_project
        a_member_removed_meanwhile_changes_no_team
        a_member_who_lost_write_access_changes_no_secret
        a_token_that_is_deleted_meanwhile_changes_no_secret
        changes_of_different_fields_both_stay
        a_user_deleted_meanwhile_approves_nothing
        a_user_deleted_meanwhile_gets_no_session
    ]
);

/// Returns the rules of the policy for requests that change an object of a team. Only rules for
/// which `wanted` returns true are included.
fn rules(wanted: impl Fn(&Rule) -> bool) -> Vec<&'static Rule> {
    let changes = POLICY.iter().filter(|rule| {
        let is_change = rule.effect == Effect::Changes && rule.on != Level::Nothing;
        is_change && !RECORDED_READS.contains(&rule.template) && wanted(rule)
    });
    let rules: Vec<_> = changes.collect();
    assert!(!rules.is_empty());
    rules
}

/// Returns true if the requests to an endpoint wait for the lock on the team. The revocation of a
/// permission waits for this lock too, so the test starts the revocation before such requests.
fn locks_team(rule: &Rule) -> bool {
    match rule.on {
        Level::Project | Level::Environment => {
            [RESTORE, PERMISSIONS, ROTATIONS].contains(&rule.template)
        }
        Level::Secret | Level::Rotation | Level::Webhook => false,
        _ => true,
    }
}

async fn app_join(race: &Race) {
    race.app.join(&race.world.first.owner.team, &race.racer.id, Role::Member).await;
}

impl Race {
    async fn new(kind: Kind) -> Self {
        let first = Build::on(kind).without_workers().start().await;
        let world = World::build(&first).await;
        let separator = if first.location.contains('?') { '&' } else { '?' };
        let settings = "options=-c%20lock_timeout%3D0%20-c%20statement_timeout%3D0";
        let url = format!("{}{separator}{settings}", first.location);
        let store = Arc::new(sql::postgres::open(&url, patient()).await.unwrap());
        let app = first.without_workers_over(store).await;
        let racer = app.person("racer").await;
        let holder = PgConnection::connect(&first.location).await.unwrap();
        let observer = PgConnection::connect(&first.location).await.unwrap();
        Self { app, _first: first, world, holder, observer, racer }
    }

    async fn run(&mut self, right: Right, rules: &[&'static Rule], locks: &[&'static str]) {
        for batch in rules.chunks(BATCH) {
            let mut requests = Vec::new();
            for rule in batch {
                let names = Names::fresh(&self.app, &self.world, rule, Target::Own).await;
                requests.push((Arc::new(names), *rule));
            }
            let before = self.world.dump(&self.app).await;
            for _ in 0..ROUNDS {
                self.round(right, &requests, locks).await;
            }
            let changes = before.changes(&self.world.dump(&self.app).await);
            let effects: Vec<_> = changes.into_iter().filter(|row| self.is_effect(row)).collect();
            assert!(effects.is_empty(), "{right:?}: {effects:#?}");
        }
    }

    /// Returns true if a changed record (`row`) shows that a refused request had an effect. Changes
    /// that the test itself makes do not count.
    fn is_effect(&self, row: &str) -> bool {
        // `scan.created` is the entry of the first step of a scan, which only reads.
        let own =
            ["member.removed", "permission.set", "scan.created", "token.created", "token.deleted"];
        let is_own = row.starts_with("(\"audit\"") && own.iter().any(|own| row.contains(own));
        let is_denial = row.contains("outcome: \"denied\"");
        let is_racers = row.starts_with("(\"permission\"") && row.contains(&self.racer.id);
        !is_own && !is_denial && !is_racers
    }

    /// Grants the permission to the user `racer`, lets the requests wait for a lock, revokes the
    /// permission, and checks that all requests are refused.
    async fn round(&mut self, right: Right, requests: &[Request], locks: &[&'static str]) {
        let (client, revocation) = self.grant(right).await;
        let owner = self.world.first.owner.clone();
        let held = HeldLocks::take(&mut self.holder, &owner.team, locks).await;
        let replies = if locks.contains(&HOLD_TEAM) {
            let revoked = tokio::spawn(async move { revocation.send(&owner).await });
            waiting(&mut self.observer, 1).await;
            let replies = send(&client, requests);
            waiting(&mut self.observer, 1 + requests.len()).await;
            held.release().await;
            revoked.await.unwrap();
            replies
        } else {
            let replies = send(&client, requests);
            waiting(&mut self.observer, requests.len()).await;
            revocation.send(&owner).await;
            held.release().await;
            replies
        };
        for (reply, (_, rule)) in replies.into_iter().zip(requests) {
            let reply = reply.await.unwrap();
            let refused = if right == Right::Token { 401 } else { 403 };
            let request = format!("{} {}: {}", rule.method, rule.template, reply.text());
            assert_eq!(reply.status, refused, "{request}");
        }
    }

    async fn newcomer(&self, round: usize) -> Person {
        self.app.person(&format!("newcomer{round}")).await
    }

    async fn login(&self) -> Value {
        let client = json!({ "client_id": "cli" });
        self.app.anonymous().post("/api/v1/auth/cli/device", &client).await.is(200).json()
    }

    async fn poll(&self, login: &Value) -> Reply {
        self.app.anonymous().post("/api/v1/auth/cli/token", &poll(login)).await
    }

    /// Starts the deletion of an account and then `request`, while the test holds the lock on the
    /// user. Both wait for the lock, and the deletion gets it first. Returns the reply to
    /// `request`.
    async fn delete<F>(&mut self, person: &Person, round: usize, request: F) -> Reply
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        let held = HeldLocks::take(&mut self.holder, &person.id, &[HOLD_USER]).await;
        let (client, method) = (Client::clone(person), Method::DELETE);
        let body = json!({ "confirm": format!("newcomer{round}@example.com") });
        let deleted =
            tokio::spawn(async move { client.json(method, "/api/v1/account", &body).await });
        waiting(&mut self.observer, 1).await;
        let reply = tokio::spawn(request);
        waiting(&mut self.observer, 2).await;
        held.release().await;
        deleted.await.unwrap().is(204);
        reply.await.unwrap()
    }

    async fn grant(&self, right: Right) -> (Client, Revocation) {
        let tenant = &self.world.first;
        let (owner, racer) = (&tenant.owner, &self.racer);
        match right {
            Right::Membership => {
                self.app.join(&owner.team, &racer.id, Role::Admin).await;
                let member = format!("/api/v1/teams/{}/members/{}", owner.team, racer.id);
                (Client::clone(racer), Revocation::Delete(member))
            }
            Right::Permission => {
                let project = format!("/api/v1/projects/{}", tenant.project);
                // The requests name this environment, or an environment that they delete.
                let path = paths::permission(&project, "development", &racer.id);
                owner.put(&path, &json!({ "role": "write" })).await.is(200);
                (Client::clone(racer), Revocation::Put(path, json!({ "role": "none" })))
            }
            Right::Token => {
                let body = json!({
                    "name": "racer", "team_id": owner.team, "all_projects": true,
                    "permissions": ["read", "write"],
                });
                let token = owner.post("/api/v1/tokens", &body).await.is(201).clone();
                let client = self.app.bearer(token.json()["token"].as_str().unwrap());
                (client, Revocation::Delete(format!("/api/v1/tokens/{}", token.id())))
            }
        }
    }
}

fn poll(login: &Value) -> Value {
    json!({
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": login["device_code"],
        "client_id": "cli",
    })
}

/// Request with which the owner of the team revokes a permission.
enum Revocation {
    Delete(String),
    Put(String, Value),
}

impl Revocation {
    async fn send(self, owner: &Person) {
        match self {
            Self::Delete(path) => owner.delete(&path).await.is(204),
            Self::Put(path, body) => owner.put(&path, &body).await.is(200),
        };
    }
}

fn send(client: &Client, requests: &[Request]) -> Vec<JoinHandle<Reply>> {
    let sent = requests.iter().map(|(names, rule)| {
        let (client, names, rule) = (client.clone(), Arc::clone(names), *rule);
        tokio::spawn(async move { names.send(&client, rule).await })
    });
    sent.collect()
}
