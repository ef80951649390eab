//! `serve`: the service, until it is told to stop.

use std::future::pending;
use std::io::{self, Write as _};
use std::sync::Arc;

use secrets_core::clock::Clock;
use secrets_core::{Ports, Service};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_rustls::TlsAcceptor;

use super::open;
use crate::accept::AcceptOptions;
use crate::client_address::Networks;
use crate::config::{Database, Exit, Failure, ServiceSettings, Settings};
use crate::server::Server;

pub(super) async fn run(
    settings: Settings,
    unknown: Vec<String>,
    clock: Arc<dyn Clock>,
) -> Result<(), Failure> {
    open::log(&settings.logs, &unknown)?;
    let tls = open::tls(settings.tls.as_ref())?;
    let ports = Ports {
        store: open::store(&settings.database).await?,
        clock: Arc::clone(&clock),
        root: open::root_key(settings.root_key.into_inner()),
        identity: open::identity(settings.issuer, Arc::clone(&clock))?,
        mail: open::mail(settings.service.mail.as_ref())?,
        rotators: Some(open::rotators(&settings.service.options, &clock)),
        webhooks: Some(open::webhooks(&settings.service.options.egress)?),
    };
    let options = settings.service.options.clone();
    let service = match settings.database {
        Database::Sqlite(_) => open::only_service(ports, options).await?,
        Database::Postgres(_) | Database::Memory => open::service(ports, options).await?,
    };
    let listener = open::listener(settings.service.listen).await?;
    if tls.is_none() && !settings.service.listen.ip().is_loopback() {
        tracing::warn!(
            "credentials and secrets travel unencrypted: put TLS in front, or give SECRETS_TLS_CERT"
        );
    }
    until_stopped(service, listener, tls, settings.service, clock).await
}

/// Answers requests until the process is told to end.
pub(super) async fn until_stopped(
    service: Arc<Service>,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    settings: ServiceSettings,
    clock: Arc<dyn Clock>,
) -> Result<(), Failure> {
    let address = listener.local_addr().map_or(settings.listen, |address| address);
    let uncounted = settings.trusted_proxies.clone().and(&Networks::loopback());
    let scheme = if tls.is_some() { "https" } else { "http" };
    let server = Server {
        service,
        clock,
        rates: settings.rates,
        proxies: settings.trusted_proxies,
        public_url: settings.public_url,
        envelope: settings.envelope,
        options: AcceptOptions { uncounted, ..AcceptOptions::default() },
        tls,
        runs_jobs: true,
    };
    let stop = told_to_stop();
    // The listener is bound: what connects from now on is answered.
    let _ = writeln!(io::stderr(), "listening on {scheme}://{address}");
    let drained = server.run(listener, stop).await.map_err(|error| {
        Failure::new(Exit::Configuration, format!("the table of routes is wrong: {error}"))
    })?;
    tracing::info!(cut = drained.cut, "stopped");
    Ok(())
}

/// Returns on SIGTERM or SIGINT, from the call on: not only once the future is polled.
fn told_to_stop() -> impl Future<Output = ()> {
    let wait = |kind| {
        let signal = signal(kind);
        async move {
            match signal {
                Ok(mut signal) => drop(signal.recv().await),
                // Then only SIGKILL stops us.
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
