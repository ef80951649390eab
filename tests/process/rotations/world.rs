//! Server program with rotations of real databases, for tests.

use std::path::PathBuf;

use secrets_tests::targets::{Dialect, Target, TargetDatabase};
use secrets_tests::{LambdaEndpoint, Person, SHARED_SECRET, lambda_function, paths, until};
use serde_json::{Value, json};

use super::sampler::Served;
use crate::program::{Program, Running, folder, log_path};

/// Network to which rotations may connect in tests.
pub(crate) const LOOPBACK: &str = "127.0.0.0/8";

/// Settings and data folder of the server program, and the databases whose users it rotates.
pub(crate) struct World {
    name: String,
    folder: PathBuf,
    settings: Vec<(String, String)>,
    pub(crate) rotated: Vec<Rotated>,
    /// Local Lambda server, if the rotations use a Lambda function.
    pub(crate) endpoint: Option<LambdaEndpoint>,
}

/// Database whose users are rotated, with the name of its rotation.
pub(crate) struct Rotated {
    number: usize,
    pub(crate) name: String,
    pub(crate) host: String,
    pub(crate) database: TargetDatabase,
    /// Name of the Lambda function through which the users are rotated; `None` for a direct
    /// connection.
    function: Option<&'static str>,
}

/// Running server program, with the owners of the rotations. Each rotation is in a separate team,
/// so that the limits of a team do not delay it.
pub(crate) struct Open {
    pub(crate) program: Running,
    owners: Vec<Person>,
}

impl Open {
    /// Returns the user who created a rotation.
    pub(crate) fn owner(&self, rotated: &Rotated) -> &Person {
        &self.owners[rotated.number]
    }
}

impl World {
    /// Creates one database on each of these servers, but does not start the server program. `name`
    /// is part of the names of the log file and the data folder.
    pub(crate) async fn new(name: &str, targets: &[Target]) -> Self {
        let mut rotated = Vec::new();
        for (number, target) in targets.iter().enumerate() {
            let name = match target.dialect {
                Dialect::Postgres => "postgres",
                Dialect::MariaDb => "mariadb",
                Dialect::MySql => "mysql",
            };
            let host = format!("127.0.0.{}", number + 1);
            let database = target.database().await;
            rotated.push(Rotated { number, name: name.to_owned(), host, database, function: None });
        }
        let folder = folder(&format!("rotations_{name}"));
        // Remove the log of an earlier run.
        let _ = std::fs::remove_file(log_path(&format!("rotations_{name}")));
        Self {
            name: format!("rotations_{name}"),
            folder,
            settings: Vec::new(),
            rotated,
            endpoint: None,
        }
    }

    /// Creates one database on each of these servers, for rotations through the Lambda function
    /// with this name, and starts a local Lambda server. Does not start the server program.
    pub(crate) async fn proxied(name: &str, targets: &[Target], function: &'static str) -> Self {
        let mut world = Self::new(name, targets).await;
        let endpoint = LambdaEndpoint::start();
        world.set("AWS_ENDPOINT_URL", &endpoint.url);
        world.set("AWS_ACCESS_KEY_ID", "AKIDTESTING");
        world.set("AWS_SECRET_ACCESS_KEY", "kvc_testing");
        world.endpoint = Some(endpoint);
        for rotated in &mut world.rotated {
            rotated.function = Some(function);
        }
        world
    }

    /// Sets an environment variable of the server program for its next start.
    pub(crate) fn set(&mut self, variable: &str, value: &str) {
        self.settings.retain(|(known, _)| known != variable);
        self.settings.push((variable.to_owned(), value.to_owned()));
    }

    /// Removes an environment variable of the server program for its next start.
    pub(crate) fn unset(&mut self, variable: &str) {
        self.settings.retain(|(known, _)| known != variable);
    }

    /// Returns the path of the file with this name in the data folder of the server program.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the content of the server program's log file.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(log_path(&self.name)).unwrap_or_default()
    }

    /// Starts the server program with these settings, and creates a client for the owner of each
    /// rotation.
    pub(crate) async fn open(&self) -> Open {
        let mut program = Program::serve(&self.name, &self.file("secrets.db"))
            .with("SECRETS_EGRESS_ALLOW", LOOPBACK)
            .ignoring_full_disk();
        for (variable, value) in &self.settings {
            program = program.with(variable, value);
        }
        let program = program.start();
        let mut owners = Vec::new();
        for rotated in &self.rotated {
            owners.push(program.person(&format!("{}-owner", rotated.name)).await);
        }
        Open { program, owners }
    }

    /// Creates a project with a rotation for each database.
    pub(crate) async fn create_rotations(&self, open: &Open) {
        for rotated in &self.rotated {
            rotated.create(open.owner(rotated)).await;
        }
    }

    /// Returns the number of times that the server program has reached this failpoint, counted in
    /// its log.
    pub(crate) fn reached(&self, place: &str) -> usize {
        self.log().lines().filter(|line| *line == format!("failpoint {place}")).count()
    }

    /// Waits until the server program has reached this failpoint `times` times.
    pub(crate) async fn until_reached(&self, place: &str, times: usize) {
        until(&format!("{place} is reached"), async || self.reached(place) >= times).await;
    }
}

impl Rotated {
    /// Returns the request body that creates the rotation of this database.
    pub(crate) fn body(&self) -> Value {
        let target = &self.database.target;
        let mut body = json!({
            "name": self.name,
            "integration_type": match target.dialect {
                Dialect::Postgres => "postgresql",
                Dialect::MariaDb | Dialect::MySql => "mysql",
            },
            "connection_method": "direct",
            "rotation_interval_days": 1,
            "connection": {
                "host": self.host, "port": target.port, "database": self.database.name,
                "admin_username": target.user, "admin_password": target.password,
                "ssl_mode": "verify-full", "ca_certificate": target.authority,
            },
        });
        if let Some(function) = self.function {
            body["connection_method"] = json!("proxied");
            body["proxy"] = lambda_function(function, SHARED_SECRET);
        }
        body
    }

    /// Creates a project, and in it the rotation of this database. Both have the name `self.name`.
    pub(crate) async fn create(&self, owner: &Person) {
        owner.project(&self.name).await;
        owner.post(&paths::rotations(&self.project(), "production"), &self.body()).await.is(201);
    }

    /// Returns the URL path of the project that contains the rotation.
    pub(crate) fn project(&self) -> String {
        format!("/api/v1/projects/{}", self.name)
    }

    /// Returns the URL path of the secrets of the environment that contains the rotation.
    pub(crate) fn secrets(&self) -> String {
        paths::secrets(&self.project(), "production")
    }

    /// Returns the URL path of the rotation with `rest` appended, such as `/rotate`.
    pub(crate) fn path(&self, rest: &str) -> String {
        paths::rotation(&self.project(), "production", &self.name) + rest
    }

    /// Returns the history of the rotation, newest attempt first.
    pub(crate) async fn history(&self, owner: &Person) -> Vec<Value> {
        let history = owner.get(&self.path("/history")).await.is(200).json();
        history.as_array().unwrap().clone()
    }

    /// Runs the rotation through the API, and returns the history entry of the attempt.
    pub(crate) async fn rotate(&self, owner: &Person) -> Value {
        owner.post(&self.path("/rotate"), &json!({})).await.is(200).json()
    }

    /// Sends the request that starts the rotation, without waiting for the response.
    pub(crate) fn start_rotation(&self, owner: &Person) {
        let (owner, path) = (owner.clone(), self.path("/rotate"));
        tokio::spawn(async move { owner.try_post(&path, &json!({})).await });
    }

    /// Returns the credential that the secrets contain; `None` before the first successful
    /// rotation.
    pub(crate) async fn served(&self, owner: &Person) -> Option<Served> {
        let prefix = self.name.to_uppercase();
        let [username, password] = ["USERNAME", "PASSWORD"].map(|part| format!("{prefix}_{part}"));
        let secrets = owner.get(&(self.secrets() + "/export")).await.is(200).json();
        let value = |key: &str| {
            let list = secrets["secrets"].as_array().unwrap();
            let found = list.iter().find(|secret| secret["key"] == key)?;
            Some(found["value"].as_str().unwrap().to_owned())
        };
        Some(Served { username: value(&username)?, password: value(&password)? })
    }
}
