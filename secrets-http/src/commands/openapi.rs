//! `openapi`: prints the OpenAPI document.

use std::sync::Arc;

use secrets_core::model::Clock;
use secrets_core::crypto::{Key, StaticRootKey};
use secrets_core::store::MemoryStore;
use secrets_core::engine::{Options, Ports};

use super::doctor::Nobody;
use super::{open, say};
use crate::api::Api;
use crate::config::Failure;
use crate::jobs::Scheduler;
use crate::openapi::document;
use crate::reply::Envelope;
use crate::routes;

/// Generates the document from the routes. They need a service, so an empty one is created
/// in memory.
pub(super) async fn print(clock: Arc<dyn Clock>) -> Result<(), Failure> {
    let ports = Ports {
        store: Arc::new(MemoryStore::new()),
        clock: Arc::clone(&clock),
        root: Arc::new(StaticRootKey::new(&Key::generate())),
        identity: Arc::new(Nobody),
        mail: None,
        rotators: None,
        webhooks: None,
    };
    let service = open::service(ports, Options::default()).await?;
    let scheduler = Scheduler::new(Arc::clone(&clock));
    let api = Api::new(service, clock, Envelope::Named);
    say(&format!("{:#}", document(&routes::table(&api, &scheduler))));
    Ok(())
}
