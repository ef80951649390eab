//! Builder of [`Service`].

use std::sync::Arc;

use super::Service;
use crate::crypto::RootKeys;
use crate::engine::{Options, Ports, StartError};
use crate::limits::SharedCounters;
use crate::model::Clock;
use crate::ports::epochs::EpochStore;
use crate::ports::identity::IdentityVerifier;
use crate::ports::mail::Mail;
use crate::ports::memory::WorkMemory;
use crate::ports::offload::Offload;
use crate::ports::rotators::Rotators;
use crate::ports::timer::Timer;
use crate::ports::webhooks::WebhookSender;
use crate::store::Store;

/// Builder of a service. Everything but the store and the root key has a default.
#[must_use]
pub struct Builder {
    ports: Ports,
    options: Options,
}

impl Builder {
    pub(super) fn new(store: Arc<dyn Store>, root: Arc<dyn RootKeys>) -> Self {
        Self { ports: Ports::new(store, root), options: Options::default() }
    }

    /// Sets the previous root key, accepted until [`rotate_root`](crate::keys::rotate_root) has
    /// re-wrapped the stored instance key with the current root key.
    pub fn previous_root(mut self, root: Arc<dyn RootKeys>) -> Self {
        self.ports.previous_root = Some(root);
        self
    }

    /// Sets the options of the service.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Sets the clock. The default is the system clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.ports.clock = clock;
        self
    }

    /// Sets the verifier of the identity provider's tokens.
    pub fn identity(mut self, verifier: Arc<dyn IdentityVerifier>) -> Self {
        self.ports.identity = Some(verifier);
        self
    }

    /// Sets the mailer and the base URL of links in e-mails.
    pub fn mail(mut self, mail: Mail) -> Self {
        self.ports.mail = Some(mail);
        self
    }

    /// Sets the drivers that rotate credentials.
    pub fn rotators(mut self, rotators: Rotators) -> Self {
        self.ports.rotators = Some(rotators);
        self
    }

    /// Sets the HTTP client that sends webhook events.
    pub fn webhooks(mut self, sender: Arc<dyn WebhookSender>) -> Self {
        self.ports.webhooks = Some(sender);
        self
    }

    /// Sets the runner of CPU-bound work. By default, such work runs on the calling thread.
    pub fn offload(mut self, offload: Arc<dyn Offload>) -> Self {
        self.ports.offload = offload;
        self
    }

    /// Sets the memory budget of CPU-bound work and of the secrets that operations hold. Without a
    /// budget, only the number of concurrent CPU-bound jobs is limited.
    pub fn memory(mut self, memory: Arc<dyn WorkMemory>) -> Self {
        self.ports.memory = Some(memory);
        self
    }

    /// Sets the timer for the time limit of operations. Without a timer, operations have no time
    /// limit.
    pub fn timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.ports.timer = Some(timer);
        self
    }

    /// Sets the rate-limit counters that the nodes share. Without them, each node counts by itself.
    pub fn counters(mut self, counters: Arc<dyn SharedCounters>) -> Self {
        self.ports.counters = Some(counters);
        self
    }

    /// Sets the copy of the epoch outside the database. With it, the service does not start if the
    /// database was replaced by an earlier state of it.
    pub fn epochs(mut self, epochs: Arc<dyn EpochStore>) -> Self {
        self.ports.epochs = Some(epochs);
        self
    }

    /// Opens the service. Creates the encryption keys of the instance if the store is empty.
    ///
    /// Fails, without writing anything, if the encryption keys do not match the stored data, or if
    /// the database was replaced by an earlier state of it.
    pub async fn build(self) -> Result<Service, StartError> {
        Service::open(self.ports, self.options).await
    }
}
