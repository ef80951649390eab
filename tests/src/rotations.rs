//! Rotations of the database in memory.

use std::sync::Arc;
use std::time::Duration;

use secrets_core::model::{Clock as _, EnvironmentPath, Origin, RotationId, ids};
use secrets_core::rotations::HistoryEntry;
use secrets_core::ports::rotators::{Rotators, Timings};
use secrets_core::store::RotationRecord;
use secrets_core::testing::rotator::{MemoryDatabase, Script, rotators};
use serde_json::{Value, json};

use crate::{App, Client, Person, canary, paths};

/// A connection to PostgreSQL, to be tried.
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

/// A rotation of PostgreSQL every 30 days, to be created.
#[must_use]
pub fn postgresql(name: &str) -> Value {
    let mut body = connection();
    body["name"] = json!(name);
    body["rotation_interval_days"] = json!(30);
    body
}

/// A function that reaches a database.
#[must_use]
pub fn lambda() -> Value {
    json!({
        "lambda_arn": "arn:aws:lambda:eu-central-1:123456789012:function:rotate",
        "region": "eu-central-1",
        "shared_secret": canary("shared_secret_of_a_function"),
    })
}

/// A rotation that was created in the environment `staging`, and who uses it.
pub struct Rotated {
    /// Who created it.
    pub person: Person,
    /// The path of the project.
    pub project: String,
    /// Its path.
    pub path: String,
    /// A service token that reads the project.
    pub reader: Client,
    owner: &'static str,
    token: String,
    id: RotationId,
}

impl Rotated {
    /// The rotation `main-db` of somebody.
    pub async fn create(app: &App, owner: &'static str) -> Self {
        Self::create_as(app, owner, &postgresql("main-db")).await
    }

    /// A rotation of somebody's, as this says.
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

    /// Uses this server from now on, with a credential that is good for a day.
    pub async fn use_by(&mut self, app: &App) {
        self.person = app.person(self.owner).await;
        self.reader = app.bearer(&self.token);
    }

    /// Rotates, and gives the entry of the history.
    pub async fn rotate(&self) -> Value {
        self.person.post(&format!("{}/rotate", self.path), &json!({})).await.is(200).json()
    }

    /// Rotates successfully.
    pub async fn succeed(&self) {
        assert_eq!(self.rotate().await["status"], "success");
    }

    /// The rotation as it is shown.
    pub async fn shown(&self) -> Value {
        self.person.get(&self.path).await.is(200).json()
    }

    /// The history as it is shown.
    pub async fn history(&self) -> Vec<Value> {
        let history = self.person.get(&format!("{}/history", self.path)).await.is(200).json();
        history.as_array().unwrap().clone()
    }

    /// The user and the password that readers are given.
    pub async fn served(&self) -> (String, String) {
        let path = paths::eso_secrets(&self.project, "staging");
        let secrets = self.reader.get(&path).await.is(200).json()["secrets"].clone();
        let text = |key: &str| secrets[key].as_str().unwrap().to_owned();
        (text("MAIN_DB_USERNAME"), text("MAIN_DB_PASSWORD"))
    }

    /// What readers are given logs in.
    pub async fn works(&self, app: &App) {
        let (username, password) = self.served().await;
        assert!(app.database.admits(&username, &password), "the served credential is refused");
    }

    /// What is stored of it.
    pub async fn record(&self, app: &App) -> RotationRecord {
        app.store.read().await.unwrap().rotation(self.id).await.unwrap().unwrap()
    }

    /// Rotates by the service itself, where no server is running.
    pub async fn rotate_alone(&self, app: &App) -> HistoryEntry {
        let person = app.service.authenticate(&app.jwt(self.owner), Origin::default()).await;
        let at = EnvironmentPath::new(paths::last(&self.project), "staging");
        let name = paths::last(&self.path).to_owned();
        app.service.rotate(&person.unwrap(), at, name).await.unwrap()
    }

    /// Begins to rotate, and dies when it has called the database so. No server may be running, for
    /// it would go on with it.
    pub async fn die_at(&self, app: &App, call: &'static str) {
        let count = || app.database.calls().into_iter().filter(|known| *known == call).count();
        let before = count();
        app.database.script(call, [Script::Hang]);
        let is_told = async {
            while count() == before {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::select! {
            entry = self.rotate_alone(app) => panic!("it ended: {entry:?}"),
            () = is_told => {}
        }
    }

    /// Does what there is to do about it now, and about others, until there is nothing.
    pub async fn settle(&self, app: &App) {
        loop {
            for claim in app.service.claim_rotations().await.unwrap() {
                app.service.work(claim).await;
            }
            let record = self.record(app).await;
            let now = app.clock.now();
            if record.work_at.is_none_or(|at| at > now) {
                return;
            }
            // The server's own job has it.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// What rotates credentials of this database, a thousand times as quick as elsewhere.
pub(crate) fn quick(database: &Arc<MemoryDatabase>, timings: &Timings) -> Rotators {
    Rotators { timings: *timings, ..rotators(database) }
}
