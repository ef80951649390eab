//! HTTP server that connects a service, its routes, its background workers and a listener.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use secrets_core::Service;
use secrets_core::engine::Worker;
use secrets_core::model::{BaseUrl, Clock};
use secrets_core::runtime::{Supervisor, WatchRegistry};
use secrets_core::workers;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::routes;
use crate::serve::accept::{self, AcceptOptions, Drained, RequestBody};
use crate::serve::api::Api;
use crate::serve::browser_sign_in::BrowserSignIn;
use crate::serve::client_address::Networks;
use crate::serve::gate::{Authenticator, Rates};
use crate::serve::host::Host;
use crate::serve::links::Links;
use crate::serve::memory::MemoryBudget;
use crate::serve::metrics::{self, RequestMetrics, Scrape, Sources};
use crate::serve::reply::Envelope;
use crate::serve::router::Router;

/// Timeout for writing the data that background work still holds in memory when the server stops.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);

/// HTTP server with its settings.
pub struct Server {
    /// Service that performs the operations.
    pub service: Arc<Service>,
    /// Clock that gives the current time.
    pub clock: Arc<dyn Clock>,
    /// Rate limits of addresses and principals.
    pub rates: Rates,
    /// Networks of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` headers are trusted.
    pub proxies: Networks,
    /// Base URL of links. If `None`, links use the scheme and host of the request.
    pub public_url: Option<BaseUrl>,
    /// Envelope setting: whether responses repeat their content in an additional field `data`.
    pub envelope: Envelope,
    /// True if the dashboard is served.
    pub has_dashboard: bool,
    /// Limits and timeouts of connections.
    pub options: AcceptOptions,
    /// Background workers that the server runs. Without them, no mail or webhook is sent, no
    /// database password is rotated and no deleted project is purged.
    pub workers: Vec<Arc<dyn Worker>>,
    /// Configured sign-in method for browsers.
    pub sign_in: BrowserSignIn,
    /// Memory budget for large request and response bodies. One account may use a quarter of it.
    pub memory: Arc<MemoryBudget>,
    /// Listener of the metrics, if they are served.
    pub metrics: Option<TcpListener>,
    /// TLS acceptor; `None` if this server itself does not terminate TLS.
    pub tls: Option<TlsAcceptor>,
}

impl Server {
    /// Serves requests and runs the background workers until `stop` completes, then waits for
    /// running requests.
    ///
    /// # Errors
    ///
    /// Fails if two routes conflict, which is a bug in the table of routes.
    pub async fn run(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()>,
    ) -> Result<Drained, matchit::InsertError> {
        let (service, clock) = (Arc::clone(&self.service), Arc::clone(&self.clock));
        let memory = self.memory;
        let (envelope, has_dashboard) = (self.envelope, self.has_dashboard);
        let sign_in = Arc::new(self.sign_in);
        let watches = WatchRegistry::new(Arc::clone(service.engine()), self.options.watches);
        let watches = Arc::new(watches);
        let supervisor = Supervisor::new(self.workers);
        let requests = RequestMetrics::default();
        let scraped = self.metrics.map(|listener| {
            let scrape = Scrape::new(Sources {
                requests: requests.clone(),
                service: Arc::clone(&service),
                supervisor: supervisor.clone(),
                memory: Arc::clone(&memory),
                watches: Arc::clone(&watches),
                started: clock.now(),
            });
            tokio::spawn(metrics::serve(listener, scrape, stopped(supervisor.clone())))
        });
        let refusals = service.engine().refusals().clone();
        let options = AcceptOptions { refusals, ..self.options };
        let stopping = options.stopping.clone();
        let api =
            Api { service, clock, envelope, has_dashboard, memory, watches, sign_in, stopping };
        let router = Router::new(routes::table(&api, &supervisor))?;
        let gate = Authenticator::new(
            Arc::clone(&self.service),
            Arc::clone(&self.clock),
            self.rates,
            requests,
        );
        let links = Links { configured: self.public_url, is_tls: self.tls.is_some() };
        let host = Arc::new(Host::new(router, gate, self.clock, self.proxies, links));
        let stop = delayed(stop, options.clone(), supervisor.clone());
        let engine = Arc::clone(self.service.engine());
        let running = tokio::spawn(async move { supervisor.run(engine).await });
        let answer = move |request: Request<RequestBody>, peer: SocketAddr| {
            let host = Arc::clone(&host);
            async move { host.answer(request, peer.ip()).await }
        };
        let drained = accept::run(listener, self.tls, options, answer, stop).await;
        drop(running.await);
        if let Some(scraped) = scraped {
            drop(scraped.await);
        }
        flush(&self.service).await;
        Ok(drained)
    }
}

/// Writes the data that background work still holds in memory. Gives up after 10 seconds.
async fn flush(service: &Service) {
    match timeout(FLUSH_TIMEOUT, workers::flush(service.engine())).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            let error = &error as &dyn std::error::Error;
            tracing::error!(error, "background work was not finished at the stop");
        }
        Err(_) => tracing::error!("background work was not finished in time at the stop"),
    }
}

/// Waits until `stop` completes and for the shutdown delay after it, and then stops the workers.
async fn delayed(stop: impl Future<Output = ()>, options: AcceptOptions, supervisor: Supervisor) {
    stop.await;
    options.stopping.begin();
    sleep(options.shutdown_delay).await;
    supervisor.stop();
}

/// Waits until [`Supervisor::stop`] has been called.
async fn stopped(supervisor: Supervisor) {
    drop(supervisor.stopped().wait_for(|stopped| *stopped).await);
}
