//! Rotations of a fake database in memory, for tests.

use secrets_core::rotations;
use std::sync::Arc;

use secrets_core::model::rotations::DatabaseKind;
use secrets_core::model::{Clock as _, EnvironmentPath, Origin, RotationId, ids};
use secrets_core::ports::rotators::{Rotators, Timings};
use secrets_core::rotations::{ConcludedAttempt, RotateNow};
use secrets_core::store::RotationRecord;
use secrets_core::testing::rotator::{MemoryDatabase, Script, rotators};
use serde_json::{Value, json};

use crate::{App, Client, Person, canary, paths, until};

/// Returns a request body that tests a connection to PostgreSQL.
#[must_use]
pub fn connection() -> Value {
    json!({
        "integration_type": "postgresql",
        "connection_method": "direct",
        "connection": {
            "host": "db.example.com",
            "port": 5433,
            "database": "shop",
            "admin_username": "rotator",
            "admin_password": canary("admin"),
            "ssl_mode": "verify-full",
        },
    })
}

/// Returns a request body that creates a PostgreSQL rotation with this name, which runs every 30
/// days.
#[must_use]
pub fn postgresql(name: &str) -> Value {
    let mut body = connection();
    body["name"] = json!(name);
    body["rotation_interval_days"] = json!(30);
    body
}

/// Returns the field `proxy` of a request body that creates a rotation through a Lambda function.
/// The shared secret in it belongs to no real function.
#[must_use]
pub fn lambda() -> Value {
    lambda_function("rotate", &canary("shared_secret_of_a_function"))
}

/// Returns the field `proxy` of a request body that creates a rotation through the Lambda function
/// with this name and shared secret.
#[must_use]
pub fn lambda_function(name: &str, shared_secret: &str) -> Value {
    json!({
        "lambda_arn": format!("arn:aws:lambda:eu-central-1:123456789012:function:{name}"),
        "region": "eu-central-1",
        "shared_secret": shared_secret,
    })
}

/// Rotation in the environment `staging`, with an HTTP client of its creator and one of a reader of
/// its secrets.
pub struct Rotated {
    /// User who created the rotation.
    pub person: Person,
    /// URL path of the project that contains the rotation.
    pub project: String,
    /// URL path of the rotation.
    pub path: String,
    /// Client with a service token that can read the project.
    pub reader: Client,
    owner: &'static str,
    token: String,
    id: RotationId,
}

impl Rotated {
    /// Creates a project and the rotation `main-db` in it, as the user with this name.
    pub async fn create(app: &App, owner: &'static str) -> Self {
        Self::create_as(app, owner, &postgresql("main-db")).await
    }

    /// Creates a project and a rotation in it with this request body, as the user with this name.
    pub async fn create_as(app: &App, owner: &'static str, body: &Value) -> Self {
        let person = app.person(owner).await;
        let project = person.project("Shop").await;
        let path = paths::rotations(&project, "staging");
        let id = person.post(&path, body).await.is(201).id();
        let id = RotationId::from(ids::parse(&id).unwrap());
        let path = paths::rotation(&project, "staging", body["name"].as_str().unwrap());
        let reader = json!({ "all_projects": true, "permissions": ["read"] });
        let token = person.token(&reader).await;
        let reader = app.bearer(&token);
        Self { person, project, path, reader, owner, token, id }
    }

    /// Makes the clients of this value send all later requests to this server, with a new identity
    /// token of the user that is valid for a day.
    pub async fn use_by(&mut self, app: &App) {
        self.person = app.person(self.owner).await;
        self.reader = app.bearer(&self.token);
    }

    /// Runs the rotation through the API, and returns the history entry of the attempt.
    pub async fn rotate(&self) -> Value {
        self.person.post(&format!("{}/rotate", self.path), &json!({})).await.is(200).json()
    }

    /// Runs the rotation through the API, and asserts that the attempt succeeded.
    pub async fn succeed(&self) {
        assert_eq!(self.rotate().await["status"], "success");
    }

    /// Returns the rotation as the API shows it.
    pub async fn shown(&self) -> Value {
        self.person.get(&self.path).await.is(200).json()
    }

    /// Returns the history of the rotation as the API shows it.
    pub async fn history(&self) -> Vec<Value> {
        let history = self.person.get(&format!("{}/history", self.path)).await.is(200).json();
        history.as_array().unwrap().clone()
    }

    /// Returns the user name and the password in the secrets, which readers get.
    pub async fn served(&self) -> (String, String) {
        let path = paths::eso_secrets(&self.project, "staging");
        let secrets = self.reader.get(&path).await.is(200).json()["secrets"].clone();
        let text = |key: &str| secrets[key].as_str().unwrap().to_owned();
        (text("MAIN_DB_USERNAME"), text("MAIN_DB_PASSWORD"))
    }

    /// Asserts that the fake database accepts the user name and the password in the secrets.
    pub async fn works(&self, app: &App) {
        let (username, password) = self.served().await;
        assert!(app.database.admits(&username, &password), "the served credential is refused");
    }

    /// Returns the stored record of the rotation.
    pub async fn record(&self, app: &App) -> RotationRecord {
        app.store.read().await.unwrap().rotation(self.id).await.unwrap().unwrap()
    }

    /// Runs the rotation by calling the service directly, so that no HTTP server needs to run.
    pub async fn rotate_alone(&self, app: &App) -> ConcludedAttempt {
        let person = app.service.authenticate(&app.jwt(self.owner), Origin::default()).await;
        let at = EnvironmentPath::new(paths::last(&self.project), "staging");
        let name = paths::last(&self.path).to_owned();
        app.service.run(&person.unwrap(), RotateNow { at, name }).await.unwrap()
    }

    /// Begins the rotation, and abandons it after the service has called the function `call` of the
    /// fake database, as if the process had died. The HTTP server must be stopped, because its
    /// workers would continue the attempt.
    pub async fn die_at(&self, app: &App, call: &'static str) {
        let count = || app.database.calls().into_iter().filter(|known| *known == call).count();
        let before = count();
        app.database.script(call, [Script::Hang]);
        let is_called = until(call, async || count() > before);
        tokio::select! {
            entry = self.rotate_alone(app) => panic!("the rotation ended: {entry:?}"),
            () = is_called => {}
        }
    }

    /// Works on due rotations, as the background worker does, until this rotation is not due any
    /// more.
    pub async fn settle(&self, app: &App) {
        // A worker of the server may have claimed the rotation.
        until("the rotation is not due", async || {
            for claim in rotations::claim_rotations(app.service.engine()).await.unwrap() {
                rotations::work(app.service.engine(), claim).await;
            }
            let record = self.record(app).await;
            let now = app.clock.now();
            record.schedule.work_at.is_none_or(|at| at > now)
        })
        .await;
    }
}

/// Kind of database for which the library has no driver. The tests register the fake database as
/// its driver.
const SQL_SERVER: DatabaseKind = DatabaseKind {
    name: "sql_server",
    default_port: 1433,
    url_scheme: "sqlserver",
    url_tls_parameter: None,
};

/// Creates the rotators (drivers that change the passwords of database users) for this fake
/// database. Their time runs a thousand times faster than `timings` say.
pub(crate) fn quick(database: &Arc<MemoryDatabase>, timings: &Timings) -> Rotators {
    let mut rotators = rotators(database).with(SQL_SERVER, database.clone());
    rotators.timings = *timings;
    rotators
}
