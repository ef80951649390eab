//! A server on a socket of its own.

use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;

use chrono::{TimeDelta, TimeZone, Utc};
use secrets_core::clock::{Clock, ManualClock};
use secrets_core::crypto::{Key, StaticRootKey};
use secrets_core::jwt::DevKey;
use secrets_core::limits::Plan;
use secrets_core::store::Store;
use secrets_core::{Options, Ports, Service};
use secrets_http::accept::AcceptOptions;
use secrets_http::client_address::Networks;
use secrets_http::gate::Rates;
use secrets_http::identity::FixedVerifier;
use secrets_http::server::Server;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::stores::Kind;
use crate::{Client, Person};

/// A server, and what a test needs beside it.
pub struct App {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its clock, which moves only when it is told.
    pub clock: Arc<ManualClock>,
    /// The service, for what has no endpoint.
    pub service: Arc<Service>,
    /// The store, for what is to be looked at or spoilt behind the service's back.
    pub store: Arc<dyn Store>,
    /// The root key.
    pub root: Arc<StaticRootKey>,
    signer: DevKey,
    stop: Option<oneshot::Sender<()>>,
    _guard: Box<dyn Any + Send + Sync>,
}

/// How a server is to be.
pub struct Build {
    kind: Kind,
    options: Options,
    rates: Rates,
    proxies: Networks,
}

impl Build {
    /// A server without limits.
    #[must_use]
    pub fn on(kind: Kind) -> Self {
        let rates = Rates { per_address: 0, per_principal: 0 };
        Self { kind, options: Options::default(), rates, proxies: Networks::default() }
    }

    /// New teams are on this plan.
    #[must_use]
    pub fn plan(mut self, plan: Plan) -> Self {
        self.options.default_plan = plan;
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

    /// Starts it.
    pub async fn start(self) -> App {
        let held = self.kind.open().await;
        let clock =
            Arc::new(ManualClock::new(Utc.with_ymd_and_hms(2026, 11, 21, 12, 0, 10).unwrap()));
        let root = Arc::new(StaticRootKey::new(&Key::generate()));
        let signer = DevKey::generate().unwrap();
        let shared: Arc<dyn Clock> = clock.clone();
        let verifier =
            FixedVerifier::new(signer.keys(), DevKey::expectations(), Arc::clone(&shared));
        let ports = Ports {
            store: Arc::clone(&held.store),
            clock: Arc::clone(&shared),
            root: root.clone(),
            identity: Arc::new(verifier),
        };
        let service = Arc::new(Service::open(ports, self.options).await.unwrap());

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let server = Server {
            service: Arc::clone(&service),
            clock: shared,
            rates: self.rates,
            proxies: self.proxies,
            options: AcceptOptions::default(),
            tls: None,
        };
        tokio::spawn(server.run(listener, async {
            let _ = stopped.await;
        }));
        App {
            address,
            clock,
            service,
            store: held.store,
            root,
            signer,
            stop: Some(stop),
            _guard: held.guard,
        }
    }
}

impl App {
    /// A server without limits, over an empty store.
    pub async fn start(kind: Kind) -> Self {
        Build::on(kind).start().await
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

    /// A person who has signed in.
    pub async fn person(&self, name: &str) -> Person {
        let client = self.bearer(&self.jwt(name));
        let user = client.post("/api/v1/auth/sync", &serde_json::json!({})).await.is(200).json();
        Person::new(client, &user)
    }

    /// Moves time.
    pub fn wait(&self, by: TimeDelta) {
        self.clock.advance(by);
    }
}

impl Drop for App {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }
}
