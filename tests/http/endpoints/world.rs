//! Test data of the policy test: two teams with the objects that requests name, and the callers
//! that send the requests.

use std::sync::atomic::{AtomicU32, Ordering};

use secrets_core::model::Role;
use secrets_tests::{App, Dump, Person, credential, paths, postgresql};
use serde_json::json;

use super::principals::{self, Principal};
use super::requests;

/// Team of the test to which a caller or an object belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    First,
    Other,
}

/// Team with a project `main`. The environment `development` of the project has the secret `KEY`,
/// whose version is 2.
pub(super) struct Tenant {
    pub(super) owner: Person,
    pub(super) project: String,
    /// ID of a deleted project.
    pub(super) deleted: String,
    /// ID of a service token that requests can change or delete.
    pub(super) token: String,
    /// User ID of a member whose role requests can change.
    pub(super) member: String,
    /// User ID of a member whose permissions requests can change.
    pub(super) colleague: String,
    /// ID of an invitation for a user who is not a caller of the test.
    pub(super) invitation: String,
    /// ID of a scan.
    pub(super) scan: String,
    /// ID of the finding of this scan.
    pub(super) finding: String,
    /// Name of a rotation.
    pub(super) rotation: String,
    /// ID of a webhook of the rotation.
    pub(super) webhook: String,
    /// ID of a delivery to this webhook.
    pub(super) delivery: String,
}

/// Test data: two teams, and the callers that send the requests, such as users and service tokens.
pub(super) struct World {
    pub(super) first: Tenant,
    pub(super) other: Tenant,
    pub(super) principals: Vec<Principal>,
    counter: AtomicU32,
}

/// Names of the users of the test. All have an account, except `unsynced`.
const PEOPLE: [&str; 10] = [
    "owner", "admin", "member", "barred", "reader", "writer", "keeper", "removed", "outsider",
    "unsynced",
];

impl World {
    pub(super) async fn build(app: &App) -> Self {
        let first = Tenant::build(app, app.person("owner").await).await;
        let other = Tenant::build(app, app.person("outsider").await).await;
        for (name, role) in [("admin", Role::Admin), ("member", Role::Member)] {
            app.join(&first.owner.team, &app.person(name).await.id, role).await;
        }
        for (name, access) in
            [("barred", "none"), ("reader", "read"), ("writer", "write"), ("keeper", "admin")]
        {
            first.admit(app, &app.person(name).await.id, access).await;
        }
        let removed = app.person("removed").await.id;
        first.admit(app, &removed, "admin").await;
        app.part(&first.owner.team, &removed).await;
        let principals = principals::all(app, &first, &other).await;
        // Signs in everyone once more, so that later sign-ins change nothing.
        for name in PEOPLE.iter().filter(|name| **name != "unsynced") {
            app.person(name).await;
        }
        Self { first, other, principals, counter: AtomicU32::new(0) }
    }

    pub(super) fn tenant(&self, home: Home) -> &Tenant {
        match home {
            Home::First => &self.first,
            Home::Other => &self.other,
        }
    }

    /// Returns a number that was not returned before, to make a unique name.
    pub(super) fn draw(&self) -> u32 {
        self.counter.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) async fn dump(&self, app: &App) -> Dump {
        Dump::of(app.store.as_ref(), &PEOPLE).await
    }
}

impl Tenant {
    async fn build(app: &App, owner: Person) -> Self {
        let path = owner.project("main").await;
        owner.secret(&path, "development", "KEY", "kvc_table").await;
        let key = paths::secret(&path, "development", "KEY");
        owner.put(&key, &json!({ "value": "kvc_table_again" })).await.is(200);
        let deleted = owner.project("deleted").await;
        owner.delete(&deleted).await.is(204);
        let token = json!({ "name": "spare", "team_id": owner.team, "all_projects": true });
        let token = owner.post("/api/v1/tokens", &token).await.is(201).id();
        let member = app.person(&format!("member-of-{}", owner.team)).await.id;
        app.join(&owner.team, &member, Role::Member).await;
        let colleague = app.person(&format!("colleague-of-{}", owner.team)).await.id;
        app.join(&owner.team, &colleague, Role::Member).await;
        let invited = json!({ "email": "absent@example.com" });
        let members = format!("/api/v1/teams/{}/members", owner.team);
        let invitation = owner.post(&members, &invited).await.is(201).id();
        let (project, deleted) = (id_in(&path), id_in(&deleted));
        let found = owner.scan_text(&credential()).await;
        let finding = found.json()["findings"][0]["id"].as_str().unwrap().to_owned();
        let scan = found.id();
        let rotation = "lasting".to_owned();
        let rotations = paths::rotations(&path, "development");
        owner.post(&rotations, &postgresql(&rotation)).await.is(201);
        let webhooks = paths::webhooks(&path, "development", &rotation);
        let webhook = owner.post(&webhooks, &requests::webhook()).await.is(201).id();
        let delivery = app.delivered(&webhook).await;
        Self {
            owner,
            project,
            deleted,
            token,
            member,
            colleague,
            invitation,
            scan,
            finding,
            rotation,
            webhook,
            delivery,
        }
    }

    /// Adds a user, given by ID, to the team, and gives the user this permission in the environment
    /// `development`.
    async fn admit(&self, app: &App, person: &str, access: &str) {
        app.join(&self.owner.team, person, Role::Member).await;
        let path = format!("/api/v1/projects/{}", self.project);
        let path = paths::permission(&path, "development", person);
        self.owner.put(&path, &json!({ "role": access })).await.is(200);
    }
}

/// Returns the last segment of a path, which is the ID of an object.
pub(super) fn id_in(path: &str) -> String {
    path.rsplit('/').next().unwrap().to_owned()
}
