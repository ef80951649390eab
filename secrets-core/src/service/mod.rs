//! The service: the engine, with sign-in, health and verification.

mod authenticate;
mod health;
mod purge;
mod uses;
mod verify;

use std::ops::Deref;
use std::sync::Arc;

pub use health::Health;
pub use verify::VerifiedRecords;

use self::uses::Uses;
use crate::engine::{Engine, Options, Ports, StartError};

/// The secrets service.
pub struct Service {
    engine: Arc<Engine>,
    uses: Uses,
}

impl Service {
    /// Opens the service over its store. Creates the installation's keys if the store is empty.
    ///
    /// Fails, without writing anything, if the keys and the data do not belong together.
    pub async fn open(ports: Ports, options: Options) -> Result<Self, StartError> {
        let engine = Arc::new(Engine::open(ports, options).await?);
        Ok(Self { engine, uses: Uses::default() })
    }
}

impl Deref for Service {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}
