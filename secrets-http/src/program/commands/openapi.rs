//! `openapi`: prints the OpenAPI document.

use std::sync::Arc;

use secrets_core::crypto::{Key, StaticRootKey};
use secrets_core::engine::{Options, Ports};
use secrets_core::model::Clock;
use secrets_core::runtime::{Supervisor, WatchOptions, WatchRegistry};
use secrets_core::store::MemoryStore;

use super::{open, say};
use crate::openapi::document;
use crate::program::config::Failure;
use crate::routes;
use crate::serve::accept::Stopping;
use crate::serve::api::Api;
use crate::serve::browser_sign_in::BrowserSignIn;
use crate::serve::memory::MemoryBudget;
use crate::serve::reply::Envelope;

/// Generates the document from the routes and prints it. The routes need a service, so a service
/// with an empty store in memory is created.
pub(super) async fn print(clock: Arc<dyn Clock>) -> Result<(), Failure> {
    let root = Arc::new(StaticRootKey::new(&Key::generate()));
    let ports = Ports::new(Arc::new(MemoryStore::new()), root);
    let service = open::service(ports, Options::default()).await?;
    let supervisor = Supervisor::new(Vec::new());
    let memory = Arc::new(MemoryBudget::new(0));
    let (envelope, sign_in) = (Envelope::Named, Arc::new(BrowserSignIn::Off));
    let watches = WatchRegistry::new(Arc::clone(service.engine()), WatchOptions::default());
    let (has_dashboard, watches) = (false, Arc::new(watches));
    let stopping = Stopping::default();
    let api = Api { service, clock, envelope, has_dashboard, memory, watches, sign_in, stopping };
    say(&format!("{:#}", document(&routes::table(&api, &supervisor), Envelope::Named)));
    Ok(())
}
