//! How the service is.

use chrono::TimeDelta;

use super::Service;
use crate::crypto::{Key, Plaintext, ProjectKey, Purpose, RecordContext, Sealed};
use crate::model::ProjectId;

/// What works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Health {
    /// The store answers, and agrees about the time to within 30 seconds.
    pub database: bool,
    /// Sealing and opening work.
    pub encryption: bool,
    /// The audit log takes entries.
    pub audit: bool,
}

impl Service {
    /// Looks at what the service depends on.
    pub async fn health(&self) -> Health {
        Health {
            database: self.store_answers().await,
            encryption: self.seals(),
            audit: self.records(),
        }
    }

    async fn store_answers(&self) -> bool {
        match self.store().ping().await {
            Ok(None) => true,
            Ok(Some(there)) => {
                let apart = (there - self.now()).abs();
                if apart > TimeDelta::seconds(30) {
                    tracing::warn!(
                        seconds = apart.num_seconds(),
                        "the database's clock and ours disagree"
                    );
                }
                true
            }
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the store does not answer"
                );
                false
            }
        }
    }

    fn seals(&self) -> bool {
        let key = ProjectKey::new(&Key::generate(), 1);
        let context = RecordContext {
            purpose: Purpose::Value,
            hidden: false,
            instance: self.keyring().instance(),
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
