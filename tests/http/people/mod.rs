//! Tests of team members and invitations.

mod accept;
mod invite;
mod leave;
mod mail;
mod notices;
mod resend;
mod roles;
mod sessions;

use secrets_tests::{Client, Person, Reply};
use serde_json::{Value, json};

const UNKNOWN: &str = "0190f1f3-7b1c-7000-8000-000000000000";

fn team(person: &Person) -> String {
    format!("/api/v1/teams/{}", person.team)
}

fn members(person: &Person) -> String {
    format!("{}/members", team(person))
}

fn invitations(person: &Person) -> String {
    format!("{}/invitations", team(person))
}

/// Invites the user with this name to the personal team of `person`.
async fn invite(person: &Person, name: &str) -> Value {
    let body = json!({ "email": format!("{name}@example.com") });
    person.post(&members(person), &body).await.is(201).json()
}

/// Returns the token of an invitation, taken from the link in the response (`invitation`).
fn token(invitation: &Value) -> String {
    let (_, token) = invitation["accept_url"].as_str().unwrap().rsplit_once('/').unwrap();
    token.to_owned()
}

async fn accept(client: &Client, token: &str) -> Reply {
    client.post(&format!("/api/v1/invitations/{token}/accept"), &json!({})).await
}

/// Returns the name and the role of each member of the team with this path. The user `person` sends
/// the request.
async fn roles(person: &Person, path: &str) -> Vec<String> {
    let team = person.get(path).await.is(200).json();
    let shown = |member: &Value| format!("{} {}", member["name"], member["role"]).replace('"', "");
    team["members"].as_array().unwrap().iter().map(shown).collect()
}

/// Asserts that a reply is the error for an invitation that does not exist or can no longer be
/// accepted.
fn unknown(reply: &Reply) {
    let body = json!({ "error": "invitation not found", "code": "not_found" });
    assert_eq!(reply.is(404).json(), body);
}
