//! Function that opens an embedded service.

use std::sync::Arc;

use secrets_core::Service;
use secrets_core::crypto::Key;
use secrets_core::egress::{Dialer, EgressPolicy};
use secrets_core::engine::{Options, StartError};
use secrets_core::rotators::drivers;
use secrets_core::runtime::{Supervisor, TokioOffload, TokioTimer};
use secrets_core::store::{self, Location, Store};
use secrets_core::workers;

/// Open embedded service, with its store and its background workers.
pub(crate) struct Opened {
    pub(crate) service: Arc<Service>,
    /// Store of the service. It is closed after the last call.
    pub(crate) store: Arc<dyn Store>,
    pub(crate) background: Background,
}

/// Background workers of a service. Dropping this value stops the workers, so that a service that
/// was never closed does not keep its database open.
pub(crate) struct Background(pub(crate) Supervisor);

impl Drop for Background {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Opens an embedded service with the database at `location` and the root key `root`. Its rotations
/// may connect to the destinations that `egress` allows.
pub(crate) async fn open(
    location: Location,
    root: Key,
    egress: EgressPolicy,
) -> Result<Opened, StartError> {
    let gate = Arc::new(Dialer::new(egress.clone()));
    let store = store::open(&location).await?;
    let service = Service::builder(Arc::clone(&store), &root)
        .rotators(drivers::direct(&gate, Arc::new(TokioTimer)))
        .offload(Arc::new(TokioOffload))
        .timer(Arc::new(TokioTimer))
        .options(Options { egress, ..Options::default() })
        .build()
        .await?;
    if location.is_exclusive() {
        workers::take_over(service.engine()).await?;
    }
    let background = Background(Supervisor::new(workers::all()));
    Ok(Opened { service: Arc::new(service), store, background })
}
