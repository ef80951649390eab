//! The server: connects a service, its routes, its background jobs and a listener.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::Request;
use hyper::body::Incoming;
use secrets_core::Service;
use secrets_core::model::{BaseUrl, Clock};
use secrets_core::outbox::Channel;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::accept::{AcceptOptions, Drained, self};
use crate::api::Api;
use crate::client_address::Networks;
use crate::gate::{Gate, Rates};
use crate::host::Host;
use crate::jobs::{Scheduler, self};
use crate::links::Links;
use crate::reply::Envelope;
use crate::router::Router;
use crate::routes;

/// Maximum number of concurrent mail deliveries.
const MAX_MAIL_DELIVERIES: usize = 8;

/// Maximum number of concurrent webhook deliveries.
const MAX_WEBHOOK_DELIVERIES: usize = 64;

/// HTTP server with its settings.
pub struct Server {
    /// Service that performs the operations.
    pub service: Arc<Service>,
    /// Clock.
    pub clock: Arc<dyn Clock>,
    /// Rate limits.
    pub rates: Rates,
    /// Networks of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` headers are trusted.
    pub proxies: Networks,
    /// Base URL of links. If `None`, the scheme and host of the request.
    pub public_url: Option<BaseUrl>,
    /// Field names that wrap the output in responses.
    pub envelope: Envelope,
    /// Limits and timeouts of connections.
    pub options: AcceptOptions,
    /// TLS acceptor, if the server itself terminates TLS.
    pub tls: Option<TlsAcceptor>,
}

impl Server {
    /// Serves requests and runs the background jobs until `stop` completes, then waits for running
    /// requests.
    ///
    /// # Errors
    ///
    /// Fails if two routes conflict, which is a bug in the table of routes.
    pub async fn run(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()>,
    ) -> Result<Drained, matchit::InsertError> {
        let api = Api::new(Arc::clone(&self.service), Arc::clone(&self.clock), self.envelope);
        let scheduler = Scheduler::new(Arc::clone(&self.clock));
        let router = Router::new(routes::table(&api, &scheduler))?;
        let gate = Gate::new(Arc::clone(&self.service), Arc::clone(&self.clock), self.rates);
        let links = Links { configured: self.public_url, is_tls: self.tls.is_some() };
        let host = Host::new(router, gate, self.clock, self.proxies, links);
        let host = Arc::new(host);

        let stopping = scheduler.clone();
        let stop = async move {
            stop.await;
            stopping.stop();
        };
        let rotations = tokio::spawn(jobs::rotate(Arc::clone(&self.service)));
        let deliveries =
            [(Channel::Mail, MAX_MAIL_DELIVERIES), (Channel::Webhooks, MAX_WEBHOOK_DELIVERIES)]
                .map(|(channel, max_in_flight)| {
                    tokio::spawn(jobs::deliver(Arc::clone(&self.service), channel, max_in_flight))
                });
        let jobs = tokio::spawn(scheduler.run(Arc::clone(&self.service)));
        let answer = move |request: Request<Incoming>, peer: SocketAddr| {
            let host = Arc::clone(&host);
            async move { host.answer(request, peer.ip()).await }
        };
        let drained = accept::run(listener, self.tls, self.options, answer, stop).await;
        rotations.abort();
        deliveries.iter().for_each(JoinHandle::abort);
        jobs.abort();
        jobs::report("write last-used times of tokens", self.service.write_token_uses().await);
        Ok(drained)
    }
}
