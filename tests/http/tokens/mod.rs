//! Tests of the endpoints below `/api/v1/tokens`.

mod addresses;
mod create;
mod delete;
mod list;
mod rotate;
mod scope;
mod sessions;
mod uses;

use secrets_tests::{App, Person, Reply, paths};
use serde_json::{Value, json};

const TOKENS: &str = "/api/v1/tokens";

/// Service token of the user Alice for all projects of her team, and a project with the secret
/// `KEY` in the environment `staging`.
struct Owned {
    person: Person,
    project: String,
    /// URL path of the secret.
    key: String,
    id: String,
    text: String,
}

impl Owned {
    /// Creates the service token and the project. `body` contains additional fields for the request
    /// that creates the token.
    async fn of(app: &App, body: &Value) -> Self {
        let person = app.person("alice").await;
        let project = person.project("Web").await;
        person.secret(&project, "staging", "KEY", "kvc_staging").await;
        let mut body = body.clone();
        body["name"] = json!("ci");
        body["team_id"] = json!(person.team);
        body["all_projects"] = json!(true);
        let made = person.post(TOKENS, &body).await.is(201).clone();
        let text = made.json()["token"].as_str().unwrap().to_owned();
        let key = paths::secret(&project, "staging", "KEY");
        Self { person, project, key, id: made.id(), text }
    }

    /// Returns the token as the list of service tokens shows it.
    async fn listed(&self) -> Value {
        let all = self.person.get(TOKENS).await.is(200).json();
        let all = all["tokens"].as_array().unwrap();
        all.iter().find(|token| token["id"] == *self.id).unwrap().clone()
    }

    async fn rotate(&self, body: &Value) -> Value {
        self.person.post(&format!("{TOKENS}/{}/rotate", self.id), body).await.is(200).json()
    }

    /// Rotates the token and returns the new token string.
    async fn rotated(&self, body: &Value) -> String {
        self.rotate(body).await["token"].as_str().unwrap().to_owned()
    }

    async fn read_with(&self, app: &App, text: &str) -> Reply {
        app.bearer(text).get(&self.key).await
    }
}
