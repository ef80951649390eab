//! Builder of a test server.

use std::sync::Arc;
use std::time::Duration;

use chrono::{TimeZone as _, Utc};
use secrets_core::Service;
use secrets_core::crypto::{Key, StaticRootKey};
use secrets_core::engine::{Options, Ports, Worker};
use secrets_core::jwt::{DevKey, FixedVerifier};
use secrets_core::model::{BaseUrl, Clock, ManualClock};
use secrets_core::ports::rotators::Timings;
use secrets_core::ports::webhooks::WebhookSender;
use secrets_core::runtime::TokioOffload;
use secrets_core::store::Store;
use secrets_core::testing::rotator::MemoryDatabase;
use secrets_core::workers;
use secrets_http::serve::client_address::Networks;
use secrets_http::serve::gate::Rates;
use secrets_http::serve::reply::Envelope;

use super::App;
use crate::mailer::{RecordingMailer, sent_by};
use crate::rotations::quick;
use crate::serving::serve;
use crate::sign_in::SignIn;
use crate::stores::Kind;

/// Builder of a test server.
pub struct Build {
    kind: Kind,
    /// Clock of the server that is built. Only a test advances it.
    pub clock: Arc<ManualClock>,
    pub(crate) options: Options,
    rates: Rates,
    proxies: Networks,
    public_url: Option<BaseUrl>,
    envelope: Envelope,
    timings: Timings,
    sends_mail: bool,
    workers: Vec<Arc<dyn Worker>>,
    pub(crate) webhooks: Option<Arc<dyn WebhookSender>>,
    pub(crate) sign_in: SignIn,
}

/// Maximum time that a request waits for a rotation. Rotations run a thousand times faster in
/// tests, so this is ten seconds of real time, which is enough even if many tests run in parallel.
const ROTATION_BUDGET: Duration = Duration::from_secs(10_000);

impl Build {
    /// Creates a builder for a server with this kind of store and without rate limits.
    #[must_use]
    pub fn on(kind: Kind) -> Self {
        let rates = Rates { per_address: 0, per_principal: 0 };
        let (options, proxies) = (Options::default(), Networks::default());
        let start = Utc.with_ymd_and_hms(2026, 11, 21, 12, 0, 10).unwrap();
        Self {
            kind,
            clock: Arc::new(ManualClock::new(start)),
            options,
            rates,
            proxies,
            public_url: None,
            envelope: Envelope::Named,
            timings: Timings { budget: ROTATION_BUDGET, ..Timings::default() },
            sends_mail: false,
            workers: workers::all(),
            webhooks: None,
            sign_in: SignIn::Off,
        }
    }

    /// Sets the plan of new teams, given by its name, such as `free`.
    #[must_use]
    pub fn plan(mut self, plan: &str) -> Self {
        self.options.plans = self.options.plans.by_default(plan).unwrap();
        self
    }

    /// Sets the options of the service.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Sets the rate limits of an IP address and of a user or service token, in requests per
    /// minute; 0 means no limit.
    #[must_use]
    pub fn rates(mut self, per_address: u32, per_principal: u32) -> Self {
        self.rates = Rates { per_address, per_principal };
        self
    }

    /// Sets the rate limit of a team, in requests per minute.
    #[must_use]
    pub fn team_rate(mut self, per_team: u32) -> Self {
        self.options.rate_limit_per_team = per_team;
        self
    }

    /// Sets the networks of trusted proxies, as a list separated by commas.
    #[must_use]
    pub fn proxies(mut self, list: &str) -> Self {
        self.proxies = Networks::parse(list).unwrap();
        self
    }

    /// Sets the envelope (format) of the server's responses.
    #[must_use]
    pub fn envelope(mut self, envelope: Envelope) -> Self {
        self.envelope = envelope;
        self
    }

    /// Sets the timings of rotations. In tests, rotations run a thousand times faster than these
    /// timings say.
    #[must_use]
    pub fn timings(mut self, timings: Timings) -> Self {
        self.timings = timings;
        self
    }

    /// Sets the public URL of the server, with which links to the server begin.
    #[must_use]
    pub fn public_url(mut self, url: &str) -> Self {
        self.public_url = Some(url.parse().unwrap());
        self
    }

    /// Makes the service send mail, with links that begin with [`MAIL_LINKS`](crate::MAIL_LINKS).
    #[must_use]
    pub fn mail(mut self) -> Self {
        self.sends_mail = true;
        self
    }

    /// Makes the server run these background workers instead of those of the service.
    #[must_use]
    pub fn workers(mut self, workers: Vec<Arc<dyn Worker>>) -> Self {
        self.workers = workers;
        self
    }

    /// Disables the background workers. They run at intervals of real time, which a test cannot
    /// control with the clock.
    #[must_use]
    pub fn without_workers(self) -> Self {
        self.workers(Vec::new())
    }

    /// Starts the server with these settings and an empty store.
    pub async fn start(self) -> App {
        let held = self.kind.open().await;
        let clock = self.clock;
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
            previous_root: None,
            identity: Some(Arc::new(verifier)),
            mail: self.sends_mail.then(|| sent_by(&mailer)),
            webhooks: self.webhooks.clone(),
            rotators: Some(quick(&database, &self.timings)),
            offload: Arc::new(TokioOffload),
            memory: None,
            timer: None,
            counters: None,
            epochs: None,
        };
        let service = Service::open(ports, self.options.clone()).await.unwrap();
        let service = Arc::new(service);
        let sign_in = self.sign_in.build(&clock, &signer, self.public_url.as_ref());
        let seen = (self.proxies, self.public_url.clone(), self.envelope, self.workers, sign_in);
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
            public_url: self.public_url,
            sign_in: self.sign_in,
            stop: Some(stop),
            guard: held.guard.into(),
        }
    }
}

impl App {
    /// Starts another server like [`over`](Self::over), but without background workers: only
    /// requests use the store.
    pub async fn without_workers_over(&self, store: Arc<dyn Store>) -> Self {
        self.with_workers(Ports { store, ..self.ports() }, Vec::new()).await
    }
}
