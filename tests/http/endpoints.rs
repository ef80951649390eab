//! Test of the authorization of all endpoints. Each combination (cell) of an endpoint, a caller and
//! a target object is a request whose status must be as the module [`policy`] requires. Targets are
//! objects of the caller's team, objects of another team, and unknown objects. A refused request
//! must not change the store.

mod coverage;
mod expected;
mod foreign;
mod frozen;
mod locks;
mod order;
mod policy;
mod principals;
mod profile;
mod readings;
mod requests;
mod revoked;
mod world;

use secrets_tests::{App, Dump};

use self::policy::{Effect, POLICY, Rule, Target, Who};
use self::principals::{Caller, Principal};
use self::requests::Names;
use self::world::World;

/// Run of the authorization test: the server, the test data, a dump of the store before the first
/// request, the number of requests (cells of the table) so far, and the mismatches found so far.
struct Table<'a> {
    /// Server under test.
    app: &'a App,
    world: &'a World,
    before: Dump,
    cells: usize,
    wrong: Vec<String>,
}

async fn each_endpoint_answers_each_caller_as_the_policy_requires(app: App) {
    let world = World::build(&app).await;
    assert_eq!(world.principals.len(), 30);

    let mut table = Table::empty(&app, &world).await;
    for rule in POLICY {
        for target in rule.on.targets() {
            table.without_effect(rule, *target).await;
        }
    }
    table.must_be_unchanged().await;
    for rule in POLICY {
        for target in rule.on.targets() {
            table.with_effect(rule, *target).await;
        }
    }

    assert_eq!(table.cells, places() * world.principals.len());
    table.must_be_right();
}

async fn a_restart_changes_no_answer(app: App) {
    let world = World::build(&app).await;
    let restarted = app.restarted().await;

    let mut table = Table::empty(&restarted, &world).await;
    for rule in POLICY {
        table.without_effect(rule, Target::Own).await;
    }
    table.must_be_unchanged().await;

    table.must_be_right();
}

async fn a_deleted_token_is_refused_by_every_endpoint(app: App) {
    let mut world = World::build(&app).await;
    world.principals.retain(|principal| principal.token.is_some());
    for principal in &mut world.principals {
        let path = format!("/api/v1/tokens/{}", principal.token.as_deref().unwrap());
        let first = world.first.owner.delete(&path).await.status;
        let other = world.other.owner.delete(&path).await.status;
        assert!([first, other].contains(&204), "{}: {first}, {other}", principal.name);
        principal.caller = Caller::Unauthenticated;
    }

    let mut table = Table::empty(&app, &world).await;
    for rule in POLICY {
        table.without_effect(rule, Target::Own).await;
    }
    table.must_be_unchanged().await;

    assert_eq!(table.cells, POLICY.len() * world.principals.len());
    table.must_be_right();
}

secrets_tests::on_every_store!(a_deleted_token_is_refused_by_every_endpoint);

// Not on every store, because these tests send thousands of requests. The table runs in memory and on
// the database that serves several nodes. On SQLite, requests after a restart name objects of the
// first team.
mod whole_table {
    secrets_tests::on_store!(
        memory,
        Memory,
        [each_endpoint_answers_each_caller_as_the_policy_requires],
        []
    );
    secrets_tests::on_store!(
        postgres,
        Postgres,
        [each_endpoint_answers_each_caller_as_the_policy_requires],
        []
    );
    secrets_tests::on_store!(sqlite, Sqlite, [a_restart_changes_no_answer], []);

    use super::{
        a_restart_changes_no_answer, each_endpoint_answers_each_caller_as_the_policy_requires,
    };
}

impl<'a> Table<'a> {
    async fn empty(app: &'a App, world: &'a World) -> Self {
        Self { app, world, before: world.dump(app).await, cells: 0, wrong: Vec::new() }
    }

    fn must_be_right(self) {
        assert!(self.cells > 0);
        assert!(self.wrong.is_empty(), "{} cells: {:#?}", self.wrong.len(), self.wrong);
    }

    /// Sends the request to an endpoint as each caller whose request is refused or only reads data
    /// according to the policy. Records every unexpected status as a mismatch.
    async fn without_effect(&mut self, rule: &Rule, target: Target) {
        for principal in &self.world.principals {
            if !has_effect(rule, target, principal) {
                let names = Names::lasting(self.world, target);
                self.cell(rule, target, principal, &names).await;
            }
        }
    }

    /// Compares the store with its state before the first request, and records every changed record
    /// as a mismatch. One comparison for all endpoints, because it takes longer than hundreds of
    /// requests. The audit entry of a change is among the changed records, and names the operation.
    async fn must_be_unchanged(&mut self) {
        let after = self.world.dump(self.app).await;
        for change in self.before.changes(&after) {
            self.wrong.push(format!("a request that was refused or only reads: {change}"));
        }
    }

    /// Sends the request to an endpoint as each caller whose request is allowed and changes data
    /// according to the policy. If the request deletes its target, a new target is created for each
    /// caller. The first request of a user and the first request of a service token must change the
    /// store.
    async fn with_effect(&mut self, rule: &Rule, target: Target) {
        let mut kinds_seen = Vec::new();
        for principal in &self.world.principals {
            if !has_effect(rule, target, principal) {
                continue;
            }
            let names = Names::fresh(self.app, self.world, rule, target).await;
            let kind = std::mem::discriminant(&principal.caller);
            if kinds_seen.contains(&kind) {
                self.cell(rule, target, principal, &names).await;
                continue;
            }
            kinds_seen.push(kind);
            let before = self.world.dump(self.app).await;
            self.cell(rule, target, principal, &names).await;
            if before == self.world.dump(self.app).await {
                let place = place(rule, target);
                self.wrong.push(format!("{place}, {}: nothing happened", principal.name));
            }
        }
    }

    async fn cell(&mut self, rule: &Rule, target: Target, principal: &Principal, names: &Names) {
        let status = rule.status(principal.caller, target);
        let client = match (rule.who, principal.caller) {
            // Signing in creates an account, so each request needs a new user.
            (Who::Identities, Caller::Unsynced) => {
                self.app.bearer(&self.app.jwt(&format!("newcomer{}", self.world.draw())))
            }
            _ => principal.client(self.app),
        };
        let reply = names.send(&client, rule).await;
        self.cells += 1;
        if reply.status != status {
            let (name, text) = (principal.name, reply.text());
            let got = format!("{} instead of {status}: {text}", reply.status);
            self.wrong.push(format!("{}, {name}: {got}", place(rule, target)));
        }
    }
}

/// Returns the number of combinations of a rule (endpoint) of the policy and a target object.
fn places() -> usize {
    POLICY.iter().map(|rule| rule.on.targets().len()).sum()
}

/// Returns true if the policy allows the request of this caller, and the request changes data.
fn has_effect(rule: &Rule, target: Target, principal: &Principal) -> bool {
    rule.effect == Effect::Changes && rule.status(principal.caller, target) == rule.ok
}

fn place(rule: &Rule, target: Target) -> String {
    format!("{} {} on {target:?}", rule.method, rule.template)
}
