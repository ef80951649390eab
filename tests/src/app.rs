//! Test server, which listens on its own port in the process of the test.

mod build;

use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;

use chrono::TimeDelta;
use secrets_core::Service;
use secrets_core::crypto::StaticRootKey;
use secrets_core::engine::{Options, Ports, Worker};
use secrets_core::jwt::{DevKey, FixedVerifier};
use secrets_core::model::{BaseUrl, Clock, ManualClock, Role, ids};
use secrets_core::ports::identity::IdentityVerifier;
use secrets_core::ports::rotators::Timings;
use secrets_core::ports::timer::Timer;
use secrets_core::ports::webhooks::WebhookSender;
use secrets_core::runtime::{TokioOffload, TokioTimer, WatchOptions, WatchRegistry};
use secrets_core::store::{MemberRecord, Store};
use secrets_core::testing::rotator::MemoryDatabase;
use secrets_core::workers;
use secrets_http::serve::accept::{Drained, Stopping};
use secrets_http::serve::api::Api;
use secrets_http::serve::browser_sign_in::BrowserSignIn;
use secrets_http::serve::client_address::Networks;
use secrets_http::serve::gate::Rates;
use secrets_http::serve::memory::MemoryBudget;
use secrets_http::serve::reply::Envelope;

use crate::forged::forged;
use crate::mailer::{RecordingMailer, sent_by};
use crate::rotations::quick;
use crate::serving::{Stop, serve};
use crate::sign_in::SignIn;
use crate::stores::Kind;
use crate::{Client, Person};

pub use build::Build;

/// Running test server, with its clock, its store and other parts that tests use directly.
pub struct App {
    /// Kind of the server's store.
    pub kind: Kind,
    /// Address of the server.
    pub address: SocketAddr,
    /// Clock of the server, which only a test advances.
    pub clock: Arc<ManualClock>,
    /// Service that the server runs, for calling operations without HTTP.
    pub service: Arc<Service>,
    /// Store of the server, to inspect or change records directly.
    pub store: Arc<dyn Store>,
    /// Path of the SQLite file or URL of the PostgreSQL database; empty for a store in memory.
    pub location: String,
    /// Mailer that records messages instead of sending them. The server uses it if [`Build::mail`]
    /// was called.
    pub mailer: Arc<RecordingMailer>,
    /// Fake database in memory, to which all rotations of the server connect.
    pub database: Arc<MemoryDatabase>,
    /// Root key of the service.
    pub root: Arc<StaticRootKey>,
    pub(crate) signer: Arc<DevKey>,
    pub(crate) options: Options,
    pub(crate) public_url: Option<BaseUrl>,
    sign_in: SignIn,
    timings: Timings,
    sends_mail: bool,
    pub(crate) webhooks: Option<Arc<dyn WebhookSender>>,
    stop: Option<Stop>,
    guard: Arc<dyn Any + Send + Sync>,
}

impl App {
    /// Starts a server with an empty store of this kind, without rate limits.
    pub async fn start(kind: Kind) -> Self {
        Build::on(kind).start().await
    }

    /// Returns the ports (store, clock, mailer and other dependencies) with which a test can open
    /// another service with the same store.
    #[must_use]
    pub fn ports(&self) -> Ports {
        let clock: Arc<dyn Clock> = self.clock.clone();
        let verifier =
            FixedVerifier::new(self.signer.keys(), DevKey::expectations(), Arc::clone(&clock));
        Ports {
            store: Arc::clone(&self.store),
            clock,
            root: self.root.clone(),
            previous_root: None,
            identity: Some(Arc::new(verifier)),
            mail: self.sends_mail.then(|| sent_by(&self.mailer)),
            webhooks: self.webhooks.clone(),
            rotators: Some(quick(&self.database, &self.timings)),
            offload: Arc::new(TokioOffload),
            memory: None,
            timer: None,
            counters: None,
            epochs: None,
        }
    }

    /// Starts another server with the same records and without rate limits, as after a restart.
    /// With PostgreSQL, the new server opens the database itself; otherwise, the servers share the
    /// store object.
    pub async fn restarted(&self) -> Self {
        let store = match self.kind {
            Kind::Memory | Kind::Sqlite => Arc::clone(&self.store),
            Kind::Postgres => self.kind.at(&self.location).await,
        };
        self.over(store).await
    }

    /// Starts another server with this store and without rate limits. `store` must have the same
    /// records as the store of this server.
    pub async fn over(&self, store: Arc<dyn Store>) -> Self {
        self.with(Ports { store, ..self.ports() }).await
    }

    /// Starts another server like [`over`](Self::over), but with the time limits that the server
    /// program has for operations, and without background workers: only requests use the store.
    pub async fn with_time_limits_over(&self, store: Arc<dyn Store>) -> Self {
        let timer: Option<Arc<dyn Timer>> = Some(Arc::new(TokioTimer));
        self.with_workers(Ports { store, timer, ..self.ports() }, Vec::new()).await
    }

    /// Starts another server with the same records and without rate limits. It verifies identity
    /// tokens with this verifier.
    pub async fn verified_by(&self, verifier: Arc<dyn IdentityVerifier>) -> Self {
        self.with(Ports { identity: Some(verifier), ..self.ports() }).await
    }

    /// Starts another server with these ports (dependencies) and without rate limits.
    pub async fn with(&self, ports: Ports) -> Self {
        self.with_workers(ports, workers::all()).await
    }

    async fn with_workers(&self, ports: Ports, workers: Vec<Arc<dyn Worker>>) -> Self {
        let service = Service::open(ports, self.options.clone()).await.unwrap();
        let service = Arc::new(service);
        let rates = Rates { per_address: 0, per_principal: 0 };
        let sign_in = self.sign_in.build(&self.clock, &self.signer, self.public_url.as_ref());
        let public_url = self.public_url.clone();
        let seen = (Networks::default(), public_url, Envelope::Named, workers, sign_in);
        let (address, stop) = serve(&service, self.clock.clone(), rates, seen).await;
        Self {
            kind: self.kind,
            address,
            clock: Arc::clone(&self.clock),
            service,
            store: Arc::clone(&self.store),
            location: self.location.clone(),
            mailer: Arc::clone(&self.mailer),
            database: Arc::clone(&self.database),
            timings: self.timings,
            sends_mail: self.sends_mail,
            webhooks: self.webhooks.clone(),
            root: Arc::clone(&self.root),
            signer: Arc::clone(&self.signer),
            options: self.options.clone(),
            public_url: self.public_url.clone(),
            sign_in: self.sign_in.clone(),
            stop: Some(stop),
            guard: Arc::clone(&self.guard),
        }
    }

    /// Returns an [`Api`], from which a test can build the route table of the server.
    #[must_use]
    pub fn api(&self) -> Api {
        Api {
            service: Arc::clone(&self.service),
            clock: self.clock.clone(),
            envelope: Envelope::Named,
            has_dashboard: true,
            memory: Arc::new(MemoryBudget::new(0)),
            watches: Arc::new(WatchRegistry::new(
                Arc::clone(self.service.engine()),
                WatchOptions::default(),
            )),
            sign_in: Arc::new(BrowserSignIn::Off),
            stopping: Stopping::default(),
        }
    }

    /// Creates an HTTP client of the server without a credential.
    #[must_use]
    pub fn anonymous(&self) -> Client {
        Client::new(self.address, None)
    }

    /// Returns the objects for which background work fails, as `/health` reports them. Each has the
    /// kind of work, the ID of the object, and the number of failures.
    pub async fn failing(&self) -> Vec<(String, String, u64)> {
        let health = self.anonymous().get("/health").await.is(200).json();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let item = |item: &serde_json::Value| {
            (text(&item["work"]), text(&item["id"]), item["failures"].as_u64().unwrap())
        };
        health["failing"].as_array().unwrap().iter().map(item).collect()
    }

    /// Creates an HTTP client of the server that sends this credential.
    #[must_use]
    pub fn bearer(&self, credential: &str) -> Client {
        Client::new(self.address, Some(credential))
    }

    /// Creates an identity token for the user with this name, valid for a day.
    #[must_use]
    pub fn jwt(&self, name: &str) -> String {
        self.signer.sign(&format!("{name}@example.com"), self.clock.now()).unwrap()
    }

    /// Creates an identity token with these claims, signed with the key that the server trusts.
    #[must_use]
    pub fn forged(&self, claims: &serde_json::Value) -> String {
        forged(self.signer.seed(), claims)
    }

    /// Signs in the user with this name. Creates the account at the first sign-in.
    pub async fn person(&self, name: &str) -> Person {
        let client = self.bearer(&self.jwt(name));
        let user = client.post("/api/v1/auth/sync", &serde_json::json!({})).await.is(200).json();
        Person::new(client, &user)
    }

    /// Adds a user to a team, directly in the store. `person` is the user ID. Advances the clock by
    /// a second, so that no two members join at the same time.
    pub async fn join(&self, team: &str, person: &str, role: Role) {
        self.wait(TimeDelta::seconds(1));
        let (team, user) = (ids::parse(team).unwrap().into(), ids::parse(person).unwrap().into());
        let now = self.clock.now();
        let mut tx = self.store.begin().await.unwrap();
        let known = tx.user(user).await.unwrap().unwrap();
        let member = MemberRecord {
            team,
            user,
            role,
            email: known.email,
            name: known.name,
            avatar_url: known.avatar_url,
            created_at: now,
            updated_at: now,
        };
        tx.insert_member(&member).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Stops the server, and returns the number of connections that did not complete in time and
    /// were closed.
    pub async fn stop(&mut self) -> Drained {
        let Stop { stop, running } = self.stop.take().unwrap();
        let _ = stop.send(());
        running.await.unwrap()
    }

    /// Removes a user from a team, directly in the store. `person` is the user ID.
    pub async fn part(&self, team: &str, person: &str) {
        let (team, user) = (ids::parse(team).unwrap().into(), ids::parse(person).unwrap().into());
        let mut tx = self.store.begin().await.unwrap();
        tx.delete_member(team, user).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Advances the clock of the server by this duration.
    pub fn wait(&self, by: TimeDelta) {
        self.clock.advance(by);
    }
}

impl Drop for App {
    fn drop(&mut self) {
        if let Some(Stop { stop, .. }) = self.stop.take() {
            let _ = stop.send(());
        }
    }
}
