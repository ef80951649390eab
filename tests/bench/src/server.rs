//! Servers that are measured, as child processes.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use hyper::Method;
use serde_json::{Value, json};
use sha2::Sha256;
use tempfile::TempDir;

use crate::Failure;
use crate::http::{Call, Connection};

/// String before the address in the line that a server prints when it listens.
pub(crate) const ADDRESS: &str = "listening on http://";

const ISSUER_SECRET: &str = "a secret of the benchmark, of 32 bytes or more";

/// Running server, killed when dropped.
pub(crate) struct Server {
    /// Name of the server in the report.
    pub(crate) name: &'static str,
    /// Address of the server.
    pub(crate) address: SocketAddr,
    child: Option<Child>,
    /// Temporary folder that contains the SQLite database, if the server has one.
    folder: Option<TempDir>,
}

impl Server {
    /// Starts a minimal server (see [`limits`](crate::limits)) as a child process: the benchmark
    /// program itself with this subcommand.
    pub(crate) fn limit(name: &'static str, subcommand: &str) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(subcommand);
        Self::start(name, command, None)
    }

    /// Starts the service that is measured. `database` is the URL of its database; if it is empty,
    /// the service uses a new SQLite file. Variables of OpenTelemetry (`OTEL_…`) are passed on, so
    /// that the cost of traces can be measured.
    pub(crate) fn service(
        name: &'static str,
        program: &Path,
        database: &str,
    ) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let file = format!("sqlite://{}", folder.path().join("secrets.db").display());
        let mut command = Command::new(program);
        command
            .arg("serve")
            .env_clear()
            .envs(
                std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OTEL_")),
            )
            .env("SECRETS_LISTEN", "127.0.0.1:0")
            .env("SECRETS_DATABASE_URL", if database.is_empty() { &file } else { database })
            .env("SECRETS_ROOT_KEY", STANDARD.encode([7; 32]))
            .env("SECRETS_JWT_ISSUER", "https://issuer.test")
            .env("SECRETS_JWT_AUDIENCE", "secrets")
            .env("SECRETS_JWT_HS256_SECRET", ISSUER_SECRET)
            .env("SECRETS_RATE_LIMIT_PER_IP", "0")
            .env("SECRETS_RATE_LIMIT_PER_PRINCIPAL", "0")
            .env("SECRETS_RATE_LIMIT_PER_TEAM", "0");
        Self::start(name, command, Some(folder))
    }

    /// Returns a server for another secrets manager (a peer), which is already running. Its CPU
    /// time is unknown.
    pub(crate) fn peer(name: &'static str, address: SocketAddr) -> Self {
        Self { name, address, child: None, folder: None }
    }

    fn start(
        name: &'static str,
        mut command: Command,
        folder: Option<TempDir>,
    ) -> Result<Self, Failure> {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let mut lines = BufReader::new(child.stderr.take().ok_or("no standard error")?);
        let mut log = String::new();
        let address = loop {
            let from = log.len();
            if lines.read_line(&mut log)? == 0 {
                return Err(format!("{name} ended: {log}").into());
            }
            if let Some((_, address)) = log[from..].trim().split_once(ADDRESS) {
                break address.parse()?;
            }
        };
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Ok(Self { name, address, child: Some(child), folder })
    }

    /// Returns the CPU time that the server process has used; zero for another secrets manager (a
    /// peer), which the benchmark did not start.
    pub(crate) fn cpu(&self) -> Result<Duration, Failure> {
        let Some(child) = &self.child else { return Ok(Duration::ZERO) };
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
        // The name of the program may contain spaces; fields 14 and 15 are user and system time.
        let fields = stat.rsplit_once(')').ok_or("unreadable /proc/PID/stat")?.1;
        let times: Vec<u64> =
            fields.split_whitespace().skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
        let per_second = rustix::param::clock_ticks_per_second();
        Ok(Duration::from_secs_f64(times.iter().sum::<u64>() as f64 / per_second as f64))
    }

    /// Returns the resident memory of the server process in bytes; zero for another secrets manager
    /// (a peer), which the benchmark did not start.
    pub(crate) fn memory(&self) -> Result<u64, Failure> {
        let Some(child) = &self.child else { return Ok(0) };
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", child.id()))?;
        let pages: u64 = statm.split_whitespace().nth(1).ok_or("unreadable statm")?.parse()?;
        Ok(pages * rustix::param::page_size() as u64)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
        drop(self.folder.take());
    }
}

/// User of a service, with a project and a service token.
pub(crate) struct Account {
    server: SocketAddr,
    /// Identity token of the user.
    pub(crate) jwt: String,
    /// Service token for all projects.
    pub(crate) token: String,
    project: String,
}

impl Account {
    /// Signs in the user `bench`, and creates a service token and a project for the user.
    pub(crate) async fn new(server: &Server) -> Result<Self, Failure> {
        Self::of(server, "bench").await
    }

    /// Signs in the user whose identity token has this subject, and creates a service token and a
    /// project for the user.
    pub(crate) async fn of(server: &Server, subject: &str) -> Result<Self, Failure> {
        let jwt = jwt(subject)?;
        let project = String::new();
        let mut account = Self { server: server.address, jwt, token: String::new(), project };
        account.post("/api/v1/auth/sync", &json!({})).await?;
        let new =
            json!({ "name": "bench", "all_projects": true, "permissions": ["read", "write"] });
        account.token = text(&account.post("/api/v1/tokens", &new).await?, "token")?;
        account.project = account.new_project("Bench").await?;
        Ok(account)
    }

    /// Creates a project and returns its URL path.
    pub(crate) async fn new_project(&self, name: &str) -> Result<String, Failure> {
        let project = self.post("/api/v1/projects", &json!({ "name": name })).await?;
        Ok(format!("/api/v1/projects/{}", text(&project, "slug")?))
    }

    /// Creates an environment, which inherits from `parent` if given. Returns its ID.
    pub(crate) async fn environment(
        &self,
        name: &str,
        parent: Option<&str>,
    ) -> Result<String, Failure> {
        let mut new = json!({ "name": name });
        if let Some(parent) = parent {
            new["inherits_from"] = parent.into();
        }
        text(&self.post(&format!("{}/environments", self.project), &new).await?, "id")
    }

    /// Imports the secrets with these numbers into an environment; see [`key`] and [`secret`].
    pub(crate) async fn import(
        &self,
        environment: &str,
        numbers: std::ops::Range<u64>,
    ) -> Result<(), Failure> {
        let path = format!("{}/bulk", self.secrets(environment));
        for start in numbers.clone().step_by(100) {
            let batch = start..numbers.end.min(start + 100);
            let secrets: Vec<_> = batch.map(|number| secret(&key(number))).collect();
            self.post(&path, &json!({ "secrets": secrets, "overwrite": true })).await?;
        }
        Ok(())
    }

    /// Returns the URL path of the secrets of an environment.
    pub(crate) fn secrets(&self, environment: &str) -> String {
        format!("{}/environments/{environment}/secrets", self.project)
    }

    /// Sends a POST request as the user, and returns the JSON of the response. Opens a connection,
    /// because the service closes one that is idle during a measurement.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        let mut connection = Connection::open(self.server).await?;
        connection.json(&Call::send(Method::POST, path, &self.jwt, body)).await
    }
}

/// Returns the request body that creates a secret with this key and a value of 67 bytes.
pub(crate) fn secret(key: &str) -> Value {
    json!({ "key": key, "value": format!("postgres://app:{:0>40}@db.internal", key) })
}

/// Returns the secret key that contains this number, such as `KEY_000007`.
pub(crate) fn key(number: u64) -> String {
    format!("KEY_{number:06}")
}

fn text(object: &Value, field: &str) -> Result<String, Failure> {
    let text = object[field].as_str().ok_or_else(|| format!("no `{field}` in {object}"))?;
    Ok(text.to_owned())
}

/// Creates an identity token for a user, signed with the HMAC secret that the service trusts in the
/// benchmark and valid for a day.
fn jwt(subject: &str) -> Result<String, Failure> {
    let now = SystemTime::UNIX_EPOCH.elapsed()?.as_secs();
    let claims = json!({
        "iss": "https://issuer.test", "aud": "secrets", "sub": subject, "exp": now + 86_400,
        "email": format!("{subject}@example.com"), "email_verified": true,
    });
    let encode = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", encode(json!({ "alg": "HS256", "typ": "JWT" })), encode(claims));
    let mut mac = Hmac::<Sha256>::new_from_slice(ISSUER_SECRET.as_bytes())?;
    mac.update(signed.as_bytes());
    Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())))
}
