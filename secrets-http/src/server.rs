//! The server: a service, its routes and a listener, put together.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::Request;
use hyper::body::Incoming;
use secrets_core::Service;
use secrets_core::clock::Clock;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::accept::{self, AcceptOptions, Drained};
use crate::api::Api;
use crate::client_address::Networks;
use crate::gate::{Gate, Rates};
use crate::host::Host;
use crate::jobs::{self, Scheduler};
use crate::router::Router;
use crate::routes;

/// What a server is made of.
pub struct Server {
    /// The service it gives access to.
    pub service: Arc<Service>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// How many requests it takes.
    pub rates: Rates,
    /// Whose `X-Forwarded-For` is believed.
    pub proxies: Networks,
    /// The bounds on connections.
    pub options: AcceptOptions,
    /// TLS, where the server speaks it itself.
    pub tls: Option<TlsAcceptor>,
}

impl Server {
    /// Answers requests until `stop`, then lets those under way finish.
    ///
    /// # Errors
    ///
    /// When two routes exclude each other, which is a mistake in our table.
    pub async fn run(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()>,
    ) -> Result<Drained, matchit::InsertError> {
        let api = Api { service: Arc::clone(&self.service), clock: Arc::clone(&self.clock) };
        let scheduler = Scheduler::new(Arc::clone(&self.clock));
        let router = Router::new(routes::table(&api, &scheduler))?;
        let gate = Gate::new(Arc::clone(&self.service), Arc::clone(&self.clock), self.rates);
        let host = Host::new(router, gate, self.clock, self.proxies, self.tls.is_some());
        let host = Arc::new(host);

        let jobs = tokio::spawn(scheduler.run(Arc::clone(&self.service)));
        let answer = move |request: Request<Incoming>, peer: SocketAddr| {
            let host = Arc::clone(&host);
            async move { host.answer(request, peer.ip()).await }
        };
        let drained = accept::run(listener, self.tls, self.options, answer, stop).await;
        jobs.abort();
        jobs::write_token_uses(&self.service).await;
        Ok(drained)
    }
}
