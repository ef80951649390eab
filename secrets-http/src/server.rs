//! The server: a service, its routes and a listener, put together.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::Request;
use hyper::body::Incoming;
use secrets_core::Service;
use secrets_core::clock::Clock;
use secrets_core::links::BaseUrl;
use secrets_core::outbox::Channel;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::accept::{self, AcceptOptions, Drained};
use crate::api::Api;
use crate::client_address::Networks;
use crate::gate::{Gate, Rates};
use crate::host::Host;
use crate::jobs::{self, Scheduler};
use crate::links::Links;
use crate::reply::Envelope;
use crate::router::Router;
use crate::routes;

/// How much mail is on its way at once.
const MAILS: usize = 8;

/// How many deliveries to webhooks are on their way at once.
const WEBHOOKS: usize = 64;

/// What a server is made of.
pub struct Server {
    /// The service it gives access to.
    pub service: Arc<Service>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// How many requests it takes.
    pub rates: Rates,
    /// Whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed.
    pub proxies: Networks,
    /// Where links begin; where the request was sent, if that is not said.
    pub public_url: Option<BaseUrl>,
    /// Under which names clients find what answers hold.
    pub envelope: Envelope,
    /// The bounds on connections.
    pub options: AcceptOptions,
    /// TLS, where the server speaks it itself.
    pub tls: Option<TlsAcceptor>,
    /// Whether the server runs the background jobs too. A server without them never sends, rotates
    /// or purges by itself, and its health check fails after a minute.
    pub runs_jobs: bool,
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
        let mut jobs = JoinSet::new();
        if self.runs_jobs {
            jobs.spawn(jobs::rotate(Arc::clone(&self.service)));
            for (channel, most) in [(Channel::Mail, MAILS), (Channel::Webhooks, WEBHOOKS)] {
                jobs.spawn(jobs::deliver(Arc::clone(&self.service), channel, most));
            }
            jobs.spawn(scheduler.run(Arc::clone(&self.service)));
        }
        let answer = move |request: Request<Incoming>, peer: SocketAddr| {
            let host = Arc::clone(&host);
            async move { host.answer(request, peer.ip()).await }
        };
        let drained = accept::run(listener, self.tls, self.options, answer, stop).await;
        jobs.abort_all();
        jobs::report("write uses of tokens", self.service.write_token_uses().await);
        Ok(drained)
    }
}
