//! Tests of the response bodies of all endpoints, in both response formats (`SECRETS_ENVELOPE`).
//! The test decodes each body as strict clients do: a client that reads the field with the
//! specified name, and a client that reads the field `data`.

mod table;

use std::collections::BTreeSet;

use secrets_core::engine::Options;
use secrets_http::serve::reply::Envelope;
use secrets_tests::{App, Build, Kind, Person, Reply};
use serde_json::{Value, json};

use self::table::{Both, ME, Named, READINGS, Reading, TOKEN_SELF};
use super::policy::{POLICY, Rule, Target, Who};
use super::requests::Names;
use super::world::World;
use crate::sign_in;

const OPERATOR: &str = "owner@example.com";

async fn app(envelope: Envelope) -> App {
    let options = Options { operators: vec![OPERATOR.to_owned()], ..Options::default() };
    Build::on(Kind::Memory).options(options).envelope(envelope).start().await
}

#[test]
fn each_endpoint_has_a_reading_for_each_kind_of_client() {
    let read: BTreeSet<_> = READINGS.iter().map(|row| (row.method, row.template)).collect();
    let served: BTreeSet<_> = POLICY.iter().map(|rule| (rule.method, rule.template)).collect();

    assert_eq!(READINGS.len(), read.len());
    assert_eq!(read, served);
}

#[tokio::test]
async fn a_client_of_named_fields_decodes_every_response() {
    every_response_is_decoded(Envelope::Named).await;
}

#[tokio::test]
async fn a_client_of_the_data_field_decodes_every_response() {
    every_response_is_decoded(Envelope::Both).await;
}

async fn every_response_is_decoded(envelope: Envelope) {
    let app = app(envelope).await;
    let world = World::build(&app).await;
    let mut wrong = Vec::new();
    for row in READINGS {
        let reply = row.ask(&app, &world).await;
        let place = format!("{} {}", row.method, row.template);
        assert!(reply.status < 400, "{place}: {} {}", reply.status, reply.text());
        if let Err(reason) = row.decode(&reply, envelope) {
            wrong.push(format!("{place}: {reason}: {}", reply.text()));
        }
    }

    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn a_client_with_a_service_token_decodes_every_response() {
    for envelope in [Envelope::Named, Envelope::Both] {
        every_response_to_a_token_is_decoded(envelope).await;
    }
}

/// Checks that the responses of all endpoints that accept service tokens can be decoded when the
/// caller is a service token.
async fn every_response_to_a_token_is_decoded(envelope: Envelope) {
    let app = app(envelope).await;
    let world = World::build(&app).await;
    let machine = app.bearer(&token(&world.first.owner, &["read", "write"]).await);
    let mut wrong = Vec::new();
    let rows = READINGS.iter().filter(|row| row.rule().admits_tokens());
    let mut decoded = 0;
    for row in rows {
        let rule = row.rule();
        let reply = Names::fresh(&app, &world, rule, Target::Own).await.send(&machine, rule).await;
        let place = format!("{} {}", row.method, row.template);
        assert!(reply.status < 300, "{place}: {} {}", reply.status, reply.text());
        let named = if row.template == ME { Named::Object(TOKEN_SELF) } else { row.named };
        if let Err(reason) = (Reading { named, ..*row }).decode(&reply, envelope) {
            wrong.push(format!("{place}: {reason}: {}", reply.text()));
        }
        decoded += 1;
    }

    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(decoded > 15, "{decoded}");
}

/// Creates a service token with these permissions for all projects of the team, and returns the
/// token string.
async fn token(owner: &Person, permissions: &[&str]) -> String {
    let new = json!({
        "all_projects": true, "team_id": owner.team, "name": "reader", "permissions": permissions,
    });
    let token = owner.post("/api/v1/tokens", &new).await.is(201).json();
    token["token"].as_str().unwrap().to_owned()
}

impl Reading {
    /// Returns the rule of the policy for this endpoint.
    fn rule(&self) -> &'static Rule {
        let is_this = |rule: &&Rule| rule.method == self.method && rule.template == self.template;
        POLICY.iter().find(is_this).unwrap()
    }

    /// Sends a valid request to the endpoint, and returns the reply. The endpoint must accept the
    /// request.
    async fn ask(&self, app: &App, world: &World) -> Reply {
        let owner = &world.first.owner;
        if let Some(reply) = self.ask_with_a_code(app, owner).await {
            return reply;
        }
        let rule = self.rule();
        let names = Names::fresh(app, world, rule, Target::Own).await;
        if rule.who == Who::Machines {
            return names.send(&app.bearer(&token(owner, &["read"]).await), rule).await;
        }
        if self.template.ends_with("/defaults") && self.method != "DELETE" {
            let name = json!({ "environment_name": "staging", "default_role": "write" });
            let path = format!("/api/v1/projects/{}/permissions/defaults", world.first.project);
            let put = owner.put(&path, &json!({ "defaults": [name] })).await;
            return if self.method == "PUT" { put } else { owner.get(&path).await };
        }
        names.send(owner, rule).await
    }

    /// Sends a valid request to one of the endpoints that the requests of the policy test call
    /// without success, for example because they contain an unknown code. Returns `None` for all
    /// other endpoints.
    async fn ask_with_a_code(&self, app: &App, owner: &Person) -> Option<Reply> {
        let api = self.template.strip_prefix("/api/v1/").unwrap_or(self.template);
        let reply = match (self.method, api) {
            ("DELETE", "account") => {
                let leaving = app.person("leaving").await;
                let path = "/api/v1/account";
                let body = json!({ "confirm": "leaving@example.com" });
                leaving.json("DELETE".parse().unwrap(), path, &body).await
            }
            ("PUT", "teams/{teamId}/billing") => {
                let path = format!("/api/v1/teams/{}/billing", owner.team);
                owner.put(&path, &json!({ "plan": "unlimited" })).await
            }
            (_, "invitations/{token}" | "invitations/{token}/accept") => {
                let (guest, token) = invited(app, owner).await;
                let path = self.template.replace("{token}", &token);
                match self.method {
                    "GET" => guest.get(&path).await,
                    _ => guest.post(&path, &json!({})).await,
                }
            }
            ("GET", "invitations") => {
                let (guest, _) = invited(app, owner).await;
                guest.get("/api/v1/invitations").await
            }
            (_, login) if login.starts_with("auth/cli/") => {
                login_request(app, owner, login).await?
            }
            ("GET" | "DELETE", "auth/sessions" | "auth/sessions/{id}") => {
                session_request(app, owner, self.method, api).await?
            }
            _ => return self.ask_for_page(app, owner).await,
        };
        Some(reply)
    }

    /// Sends a valid request to an endpoint that returns a page or a file; returns `None` for all
    /// other endpoints.
    async fn ask_for_page(&self, app: &App, owner: &Person) -> Option<Reply> {
        let reply = match (self.method, self.template) {
            ("POST", "/device") => {
                let code = start(app).await["user_code"].as_str().unwrap().to_owned();
                owner.get(&format!("/device?user_code={code}")).await
            }
            ("GET", "/assets/{build}/{*file}") => {
                let page = owner.get("/projects").await.text();
                let script = page.split('"').find(|part| part.ends_with("/main.js")).unwrap();
                owner.get(script).await
            }
            ("GET", "/sign-in/dev") => {
                let app = Build::on(Kind::Memory).dev_links().start().await;
                let link = format!("/sign-in/dev?code={}", app.dev_code("dev"));
                app.browser().open(&link).await
            }
            ("GET", "/sign-in" | "/sign-in/callback") => {
                let (app, provider) = sign_in::serve(Kind::Memory).await;
                let mut browser = app.browser();
                let sent = browser.open("/sign-in").await;
                let back = provider.sign_in(sent.is(303).header("location").unwrap());
                if self.template == "/sign-in" { sent } else { browser.arrive(&back).await }
            }
            ("GET", "/api/docs/{file}") => owner.get("/api/docs/start.js").await,
            _ => return None,
        };
        Some(reply)
    }

    fn decode(&self, reply: &Reply, envelope: Envelope) -> Result<(), String> {
        if self.named == Named::Nothing {
            let is_json = reply.header("content-type").is_some_and(|kind| kind.contains("json"));
            return if is_json { Err("a body in JSON".to_owned()) } else { Ok(()) };
        }
        let body = reply.json();
        let mut named = body.clone();
        let data = named.as_object_mut().and_then(|fields| fields.remove("data"));
        self.decode_named(&named)?;
        let expected = match (envelope, self.both) {
            (Envelope::Named, _) | (_, Both::Absent) => None,
            (Envelope::Both, Both::Field(name)) => Some(named[name].clone()),
            (Envelope::Both, Both::Object) => Some(named),
        };
        if data == expected { Ok(()) } else { Err("another `data` than expected".to_owned()) }
    }

    fn decode_named(&self, body: &Value) -> Result<(), String> {
        match self.named {
            Named::List(name, fields) => {
                only(body, name)?;
                each_has(&body[name], fields)
            }
            Named::Wrapped(name, fields) => {
                only(body, name)?;
                has(&body[name], fields)
            }
            Named::Object(fields) => has(body, fields),
            Named::Array(fields) => each_has(body, fields),
            Named::Nothing => Ok(()),
        }
    }
}

/// Returns an error unless an object has this field and no other.
fn only(body: &Value, name: &str) -> Result<(), String> {
    let fields = body.as_object().ok_or("not an object")?;
    let is_only = fields.len() == 1 && fields.contains_key(name);
    if is_only { Ok(()) } else { Err(format!("not only `{name}`")) }
}

/// Returns an error unless a list has at least one item, and each item has these fields.
fn each_has(list: &Value, fields: &[&str]) -> Result<(), String> {
    let items = list.as_array().ok_or("not a list")?;
    if items.is_empty() {
        return Err("an empty list".to_owned());
    }
    items.iter().try_for_each(|item| has(item, fields))
}

fn has(object: &Value, fields: &[&str]) -> Result<(), String> {
    let known = object.as_object().ok_or("not an object")?;
    match fields.iter().find(|field| !known.contains_key(**field)) {
        Some(missing) => Err(format!("no field `{missing}`")),
        None => Ok(()),
    }
}

/// Creates a user and invites the user to the owner's team. Returns the user and the token of the
/// invitation.
async fn invited(app: &App, owner: &Person) -> (Person, String) {
    let number =
        owner.get(&format!("/api/v1/teams/{}/invitations", owner.team)).await.is(200).json();
    let members = owner.get(&format!("/api/v1/teams/{}", owner.team)).await.is(200).json();
    let number = number.as_array().unwrap().len() + members["members"].as_array().unwrap().len();
    let guest = app.person(&format!("guest{number}")).await;
    let body = json!({ "email": format!("guest{number}@example.com") });
    owner.post(&format!("/api/v1/teams/{}/members", owner.team), &body).await.is(201);
    let pending = guest.get("/api/v1/invitations").await.is(200).json();
    let token = pending[0]["token"].as_str().unwrap().to_owned();
    (guest, token)
}

/// Creates a session, and then lists the sessions or revokes the new one, depending on the method.
/// Returns `None` for the endpoint that revokes all sessions, because the request of the policy
/// test works there.
async fn session_request(app: &App, owner: &Person, method: &str, name: &str) -> Option<Reply> {
    if (method, name) == ("DELETE", "auth/sessions") {
        return None;
    }
    login_request(app, owner, "auth/cli/token").await?.is(200);
    let list = owner.get("/api/v1/auth/sessions").await;
    if method == "GET" {
        return Some(list);
    }
    let sessions = list.is(200).json();
    let id = sessions["sessions"][0]["id"].as_str().unwrap().to_owned();
    Some(owner.delete(&format!("/api/v1/auth/sessions/{id}")).await)
}

/// Starts a device login, and returns the response with its codes.
async fn start(app: &App) -> Value {
    let body = json!({ "client_id": "cli" });
    app.anonymous().post("/api/v1/auth/cli/device", &body).await.is(200).json()
}

/// Starts a device login, and sends the request of this endpoint about the login; returns `None`
/// for the endpoint that starts a login.
async fn login_request(app: &App, owner: &Person, name: &str) -> Option<Reply> {
    if name == "auth/cli/device" {
        return None;
    }
    let login = start(app).await;
    let code = json!({ "user_code": login["user_code"] });
    let approve = || owner.post("/api/v1/auth/cli/approve", &code);
    let poll = json!({
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": login["device_code"], "client_id": "cli",
    });
    let reply = match name {
        "auth/cli/device/{userCode}" => {
            let code = login["user_code"].as_str().unwrap();
            owner.get(&format!("/api/v1/auth/cli/device/{code}")).await
        }
        "auth/cli/approve" => approve().await,
        "auth/cli/deny" => owner.post("/api/v1/auth/cli/deny", &code).await,
        _ => {
            approve().await.is(200);
            let granted = app.anonymous().post("/api/v1/auth/cli/token", &poll).await;
            match name {
                "auth/cli/token" => granted,
                "auth/cli/sessions" => owner.get("/api/v1/auth/cli/sessions").await,
                _ => {
                    let session = app.bearer(granted.json()["access_token"].as_str().unwrap());
                    session.post("/api/v1/auth/cli/revoke", &json!({})).await
                }
            }
        }
    };
    Some(reply)
}
