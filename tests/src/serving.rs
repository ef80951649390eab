//! Functions that start and stop the HTTP server of a test.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use secrets_core::Service;
use secrets_core::engine::Worker;
use secrets_core::model::{BaseUrl, ManualClock};
use secrets_core::runtime::WatchOptions;
use secrets_http::serve::accept::{AcceptOptions, Drained};
use secrets_http::serve::browser_sign_in::BrowserSignIn;
use secrets_http::serve::client_address::Networks;
use secrets_http::serve::gate::Rates;
use secrets_http::serve::memory::MemoryBudget;
use secrets_http::serve::reply::Envelope;
use secrets_http::serve::server::Server;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Handle of a running server: a channel that stops it, and the task that runs it.
pub(crate) struct Stop {
    pub(crate) stop: oneshot::Sender<()>,
    pub(crate) running: JoinHandle<Drained>,
}

/// Settings of a test server: trusted proxies, base URL of links, response envelope, background
/// workers, and sign-in of browsers.
pub(crate) type Settings =
    (Networks, Option<BaseUrl>, Envelope, Vec<Arc<dyn Worker>>, BrowserSignIn);

/// Options of watches. The intervals are a tenth of the defaults, so that tests of watches are short.
const WATCHES: WatchOptions = WatchOptions {
    limit: 100,
    poll_interval: Duration::from_millis(200),
    recheck_interval: Duration::from_secs(1),
};

/// Starts an HTTP server for a service on a free port. Returns the address and a handle that stops
/// the server.
pub(crate) async fn serve(
    service: &Arc<Service>,
    clock: Arc<ManualClock>,
    rates: Rates,
    (proxies, public_url, envelope, workers, sign_in): Settings,
) -> (SocketAddr, Stop) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = Server {
        has_dashboard: true,
        service: Arc::clone(service),
        clock,
        rates,
        proxies,
        public_url,
        envelope,
        options: AcceptOptions { watches: WATCHES, ..AcceptOptions::default() },
        sign_in,
        memory: Arc::new(MemoryBudget::new(256 << 20)),
        metrics: None,
        tls: None,
        workers,
    };
    let running = tokio::spawn(async move {
        let stopped = async { drop(stopped.await) };
        server.run(listener, stopped).await.unwrap()
    });
    (address, Stop { stop, running })
}
