//! The service: the engine with authentication, health checks and verification of all records.

mod authenticate;
mod builder;
mod health;
mod manifests;
mod sizes;
mod verify;

use std::sync::Arc;

pub use builder::Builder;
pub use health::{HEALTH, Health};
pub use manifests::MANIFESTS;
pub use sizes::{NearLimit, Sizes, sizes};
pub use verify::VerifiedRecords;

use zeroize::Zeroizing;

use crate::access::accounts::Accounts;
use crate::bundle::{Signer, SigningKey};
use crate::crypto::{ClientState, RootKeys, Undecryptable};
use crate::engine::{Caller, Engine, Operation, Options, Ports, StartError, Task};
use crate::model::Result;
use crate::store::Store;
use crate::tokens::uses::CredentialUses;

/// The secrets service: authenticates callers and performs their operations.
///
/// Cheap to share behind an [`Arc`]. Background work, such as appending to the audit chains, runs
/// only while the host application runs the [`workers`](crate::workers).
///
/// ```
/// use std::sync::Arc;
///
/// use secrets_core::crypto::Key;
/// use secrets_core::model::{Identity, Origin};
/// use secrets_core::projects::ListProjects;
/// use secrets_core::store::MemoryStore;
/// use secrets_core::service::Service;
///
/// # futures_executor::block_on(async {
/// let store = Arc::new(MemoryStore::new());
/// let service = Service::builder(store, &Key::generate()).build().await?;
/// let ada = Identity::new("https://login.example.com", "ada", "ada@example.com");
/// let caller = service.sign_in(ada, Origin::default()).await?;
/// assert!(service.perform(&caller, ListProjects).await?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct Service {
    engine: Arc<Engine>,
    uses: Arc<CredentialUses>,
    accounts: Arc<Accounts>,
}

/// Purpose of the key that encrypts the state of an unfinished browser sign-in.
const SIGN_IN: &str = "sign-in";

impl Service {
    /// Starts building a service that uses this store and this root key: a [`Key`], or a key that
    /// an external service, such as a KMS, keeps ([`RootKeys`]). The root key encrypts the
    /// encryption keys of the instance. Without the same root key, the data in the store can never
    /// be decrypted again.
    ///
    /// [`Key`]: crate::crypto::Key
    pub fn builder(store: Arc<dyn Store>, root: impl Into<Arc<dyn RootKeys>>) -> Builder {
        Builder::new(store, root.into())
    }

    /// Opens the service. Creates the encryption keys of the instance if the store is empty.
    ///
    /// Fails, without writing anything, if the encryption keys do not match the stored data, or if
    /// the database was replaced by an earlier state of it.
    pub async fn open(ports: Ports, options: Options) -> std::result::Result<Self, StartError> {
        let engine = Arc::new(Engine::open(ports, options).await?);
        let (uses, accounts) = (engine.shared(), engine.shared());
        Ok(Self { engine, uses, accounts })
    }

    /// Checks the health of the database, the encryption and the audit log.
    pub async fn health(&self) -> Health {
        health::check(&self.engine).await
    }

    /// Returns the public key that verifies the signatures of this instance's bundles. Clients can
    /// store the key and accept only bundles signed with it.
    #[must_use]
    pub fn bundle_signer(&self) -> Signer {
        SigningKey::of(self.engine.keyring().signing()).signer()
    }

    /// Encrypts the state of an unfinished sign-in, which the browser keeps. Every node of the
    /// instance can decrypt the state.
    #[must_use]
    pub fn seal_sign_in(&self, state: &[u8]) -> String {
        ClientState::of(self.engine.keyring(), SIGN_IN).seal(state)
    }

    /// Decrypts the state of an unfinished sign-in. Fails if the state was changed, or if another
    /// instance encrypted it.
    pub fn open_sign_in(
        &self,
        sealed: &str,
    ) -> std::result::Result<Zeroizing<Vec<u8>>, Undecryptable> {
        ClientState::of(self.engine.keyring(), SIGN_IN).open(sealed)
    }

    /// Returns the engine, for background work and for functions such as
    /// [`audit::verify`](crate::audit::verify).
    #[must_use]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Performs an operation: authorizes the caller, runs the operation and records it in the audit
    /// log. If the operation fails, nothing is changed.
    pub async fn perform<O: Operation>(&self, caller: &Caller, operation: O) -> Result<O::Output> {
        self.engine.perform(caller, operation).await
    }

    /// Runs a task: one operation, or several operations with waits between them. The host
    /// application must await the future to its end, even if the client disconnects: dropping it
    /// would stop the task halfway.
    pub async fn run<T: Task>(&self, caller: &Caller, task: T) -> Result<T::Output> {
        self.admit::<T>(caller).await?;
        task.run(&self.engine, caller).await
    }
}
