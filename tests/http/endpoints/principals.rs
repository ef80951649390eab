//! Callers (principals) of the endpoints: users, service tokens, and callers without a valid
//! credential.

use chrono::TimeDelta;
use secrets_core::crypto::TokenText;
use secrets_core::jwt::{DEV_AUDIENCE, DEV_ISSUER, DevKey};
use secrets_core::model::Clock as _;
use secrets_tests::{App, Client};
use serde_json::{Value, json};

use super::world::{Home, Tenant, id_in};

/// Kind of caller. The policy treats all callers of a kind the same.
#[derive(Debug, Clone, Copy)]
pub(super) enum Caller {
    /// No credential, or an invalid credential.
    Unauthenticated,
    /// User who has never signed in, and therefore has no account.
    Unsynced,
    Person {
        /// Team of the user, if it is one of the two teams of the test.
        home: Option<Home>,
        may: May,
    },
    Token {
        home: Home,
        reach: Reach,
        read: bool,
        write: bool,
    },
}

/// Permission of a user in their team and in the environment `development`. Each level includes the
/// levels before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum May {
    /// Member of the team without access to the environment.
    Belong,
    Read,
    Write,
    /// May set the permissions of others in the environment.
    Grant,
    /// May manage the team, as an owner or admin.
    Manage,
}

/// Scope of a service token within its team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Only the environment `development`, which the requests of the test name.
    Development,
    /// Only another environment of the project that the requests of the test name.
    AnotherEnvironment,
    /// Only a project that the requests of the test do not name.
    AnotherProject,
    /// All projects of the team.
    Everything,
}

/// Caller of the test, with the credential that its requests contain.
pub(super) struct Principal {
    pub(super) name: &'static str,
    pub(super) caller: Caller,
    /// Bearer token; `None` for a caller without a credential.
    pub(super) credential: Option<String>,
    /// ID of the service token, if the caller is a service token that has not been deleted.
    pub(super) token: Option<String>,
}

/// Creates all callers of the test.
pub(super) async fn all(app: &App, first: &Tenant, other: &Tenant) -> Vec<Principal> {
    let mut all = people(app);
    all.extend(impostors(app));
    all.extend(machines(first, other).await);
    all.extend(ended(app, first).await);
    all
}

impl Principal {
    /// Creates an HTTP client with the credential of this caller.
    pub(super) fn client(&self, app: &App) -> Client {
        match &self.credential {
            Some(credential) => app.bearer(credential),
            None => app.anonymous(),
        }
    }

    fn person(app: &App, name: &'static str, home: Option<Home>, may: May) -> Self {
        let caller = Caller::Person { home, may };
        Self { name, caller, credential: Some(app.jwt(name)), token: None }
    }

    fn impostor(name: &'static str, credential: Option<String>) -> Self {
        Self { name, caller: Caller::Unauthenticated, credential, token: None }
    }

    async fn machine(tenant: &Tenant, name: &'static str, caller: Caller, mut body: Value) -> Self {
        body["name"] = json!(name);
        body["team_id"] = json!(tenant.owner.team);
        let made = tenant.owner.post("/api/v1/tokens", &body).await.is(201).clone();
        let credential = made.json()["token"].as_str().map(str::to_owned);
        Self { name, caller, credential, token: Some(made.id()) }
    }
}

fn people(app: &App) -> Vec<Principal> {
    let here = Some(Home::First);
    let unsynced = Principal::person(app, "unsynced", None, May::Belong);
    vec![
        Principal::person(app, "owner", here, May::Manage),
        Principal::person(app, "admin", here, May::Manage),
        Principal::person(app, "member", here, May::Write),
        Principal::person(app, "barred", here, May::Belong),
        Principal::person(app, "reader", here, May::Read),
        Principal::person(app, "writer", here, May::Write),
        Principal::person(app, "keeper", here, May::Grant),
        Principal::person(app, "removed", None, May::Belong),
        Principal::person(app, "outsider", Some(Home::Other), May::Manage),
        Principal { caller: Caller::Unsynced, ..unsynced },
    ]
}

/// Creates callers with invalid credentials.
fn impostors(app: &App) -> Vec<Principal> {
    let now = app.clock.now();
    let [hour, day] = [TimeDelta::hours(1), TimeDelta::days(1)];
    let another_key = DevKey::generate().unwrap().sign("owner@example.com", now).unwrap();
    let valid = app.jwt("owner");
    let (claims, signature) = valid.rsplit_once('.').unwrap();
    let claiming = |claim, value| app.forged(&claims_of_the_owner(app, claim, &value));
    let token = TokenText::draw();
    [
        ("a token of the provider that ended", claiming("exp", json!((now - hour).timestamp()))),
        ("a token of the provider for later", claiming("nbf", json!((now + day).timestamp()))),
        ("a token of another provider", claiming("iss", json!("https://other.example"))),
        ("a token of the provider for others", claiming("aud", json!("another"))),
        ("a token that another key signed", another_key),
        ("a token whose signature was cut", format!("{claims}.{}", &signature[..20])),
        ("a token without signature", format!("{claims}.")),
        ("garbage", "not-a-credential".to_owned()),
        ("a service token with a typo", token.reveal().replacen('_', "_x", 1)[..53].to_owned()),
        ("an unknown service token", token.reveal().to_owned()),
        ("an unknown service token of another form", "env_short".to_owned()),
    ]
    .into_iter()
    .map(|(name, credential)| Principal::impostor(name, Some(credential)))
    .chain([Principal::impostor("nobody", None)])
    .collect()
}

/// Returns the claims of an identity token of the team's owner, with one claim changed, or without
/// this claim if `value` is null.
fn claims_of_the_owner(app: &App, claim: &str, value: &Value) -> Value {
    let now = app.clock.now();
    let mut claims = json!({
        "iss": DEV_ISSUER,
        "aud": DEV_AUDIENCE,
        "sub": "owner@example.com",
        "email": "owner@example.com",
        "email_verified": true,
        "iat": (now - TimeDelta::hours(2)).timestamp(),
        "exp": (now + TimeDelta::hours(2)).timestamp(),
    });
    claims[claim] = value.clone();
    claims
}

/// Creates valid service tokens with different permissions and scopes.
async fn machines(first: &Tenant, other: &Tenant) -> Vec<Principal> {
    let (home, both) = (Home::First, ["read", "write"].as_slice());
    let token = |reach, read, write| Caller::Token { home, reach, read, write };
    let reads = token(Reach::Development, true, false);
    let writes = token(Reach::Development, false, true);
    let does_both = token(Reach::Development, true, true);
    let elsewhere = token(Reach::AnotherEnvironment, true, true);
    let far = token(Reach::AnotherProject, true, true);
    let (reach, read, write) = (Reach::Everything, true, true);
    let foreign = Caller::Token { home: Home::Other, reach, read, write };

    let (main, another) = (&first.project, id_in(&first.owner.project("another").await));
    let everything = json!({ "all_projects": true, "permissions": both });
    vec![
        Principal::machine(first, "a reader", reads, scope(main, "development", &["read"])).await,
        Principal::machine(first, "a writer", writes, scope(main, "development", &["write"])).await,
        Principal::machine(first, "both", does_both, scope(main, "development", both)).await,
        Principal::machine(first, "another environment's", elsewhere, scope(main, "staging", both))
            .await,
        Principal::machine(first, "another project's", far, scope(&another, "development", both))
            .await,
        Principal::machine(other, "another team's", foreign, everything).await,
    ]
}

/// Creates a deleted and an expired service token.
async fn ended(app: &App, first: &Tenant) -> Vec<Principal> {
    let mut short = scope(&first.project, "development", &["read", "write"]);
    let deleted =
        Principal::machine(first, "deleted", Caller::Unauthenticated, short.clone()).await;
    let id = deleted.token.as_deref().unwrap();
    first.owner.delete(&format!("/api/v1/tokens/{id}")).await.is(204);

    short["expires_at"] = json!(app.clock.now() + TimeDelta::seconds(1));
    let expired = Principal::machine(first, "expired", Caller::Unauthenticated, short).await;
    app.wait(TimeDelta::seconds(2));
    vec![Principal { token: None, ..deleted }, expired]
}

fn scope(project: &str, environment: &str, permissions: &[&str]) -> Value {
    json!({ "project_ids": [project], "environments": [environment], "permissions": permissions })
}
