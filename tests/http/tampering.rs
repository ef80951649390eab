//! Tests of records that were changed directly in the database. The service must never return a
//! wrong value, and must not start if its keys and data do not belong together.

mod chains;
mod epoch;
mod manifest;
mod records;
mod rows;
mod start;

use secrets_tests::{App, Client, Person, Reply, paths};
use serde_json::json;

/// Project whose records a test changes, and the clients that read its secrets.
struct Victim {
    app: App,
    person: Person,
    machine: Client,
    /// Service token of `machine`.
    token: String,
    /// URL path of the project.
    project: String,
}

impl Victim {
    /// Creates a project with two secrets in its first environment and one in the second.
    async fn of(app: App) -> Self {
        let person = app.person("ann").await;
        let project = person.project("web").await;
        for (environment, key) in
            [("development", "ONE"), ("development", "TWO"), ("staging", "ONE")]
        {
            let value = format!("kvc_{environment}_{key}");
            let about = format!("kvc_about_{environment}_{key}");
            let body = json!({ "key": key, "value": value, "description": about });
            person.post(&paths::secrets(&project, environment), &body).await.is(201);
        }
        let token = person.token(&json!({ "all_projects": true })).await;
        Self { machine: app.bearer(&token), token, app, person, project }
    }

    /// Sends each kind of request that returns the value of a secret: two with the credential of
    /// the user, two with the service token.
    async fn values(&self, project: &str, environment: &str, key: &str) -> [Reply; 4] {
        let secrets = paths::secrets(project, environment);
        [
            self.person.get(&format!("{secrets}/{key}")).await,
            self.person.get(&format!("{secrets}/export")).await,
            self.machine.get(&paths::eso_secret(project, environment, key)).await,
            self.machine.get(&paths::eso_secrets(project, environment)).await,
        ]
    }

    /// Asserts that every request for the value of this secret fails with an internal error (500)
    /// without details.
    async fn is_broken(&self, project: &str, environment: &str, key: &str) {
        for reply in self.values(project, environment, key).await {
            assert_internal(&reply);
        }
    }

    /// Asserts that every request for the value of this secret returns the right value.
    async fn is_whole(&self, environment: &str, key: &str) {
        let value = format!("kvc_{environment}_{key}");
        for reply in self.values(&self.project, environment, key).await {
            assert!(reply.is(200).text().contains(&value), "{}", reply.text());
        }
    }
}

#[track_caller]
fn assert_internal(reply: &Reply) {
    assert_eq!(reply.status, 500, "{}", reply.text());
    assert_eq!(reply.json(), json!({ "error": "internal error", "code": "internal" }));
}
