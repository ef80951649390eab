//! A server on a socket of its own.

use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use chrono::{TimeDelta, TimeZone, Utc};
use secrets_core::access::Role;
use secrets_core::clock::{Clock, ManualClock};
use secrets_core::crypto::{Key, StaticRootKey};
use secrets_core::ids;
use secrets_core::jwt::DevKey;
use secrets_core::links::BaseUrl;
use secrets_core::rotations::Timings;
use secrets_core::rotations::webhooks::WebhookSender;
use secrets_core::store::{MemberRecord, Store};
use secrets_core::testing::rotator::MemoryDatabase;
use secrets_core::{Options, Ports, Service};
use secrets_http::accept::{AcceptOptions, Drained};
use secrets_http::api::Api;
use secrets_http::client_address::Networks;
use secrets_http::gate::Rates;
use secrets_http::identity::FixedVerifier;
use secrets_http::reply::Envelope;
use secrets_http::server::Server;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::forged::forged;
use crate::mailer::{RecordingMailer, sent_by};
use crate::rotations::quick;
use crate::stores::Kind;
use crate::{Client, Person};

/// A server, and what a test needs beside it.
pub struct App {
    /// The kind of its store.
    pub kind: Kind,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its clock, which moves only when it is told.
    pub clock: Arc<ManualClock>,
    /// The service, for what has no endpoint.
    pub service: Arc<Service>,
    /// The store, for what is to be looked at or spoilt behind the service's back.
    pub store: Arc<dyn Store>,
    /// Where an SQL store's data are: a path or a URL.
    pub location: String,
    /// What would be sent as mail, where the server was built to send mail.
    pub mailer: Arc<RecordingMailer>,
    /// The database whose credentials are rotated, whatever a rotation says.
    pub database: Arc<MemoryDatabase>,
    /// The root key.
    pub root: Arc<StaticRootKey>,
    signer: Arc<DevKey>,
    pub(crate) options: Options,
    timings: Timings,
    sends_mail: bool,
    pub(crate) webhooks: Option<Arc<dyn WebhookSender>>,
    stop: Option<Stop>,
    guard: Arc<dyn Any + Send + Sync>,
}

/// What ends a server.
struct Stop {
    stop: oneshot::Sender<()>,
    running: JoinHandle<Drained>,
}

/// How a server is to be.
pub struct Build {
    kind: Kind,
    pub(crate) options: Options,
    rates: Rates,
    proxies: Networks,
    public_url: Option<BaseUrl>,
    envelope: Envelope,
    timings: Timings,
    sends_mail: bool,
    runs_jobs: bool,
    pub(crate) webhooks: Option<Arc<dyn WebhookSender>>,
}

/// How long whoever asks for a rotation waits: for ten seconds, as time is a thousand times as quick
/// there, and tests that run beside others are slow.
const PATIENCE: Duration = Duration::from_secs(10_000);

impl Build {
    /// A server without limits.
    #[must_use]
    pub fn on(kind: Kind) -> Self {
        let rates = Rates { per_address: 0, per_principal: 0 };
        let (options, proxies) = (Options::default(), Networks::default());
        Self {
            kind,
            options,
            rates,
            proxies,
            public_url: None,
            envelope: Envelope::Named,
            timings: Timings { budget: PATIENCE, ..Timings::default() },
            sends_mail: false,
            runs_jobs: true,
            webhooks: None,
        }
    }

    /// New teams are on this plan.
    #[must_use]
    pub fn plan(mut self, plan: &str) -> Self {
        self.options.plans = self.options.plans.by_default(plan).unwrap();
        self
    }

    /// The service's options.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// So many requests a minute.
    #[must_use]
    pub fn rates(mut self, per_address: u32, per_principal: u32) -> Self {
        self.rates = Rates { per_address, per_principal };
        self
    }

    /// These are believed about whom they forward for.
    #[must_use]
    pub fn proxies(mut self, list: &str) -> Self {
        self.proxies = Networks::parse(list).unwrap();
        self
    }

    /// Answers hold things under these names.
    #[must_use]
    pub fn envelope(mut self, envelope: Envelope) -> Self {
        self.envelope = envelope;
        self
    }

    /// Rotations take this long, a thousand times as quick.
    #[must_use]
    pub fn timings(mut self, timings: Timings) -> Self {
        self.timings = timings;
        self
    }

    /// Links begin here.
    #[must_use]
    pub fn public_url(mut self, url: &str) -> Self {
        self.public_url = Some(url.parse().unwrap());
        self
    }

    /// It sends mail, whose links begin at [`MAIL_LINKS`](crate::MAIL_LINKS).
    #[must_use]
    pub fn mail(mut self) -> Self {
        self.sends_mail = true;
        self
    }

    /// Background jobs, which go by real time, do not run beside the test.
    #[must_use]
    pub fn without_jobs(mut self) -> Self {
        self.runs_jobs = false;
        self
    }

    /// Starts it.
    pub async fn start(self) -> App {
        let held = self.kind.open().await;
        let clock =
            Arc::new(ManualClock::new(Utc.with_ymd_and_hms(2026, 11, 21, 12, 0, 10).unwrap()));
        let root = Arc::new(StaticRootKey::new(&Key::generate()));
        let signer = DevKey::generate().unwrap();
        let shared: Arc<dyn Clock> = clock.clone();
        let verifier = FixedVerifier::new(signer.keys(), DevKey::expectations(), shared);
        let mailer = Arc::new(RecordingMailer::default());
        let database = MemoryDatabase::new();
        let ports = Ports {
            store: Arc::clone(&held.store),
            clock: clock.clone(),
            root: root.clone(),
            identity: Arc::new(verifier),
            mail: self.sends_mail.then(|| sent_by(&mailer)),
            webhooks: self.webhooks.clone(),
            rotators: Some(quick(&database, &self.timings)),
        };
        let service = Service::open(ports, self.options.clone()).await.unwrap();
        let service = Arc::new(service);
        let seen = (self.proxies, self.public_url, self.envelope, self.runs_jobs);
        let (address, stop) = serve(&service, clock.clone(), self.rates, seen).await;
        App {
            kind: self.kind,
            address,
            clock,
            service,
            store: held.store,
            location: held.location,
            mailer,
            database,
            timings: self.timings,
            sends_mail: self.sends_mail,
            webhooks: self.webhooks,
            root,
            signer: Arc::new(signer),
            options: self.options,
            stop: Some(stop),
            guard: held.guard.into(),
        }
    }
}

/// Puts a service on a socket of its own.
async fn serve(
    service: &Arc<Service>,
    clock: Arc<ManualClock>,
    rates: Rates,
    (proxies, public_url, envelope, runs_jobs): (Networks, Option<BaseUrl>, Envelope, bool),
) -> (SocketAddr, Stop) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = Server {
        service: Arc::clone(service),
        clock,
        rates,
        proxies,
        public_url,
        envelope,
        options: AcceptOptions::default(),
        tls: None,
        runs_jobs,
    };
    let running = tokio::spawn(async move {
        let stopped = async { drop(stopped.await) };
        server.run(listener, stopped).await.unwrap()
    });
    (address, Stop { stop, running })
}

impl App {
    /// A server without limits, over an empty store.
    pub async fn start(kind: Kind) -> Self {
        Build::on(kind).start().await
    }

    /// The world outside, as another service over the same store would have it.
    #[must_use]
    pub fn ports(&self) -> Ports {
        let clock: Arc<dyn Clock> = self.clock.clone();
        let verifier =
            FixedVerifier::new(self.signer.keys(), DevKey::expectations(), Arc::clone(&clock));
        Ports {
            store: Arc::clone(&self.store),
            clock,
            root: self.root.clone(),
            identity: Arc::new(verifier),
            mail: self.sends_mail.then(|| sent_by(&self.mailer)),
            webhooks: self.webhooks.clone(),
            rotators: Some(quick(&self.database, &self.timings)),
        }
    }

    /// Another server without rate limits over the same records, as there is one after a restart.
    /// The database is opened again, where that is possible while the first server has it open.
    pub async fn restarted(&self) -> Self {
        let store = match self.kind {
            Kind::Memory | Kind::Sqlite => Arc::clone(&self.store),
            Kind::Postgres => self.kind.at(&self.location).await,
        };
        self.over(store).await
    }

    /// Another server without rate limits over this store, which has the same records.
    pub async fn over(&self, store: Arc<dyn Store>) -> Self {
        let ports = Ports { store, ..self.ports() };
        let service = Service::open(ports, self.options.clone()).await.unwrap();
        let service = Arc::new(service);
        let rates = Rates { per_address: 0, per_principal: 0 };
        let seen = (Networks::default(), None, Envelope::Named, true);
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
            stop: Some(stop),
            guard: Arc::clone(&self.guard),
        }
    }

    /// What routes are made with.
    #[must_use]
    pub fn api(&self) -> Api {
        Api::new(Arc::clone(&self.service), self.clock.clone(), Envelope::Named)
    }

    /// Whoever sends no credential.
    #[must_use]
    pub fn anonymous(&self) -> Client {
        Client::new(self.address, None)
    }

    /// Whoever sends this credential.
    #[must_use]
    pub fn bearer(&self, credential: &str) -> Client {
        Client::new(self.address, Some(credential))
    }

    /// A token of the identity provider for this person, valid for a day.
    #[must_use]
    pub fn jwt(&self, name: &str) -> String {
        self.signer.sign(&format!("{name}@example.com"), self.clock.now()).unwrap()
    }

    /// A token that the identity provider's key signs, whatever it claims.
    #[must_use]
    pub fn forged(&self, claims: &serde_json::Value) -> String {
        forged(self.signer.seed(), claims)
    }

    /// A person who has signed in.
    pub async fn person(&self, name: &str) -> Person {
        let client = self.bearer(&self.jwt(name));
        let user = client.post("/api/v1/auth/sync", &serde_json::json!({})).await.is(200).json();
        Person::new(client, &user)
    }

    /// Makes a person, by id, a member of a team, a second after whoever joined before. There is no
    /// endpoint for it yet.
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

    /// Stops the server, and gives how it ended.
    pub async fn stop(&mut self) -> Drained {
        let Stop { stop, running } = self.stop.take().unwrap();
        let _ = stop.send(());
        running.await.unwrap()
    }

    /// Takes a person, by id, out of a team.
    pub async fn part(&self, team: &str, person: &str) {
        let (team, user) = (ids::parse(team).unwrap().into(), ids::parse(person).unwrap().into());
        let mut tx = self.store.begin().await.unwrap();
        tx.delete_member(team, user).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Moves time.
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
