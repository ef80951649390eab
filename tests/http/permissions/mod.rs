//! Tests of permissions in environments. They can be set for a user, as the default of a project,
//! or by the operator for all teams.

mod defaults;
mod effect;
mod grant;
mod mine;

use secrets_core::model::Role;
use secrets_tests::{App, Person, paths};
use serde_json::{Value, json};

const NO_ACCESS: &str = "you have no access to this environment";

/// Team of Alice, with the project `Web`, the secret `KEY` in staging, and the member Bob.
struct Team {
    alice: Person,
    bob: Person,
    web: String,
}

impl Team {
    async fn of(app: &App) -> Self {
        let (alice, bob) = (app.person("alice").await, app.person("bob").await);
        app.join(&alice.team, &bob.id, Role::Member).await;
        let web = alice.project("Web").await;
        alice.secret(&web, "staging", "KEY", "kvc_staging").await;
        Self { alice, bob, web }
    }

    /// Sets Bob's permission in an environment. Alice sends the request.
    async fn grant(&self, environment: &str, role: &str) -> Value {
        let path = paths::permission(&self.web, environment, &self.bob.id);
        self.alice.put(&path, &json!({ "role": role })).await.is(200).json()
    }

    /// Signs in a user with this name, and adds the user to the team.
    async fn member(&self, app: &App, name: &str) -> Person {
        let person = app.person(name).await;
        app.join(&self.alice.team, &person.id, Role::Member).await;
        person
    }

    /// Returns Bob's own permission in an environment, as the API shows it to Bob.
    async fn mine(&self, environment: &str) -> Value {
        let mine = self.bob.get(&format!("{}/my-permissions", self.web)).await.is(200).json();
        let all = mine["permissions"].as_array().unwrap();
        let here = all.iter().find(|one| one["environment_name"] == environment).unwrap();
        here.clone()
    }
}
