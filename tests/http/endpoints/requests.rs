//! Requests that the policy test sends: the path and the body for each endpoint and target object.

use secrets_core::model::Role;
use secrets_tests::{App, Client, Person, Reply, connection, paths, postgresql};
use serde_json::{Value, json};

use super::policy::{Level, Rule, Target};
use super::world::{Home, Tenant, World};

/// Names and IDs of the objects that a request names in its path or body.
pub(super) struct Names {
    team: String,
    project: String,
    /// ID of a deleted project, which can be restored.
    deleted: String,
    environment: String,
    key: String,
    token: String,
    member: String,
    colleague: String,
    invitation: String,
    scan: String,
    finding: String,
    rotation: String,
    webhook: String,
    delivery: String,
    /// Number that no other request uses. It makes the names of objects that the request creates
    /// unique.
    new: u32,
}

const UNKNOWN_ID: &str = "0191d0a0-0000-7000-8000-000000000000";

impl Names {
    /// Returns the names of the objects of a target, which are the same in every call. Suitable
    /// only for requests that can be repeated with the same objects.
    pub(super) fn lasting(world: &World, target: Target) -> Self {
        let home = if target == Target::Foreign { Home::Other } else { Home::First };
        let tenant = world.tenant(home);
        let mut names = Self {
            team: tenant.owner.team.clone(),
            project: tenant.project.clone(),
            deleted: tenant.deleted.clone(),
            environment: "development".to_owned(),
            key: "KEY".to_owned(),
            token: tenant.token.clone(),
            member: tenant.member.clone(),
            colleague: tenant.colleague.clone(),
            invitation: tenant.invitation.clone(),
            scan: tenant.scan.clone(),
            finding: tenant.finding.clone(),
            webhook: tenant.webhook.clone(),
            delivery: tenant.delivery.clone(),
            rotation: tenant.rotation.clone(),
            new: world.draw(),
        };
        match target {
            Target::Own | Target::Foreign => {}
            Target::Unknown => names.set_all(UNKNOWN_ID),
            Target::Nonsense => names.set_all("no-such-thing"),
            Target::UnknownEnvironment => UNKNOWN_ID.clone_into(&mut names.environment),
            Target::UnknownKey => {
                "NO_SUCH_KEY".clone_into(&mut names.key);
                UNKNOWN_ID.clone_into(&mut names.member);
                UNKNOWN_ID.clone_into(&mut names.colleague);
                "no-such-rotation".clone_into(&mut names.rotation);
                UNKNOWN_ID.clone_into(&mut names.webhook);
            }
        }
        names
    }

    /// Returns true if the request to an endpoint can succeed only once for an object, such as a
    /// deletion.
    fn takes_away(rule: &Rule) -> bool {
        let ends = ["/restore", "/resend", "{webhookId}/test", "/redeliver"];
        rule.method == "DELETE" || ends.iter().any(|end| rule.template.ends_with(end))
    }

    /// Returns the names of the objects of a target. If a request to the endpoint can succeed only
    /// once for an object, creates a new object and returns its name.
    pub(super) async fn fresh(app: &App, world: &World, rule: &Rule, target: Target) -> Self {
        let home = if target == Target::Foreign { Home::Other } else { Home::First };
        let mut names = Self::lasting(world, target);
        if Self::takes_away(rule) {
            let tenant = world.tenant(home);
            names.replace(app, tenant, rule.on).await;
            if rule.template.ends_with("/defaults") {
                let path = names.path(rule);
                let default = json!({ "environment_name": "staging", "default_role": "write" });
                tenant.owner.put(&path, &json!({ "defaults": [default] })).await.is(200);
            }
        }
        names
    }

    fn set_all(&mut self, name: &str) {
        let Self { team, project, deleted, token, invitation, scan, finding, .. } = self;
        for field in [team, project, deleted, token, invitation, scan, finding] {
            name.clone_into(field);
        }
    }

    async fn replace(&mut self, app: &App, tenant: &Tenant, level: Level) {
        let (owner, new) = (&tenant.owner, self.new);
        let project = format!("/api/v1/projects/{}", tenant.project);
        match level {
            Level::Project => {
                let body = json!({ "name": format!("Deleted {new}"), "team_id": owner.team });
                self.project = owner.post("/api/v1/projects", &body).await.is(201).id();
                let body = json!({ "name": format!("Deleted {new}"), "team_id": owner.team });
                self.deleted = owner.post("/api/v1/projects", &body).await.is(201).id();
                owner.delete(&format!("/api/v1/projects/{}", self.deleted)).await.is(204);
            }
            Level::Environment => {
                self.environment = format!("deleted-{new}");
                let body = json!({ "name": self.environment });
                owner.post(&format!("{project}/environments"), &body).await.is(201);
            }
            Level::Secret => {
                self.key = format!("DELETED_{new}");
                owner.secret(&project, "development", &self.key, "kvc_deleted").await;
            }
            Level::Permission => {
                let path = paths::permission(&project, &self.environment, &self.colleague);
                owner.put(&path, &json!({ "role": "read" })).await.is(200);
            }
            Level::Token => {
                let name = format!("Deleted {new}");
                let body = json!({ "name": name, "team_id": owner.team, "all_projects": true });
                self.token = owner.post("/api/v1/tokens", &body).await.is(201).id();
            }
            Level::Rotation | Level::Webhook => self.replace_rotation(app, owner, &project).await,
            Level::Scan => self.scan = owner.scan_text("deleted").await.id(),
            Level::Invitation => {
                let body = json!({ "email": format!("deleted{new}@example.com") });
                let path = format!("/api/v1/teams/{}/members", owner.team);
                self.invitation = owner.post(&path, &body).await.is(201).id();
            }
            Level::Member => {
                let deleted_member = app.person(&format!("deleted{new}")).await;
                app.join(&owner.team, &deleted_member.id, Role::Member).await;
                self.member = deleted_member.id;
            }
            Level::Nothing | Level::Team | Level::UntoldTeam | Level::NamedTeam => {}
        }
    }

    async fn replace_rotation(&mut self, app: &App, owner: &Person, project: &str) {
        self.rotation = format!("deleted-{}", self.new);
        let rotations = paths::rotations(project, &self.environment);
        owner.post(&rotations, &postgresql(&self.rotation)).await.is(201);
        let webhooks = paths::webhooks(project, &self.environment, &self.rotation);
        self.webhook = owner.post(&webhooks, &webhook()).await.is(201).id();
        self.delivery = app.delivered(&self.webhook).await;
    }

    pub(super) fn path(&self, rule: &Rule) -> String {
        let is_restore = rule.template.ends_with("/restore");
        let project = if is_restore { &self.deleted } else { &self.project };
        let is_permission = rule.template.contains("/permissions/");
        let user = if is_permission { &self.colleague } else { &self.member };
        let id = if rule.on == Level::Scan { &self.scan } else { &self.token };
        let path = rule
            .template
            .replace("{projectId}", project)
            .replace("{environmentId}", &self.environment)
            .replace("{key}", &self.key)
            .replace("{rotationName}", &self.rotation)
            .replace("{teamId}", &self.team)
            .replace("{id}", id)
            .replace("{findingId}", &self.finding)
            .replace("{userId}", user)
            .replace("{invitationId}", &self.invitation)
            .replace("{webhookId}", &self.webhook)
            .replace("{deliveryId}", &self.delivery)
            .replace("{token}", "a-token-of-nobody-here");
        let Self { team, project, environment, key, .. } = self;
        match (rule.method, rule.template) {
            (_, "/api/v1/eso/secret") => {
                format!("{path}?project={project}&env={environment}&key={key}")
            }
            (_, "/api/v1/eso/secrets") => format!("{path}?project={project}&env={environment}"),
            ("GET", "/api/v1/tokens" | "/api/v1/audit" | "/api/v1/scans")
                if rule.on == Level::NamedTeam =>
            {
                format!("{path}?team_id={team}")
            }
            _ => path,
        }
    }

    fn body(&self, rule: &Rule) -> Option<Value> {
        let Self { team, new, colleague, .. } = self;
        let name = format!("new-{new}");
        let secret = json!({ "key": format!("NEW_{new}"), "value": "kvc_new" });
        let last = rule.template.rsplit('/').next();
        match (rule.method, last?) {
            ("POST", "teams" | "environments") | ("PATCH", "{projectId}" | "account") => {
                Some(json!({ "name": name }))
            }
            ("DELETE", "account") => Some(json!({ "confirm": "nobody@example.com" })),
            ("POST", "data-export") => {
                Some(json!({ "include_secrets": true, "passphrase": "kvc_a passphrase" }))
            }
            ("POST", "members") => Some(json!({ "email": format!("new{new}@example.com") })),
            ("PATCH", "{userId}") => Some(json!({ "role": "admin" })),
            ("PATCH", "{environmentId}") => Some(json!({ "description": name })),
            ("POST", "projects") => Some(json!({ "name": name, "team_id": team })),
            ("POST", "secrets") => Some(secret),
            ("POST", "webhooks") => Some(webhook()),
            ("POST", "bundle") => Some(json!({ "recipients": [{ "type": "raw" }] })),
            ("POST", "bulk") => Some(json!({ "secrets": [secret], "overwrite": true })),
            ("POST", "changes") => Some(self.changes()),
            ("PUT", "billing") => Some(json!({ "plan": "free" })),
            ("PUT", "permissions") => {
                Some(json!({ "permissions": [{ "user_id": colleague, "role": "write" }] }))
            }
            // The role equals the default, so that the results of other cells do not change.
            ("PUT", "{userId}") => Some(json!({ "role": "write" })),
            ("PUT", "defaults") => Some(defaults()),
            ("PUT", "{key}") => Some(json!({ "value": format!("kvc_put_{new}") })),
            ("POST", "device") if rule.template.starts_with("/api") => {
                Some(json!({ "client_id": "cli" }))
            }
            ("POST", "token") => Some(json!({ "device_code": "none", "client_id": "cli" })),
            ("POST", "approve" | "deny") => Some(json!({ "user_code": "BCDF-GHJK" })),
            ("POST", "revoke") => Some(json!({ "id": UNKNOWN_ID })),
            ("POST", "rotations") => Some(postgresql(&name)),
            ("POST", "test") if rule.on == Level::Environment => Some(connection()),
            ("PUT", "{rotationName}") => Some(json!({ "rotation_interval_days": 7 })),
            ("POST", "rollback") => Some(json!({ "version": 1 })),
            ("POST", "tokens") => {
                Some(json!({ "name": name, "team_id": team, "all_projects": true }))
            }
            ("POST", "scans") => Some(json!({
                "team_id": team,
                "source": { "type": "text" },
                "content": "nothing",
            })),
            ("PATCH", "{findingId}") => Some(json!({ "status": "ignored" })),
            _ => None,
        }
    }

    fn changes(&self) -> Value {
        let key = format!("CHANGED_{}", self.new);
        let environment = &self.environment;
        let change = json!({
            "environment": environment, "key": key, "action": "set", "value": "kvc_new",
        });
        json!({ "changes": [change] })
    }

    /// Sends the request to the endpoint of a rule with these additional headers, and reads the
    /// whole response. Does not support event streams, whose responses have no end.
    pub(super) async fn send_with(
        &self,
        client: &Client,
        rule: &Rule,
        headers: &[(&str, &str)],
    ) -> Reply {
        let mut headers = headers.to_vec();
        let body = self.body(rule).map(|body| body.to_string());
        if body.is_some() {
            headers.push(("content-type", "application/json"));
        }
        let method = rule.method.parse().unwrap();
        client.raw(method, &self.path(rule), &headers, body.unwrap_or_default()).await
    }

    /// Sends the request to the endpoint of a rule, with these names in its path and body.
    pub(super) async fn send(&self, client: &Client, rule: &Rule) -> Reply {
        let method = rule.method.parse().unwrap();
        let path = self.path(rule);
        if rule.template.ends_with("/watch") {
            // The response is endless, so only the body of an error is read.
            return client.watch(&path, &[]).await.into_reply().await;
        }
        match self.body(rule) {
            Some(body) => client.json(method, &path, &body).await,
            None => client.raw(method, &path, &[], "").await,
        }
    }
}

fn defaults() -> Value {
    json!({ "defaults": [{ "environment_name": "*", "default_role": "write" }] })
}

/// Returns a request body that creates a webhook. The test does not send any deliveries to its URL.
pub(super) fn webhook() -> Value {
    json!({ "url": "https://hooks.example.com/kvc_table", "events": ["rotation.failed"] })
}
