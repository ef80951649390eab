//! Test project `web`, and a test user whose settings name the project and its environment
//! `staging`.

use std::ops::Deref;

use serde_json::{Value, json};

use crate::home::Home;
use crate::server::Server;

/// Server with the test project `web` and its user. The environment `preview` inherits from
/// `production`.
pub(crate) struct Project {
    server: Server,
    home: Home,
}

impl Project {
    /// Starts a server and creates the project.
    pub(crate) fn create() -> Self {
        let server = Server::start();
        let home =
            server.home().with("SECRETS_PROJECT", "web").with("SECRETS_ENVIRONMENT", "staging");
        home.api("POST", "/projects", &json!({ "name": "Web" }));
        let preview = json!({ "name": "preview", "inherits_from": "production" });
        home.api("POST", "/projects/web/environments", &preview);
        Self { server, home }
    }

    /// Returns the server that contains the project.
    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// Sets an environment variable for the user's later commands.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.home = self.home.with(name, value);
        self
    }

    /// Creates a secret in an environment.
    pub(crate) fn create_secret(&self, environment: &str, key: &str, value: &str) {
        let path = format!("/projects/web/environments/{environment}/secrets");
        self.home.api("POST", &path, &json!({ "key": key, "value": value }));
    }

    /// Changes the value of a secret in an environment.
    pub(crate) fn update_secret(&self, environment: &str, key: &str, value: &str) {
        let path = format!("/projects/web/environments/{environment}/secrets/{key}");
        self.home.api("PUT", &path, &json!({ "value": value }));
    }

    /// Creates a service token of the project with these permissions.
    pub(crate) fn token(&self, permissions: &[&str]) -> String {
        let project = self.home.api("GET", "/projects/web", &Value::Null);
        let body =
            json!({ "name": "ci", "project_ids": [project["id"]], "permissions": permissions });
        self.home.api("POST", "/tokens", &body)["token"].as_str().unwrap().to_owned()
    }

    /// Hides a key in an environment.
    pub(crate) fn hide(&self, environment: &str, key: &str) {
        let path = format!("/projects/web/environments/{environment}/secrets");
        self.home.api("POST", &path, &json!({ "key": key, "hidden": true }));
    }

    /// Returns the effective values of an environment, by key.
    pub(crate) fn values(&self, environment: &str) -> Value {
        let path = format!("/projects/web/environments/{environment}/secrets/export?format=json");
        self.home.api("GET", &path, &Value::Null)
    }
}

impl Deref for Project {
    type Target = Home;

    fn deref(&self) -> &Home {
        &self.home
    }
}
