//! Health checks of the service.

use chrono::TimeDelta;

use super::Service;
use crate::crypto::{Key, Plaintext, ProjectKey, Purpose, RecordContext, Sealed};
use crate::model::ProjectId;

/// Result of a health check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Health {
    /// True if the store responds. A clock difference of more than 30 seconds is only logged.
    pub database: bool,
    /// True if encryption and decryption work.
    pub encryption: bool,
    /// True if audit entries can be written.
    pub audit: bool,
}

impl Service {
    /// Checks the components the service depends on.
    pub async fn health(&self) -> Health {
        Health {
            database: self.check_store().await,
            encryption: self.check_encryption(),
            audit: self.engine.records(),
        }
    }

    async fn check_store(&self) -> bool {
        match self.engine.store().ping().await {
            Ok(None) => true,
            Ok(Some(there)) => {
                let apart = (there - self.engine.now()).abs();
                if apart > TimeDelta::seconds(30) {
                    tracing::warn!(
                        seconds = apart.num_seconds(),
                        "the clocks of the database and of this server differ too much"
                    );
                }
                true
            }
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the store does not respond"
                );
                false
            }
        }
    }

    fn check_encryption(&self) -> bool {
        let key = ProjectKey::new(&Key::generate(), 1);
        let context = RecordContext {
            purpose: Purpose::Value,
            hidden: false,
            instance: self.engine.keyring().instance(),
            project: ProjectId::NIL,
            environment: None,
            object: ProjectId::NIL.uuid(),
            key: "",
            version: 0,
        };
        let sealed = Sealed::seal(&key, &context, &Plaintext::nothing());
        sealed.open(&key, &context).is_ok_and(|opened| opened == Plaintext::nothing())
    }
}
