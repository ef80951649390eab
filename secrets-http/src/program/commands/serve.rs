//! `serve`: runs the service until it receives a signal to stop.

use std::future::pending;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use secrets_core::Service;
use secrets_core::engine::{Options, Ports};
use secrets_core::model::Clock;
use secrets_core::runtime::{TokioOffload, TokioTimer, WatchOptions};
use secrets_core::store::Store;
use secrets_core::workers;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::{open, root_key};
use crate::program::config::{Exit, Failure, ServiceSettings, Settings};
use crate::serve::accept::AcceptOptions;
use crate::serve::browser_sign_in::BrowserSignIn;
use crate::serve::client_address::Networks;
use crate::serve::descriptors;
use crate::serve::memory::{MemoryBudget, WorkBudget};
use crate::serve::server::Server;

pub(super) async fn run(
    settings: Settings,
    unknown: Vec<String>,
    clock: Arc<dyn Clock>,
) -> Result<(), Failure> {
    open::log(&settings.logs, &unknown)?;
    let tls = open::tls(settings.tls.as_ref())?;
    let verifier = open::identity(settings.issuer, Arc::clone(&clock))?;
    let sign_in = verifier.browser_sign_in(settings.sign_in);
    // Opened first, so that no database is created or migrated if the root keys are unavailable.
    let root_keys = root_key::open(settings.root_keys).await?;
    let store = open::store(&settings.database).await?;
    let is_only_node = settings.database.location.is_exclusive();
    let memory = Arc::new(MemoryBudget::new(settings.service.memory_budget));
    let ports = Ports {
        clock: Arc::clone(&clock),
        identity: Some(verifier.port()),
        mail: open::mail(settings.service.mail.as_ref())?,
        rotators: Some(open::rotators(&settings.service.options, &clock)),
        webhooks: Some(open::webhooks(&settings.service.options.egress)?),
        offload: Arc::new(TokioOffload),
        memory: Some(Arc::new(WorkBudget(Arc::clone(&memory)))),
        timer: Some(Arc::new(TokioTimer)),
        counters: open::counters(settings.redis, is_only_node).await,
        epochs: open::epochs(&settings.database),
        ..open::ports(Arc::clone(&store), root_keys)
    };
    let max_answer_bytes = MemoryBudget::max_answer_bytes(memory.size());
    let options = Options { max_answer_bytes, ..settings.service.options.clone() };
    let service = if is_only_node {
        open::only_service(ports, options).await?
    } else {
        open::service(ports, options).await?
    };
    let listener = open::listener(settings.service.listen).await?;
    // Fetch the keys in the background, because service tokens work without the issuer.
    tokio::spawn(async move {
        if let Err(reason) = verifier.warm().await {
            tracing::warn!(reason, "users cannot sign in until the issuer can be reached");
        }
    });
    if tls.is_none() && !settings.service.listen.ip().is_loopback() {
        tracing::warn!(
            "credentials and secrets are sent unencrypted: use a TLS proxy, or set SECRETS_TLS_CERT"
        );
    }
    until_stopped((service, store, memory, sign_in), listener, tls, settings.service, clock).await
}

/// Timeout for closing the database after the last request has ended.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Service to serve, its store, its memory budget, and the sign-in of browsers.
pub(super) type Served = (Arc<Service>, Arc<dyn Store>, Arc<MemoryBudget>, BrowserSignIn);

/// Serves requests until the process receives a signal to stop, and then closes the store.
pub(super) async fn until_stopped(
    (service, store, memory, sign_in): Served,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    settings: ServiceSettings,
    clock: Arc<dyn Clock>,
) -> Result<(), Failure> {
    let address = listener.local_addr().map_or(settings.listen, |address| address);
    let files = descriptors::raise_limit();
    let uncounted = settings.trusted_proxies.clone().and(&Networks::loopback());
    let scheme = if tls.is_some() { "https" } else { "http" };
    let metrics = open::metrics_listener(settings.metrics_listen).await?;
    if let Some(address) = metrics.as_ref().and_then(|listener| listener.local_addr().ok()) {
        let _ = writeln!(io::stderr(), "metrics on http://{address}/metrics");
    }
    let server = Server {
        metrics,
        memory,
        service,
        clock,
        rates: settings.rates,
        proxies: settings.trusted_proxies,
        public_url: settings.public_url,
        envelope: settings.envelope,
        has_dashboard: settings.has_dashboard,
        options: AcceptOptions {
            uncounted,
            watches: WatchOptions { limit: settings.watch_limit, ..WatchOptions::default() },
            shutdown_delay: settings.shutdown_delay,
            ..AcceptOptions::default()
        }
        .within_files(files),
        sign_in,
        tls,
        workers: workers::all(),
    };
    let stop = stop_signal();
    // The listener is bound, so connections from now on are accepted.
    let _ = writeln!(io::stderr(), "listening on {scheme}://{address}");
    let drained = server.run(listener, stop).await.map_err(|error| {
        Failure::new(Exit::Configuration, format!("the table of routes is invalid: {error}"))
    })?;
    match timeout(CLOSE_TIMEOUT, store.close()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Err(open::unusable(&error)),
        Err(_) => tracing::warn!("the database was still in use at the stop"),
    }
    tracing::info!(cut = drained.cut, "stopped");
    Ok(())
}

/// Returns a future that completes on SIGTERM or SIGINT. A signal that arrives after this call
/// counts, even before the future is first polled.
fn stop_signal() -> impl Future<Output = ()> {
    let wait = |kind| {
        let signal = signal(kind);
        async move {
            match signal {
                Ok(mut signal) => drop(signal.recv().await),
                // Without a signal handler, wait forever: the default action of the signal applies.
                Err(_) => pending().await,
            }
        }
    };
    let (terminate, interrupt) = (wait(SignalKind::terminate()), wait(SignalKind::interrupt()));
    async move {
        tokio::select! {
            () = terminate => {}
            () = interrupt => {}
        }
    }
}
