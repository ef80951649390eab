//! Builder of [`Service`].

use std::sync::Arc;

use super::Service;
use crate::crypto::{Key, RootKeys, StaticRootKey};
use crate::engine::{Options, Ports, StartError};
use crate::model::{Clock, SystemClock};
use crate::ports::epochs::EpochStore;
use crate::ports::identity::IdentityVerifier;
use crate::ports::mail::Mail;
use crate::ports::memory::WorkMemory;
use crate::ports::offload::{Inline, Offload};
use crate::ports::rotators::Rotators;
use crate::ports::timer::Timer;
use crate::ports::webhooks::WebhookSender;
use crate::store::Store;

/// Builder of a service. Only the store and the root key must be set; everything else has a
/// default.
#[must_use]
pub struct Builder {
    store: Arc<dyn Store>,
    root: Option<Arc<dyn RootKeys>>,
    previous_root: Option<Arc<dyn RootKeys>>,
    clock: Arc<dyn Clock>,
    identity: Option<Arc<dyn IdentityVerifier>>,
    mail: Option<Mail>,
    rotators: Option<Rotators>,
    webhooks: Option<Arc<dyn WebhookSender>>,
    offload: Arc<dyn Offload>,
    memory: Option<Arc<dyn WorkMemory>>,
    timer: Option<Arc<dyn Timer>>,
    epochs: Option<Arc<dyn EpochStore>>,
    options: Options,
}

impl Builder {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            root: None,
            previous_root: None,
            clock: Arc::new(SystemClock),
            identity: None,
            mail: None,
            rotators: None,
            webhooks: None,
            offload: Arc::new(Inline),
            memory: None,
            timer: None,
            epochs: None,
            options: Options::default(),
        }
    }

    /// Sets the root key, which encrypts the encryption keys of the instance. Without the same root
    /// key, the data in the store can never be decrypted again.
    pub fn root_key(self, key: &Key) -> Self {
        self.root(Arc::new(StaticRootKey::new(key)))
    }

    /// Sets the root key that an external service, such as a KMS, keeps and uses to encrypt and
    /// decrypt other keys.
    pub fn root(mut self, root: Arc<dyn RootKeys>) -> Self {
        self.root = Some(root);
        self
    }

    /// Sets the previous root key, accepted until [`rotate_root`](crate::keys::rotate_root) has
    /// re-wrapped the stored instance key with the current root key.
    pub fn previous_root(mut self, root: Arc<dyn RootKeys>) -> Self {
        self.previous_root = Some(root);
        self
    }

    /// Sets the options of the service.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Sets the clock. The default is the system clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the verifier of the identity provider's tokens.
    pub fn identity(mut self, verifier: Arc<dyn IdentityVerifier>) -> Self {
        self.identity = Some(verifier);
        self
    }

    /// Sets the mailer and the base URL of links in e-mails.
    pub fn mail(mut self, mail: Mail) -> Self {
        self.mail = Some(mail);
        self
    }

    /// Sets the drivers that rotate credentials.
    pub fn rotators(mut self, rotators: Rotators) -> Self {
        self.rotators = Some(rotators);
        self
    }

    /// Sets the HTTP client that sends webhook events.
    pub fn webhooks(mut self, sender: Arc<dyn WebhookSender>) -> Self {
        self.webhooks = Some(sender);
        self
    }

    /// Sets the runner of CPU-bound work. By default, such work runs on the calling thread.
    pub fn offload(mut self, offload: Arc<dyn Offload>) -> Self {
        self.offload = offload;
        self
    }

    /// Sets the memory budget of CPU-bound work. Without a budget, only the number of concurrent
    /// jobs is limited.
    pub fn memory(mut self, memory: Arc<dyn WorkMemory>) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Sets the timer for the time limit of operations. Without a timer, operations have no time
    /// limit.
    pub fn timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.timer = Some(timer);
        self
    }

    /// Sets the copy of the epoch outside the database. With it, the service does not start if the
    /// database was replaced by an earlier state of it.
    pub fn epochs(mut self, epochs: Arc<dyn EpochStore>) -> Self {
        self.epochs = Some(epochs);
        self
    }

    /// Opens the service. Creates the encryption keys of the instance if the store is empty.
    ///
    /// Fails, without writing anything, if there is no root key, if the encryption keys do not match
    /// the stored data, or if the database was replaced by an earlier state of it.
    pub async fn build(self) -> Result<Service, StartError> {
        let root = self.root.ok_or(StartError::NoRootKey)?;
        let ports = Ports {
            store: self.store,
            clock: self.clock,
            root,
            previous_root: self.previous_root,
            identity: self.identity,
            mail: self.mail,
            rotators: self.rotators,
            webhooks: self.webhooks,
            offload: self.offload,
            memory: self.memory,
            timer: self.timer,
            counters: None,
            epochs: self.epochs,
        };
        Service::open(ports, self.options).await
    }
}
