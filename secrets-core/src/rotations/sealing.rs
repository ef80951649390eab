//! Sealing and opening what rotations keep: the context of a record, made in one place.

use uuid::Uuid;

use crate::crypto::{
    Keyring, Plaintext, ProjectKey, Purpose, RecordContext, Sealed, Undecryptable,
};
use crate::engine::records;
use crate::model::{AttemptId, EnvironmentId, Error, ProjectId, Result, RotationId, WebhookId};
use crate::store::{Reads, RotationPlace};

/// What is kept sealed for a rotation, and so part of what the seal is bound to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kept {
    /// How the database is reached.
    Connection(RotationId),
    /// The function that reaches it.
    Proxy(RotationId),
    /// The password of an attempt of this number, with how often it was drawn anew.
    Pending(AttemptId, u64),
    /// A webhook's address and what signs deliveries to it.
    Webhook(WebhookId),
}

impl Kept {
    fn purpose(self) -> Purpose {
        match self {
            Self::Connection(_) => Purpose::RotationAdmin,
            Self::Proxy(_) => Purpose::ProxySecret,
            Self::Pending(..) => Purpose::PendingCredential,
            Self::Webhook(_) => Purpose::WebhookSecret,
        }
    }

    fn object(self) -> (Uuid, u64) {
        match self {
            Self::Connection(rotation) | Self::Proxy(rotation) => (rotation.uuid(), 0),
            Self::Pending(attempt, sequence) => (attempt.uuid(), sequence),
            Self::Webhook(webhook) => (webhook.uuid(), 0),
        }
    }
}

/// What seals and opens in one environment.
pub(crate) struct Seals<'a> {
    pub(crate) keyring: &'a Keyring,
    pub(crate) project: ProjectId,
    pub(crate) environment: EnvironmentId,
    /// The project's newest key.
    pub(crate) key: &'a ProjectKey,
}

impl Seals<'_> {
    /// Seals.
    pub(crate) fn seal(&self, kept: Kept, text: &Plaintext) -> Sealed {
        Sealed::seal(self.key, &self.context(kept), text)
    }

    /// Opens, with an older key where an older one sealed.
    pub(crate) async fn open(
        &self,
        reads: &mut dyn Reads,
        kept: Kept,
        sealed: &Sealed,
    ) -> Result<Plaintext> {
        let context = self.context(kept);
        let newest = (self.project, self.key);
        records::open(self.keyring, reads, newest, sealed, &context).await
    }

    fn context(&self, kept: Kept) -> RecordContext<'static> {
        let (object, version) = kept.object();
        RecordContext {
            purpose: kept.purpose(),
            hidden: false,
            instance: self.keyring.instance(),
            project: self.project,
            environment: Some(self.environment),
            object,
            key: "",
            version,
        }
    }
}

/// A place whose key is unwrapped.
pub(crate) struct OpenPlace {
    pub(crate) place: RotationPlace,
    pub(crate) key: ProjectKey,
}

impl OpenPlace {
    /// Unwraps the key.
    pub(crate) fn new(keyring: &Keyring, place: RotationPlace) -> Result<Self> {
        let key = keyring.project_key(&place.key).map_err(Error::internal)?;
        Ok(Self { place, key })
    }

    /// What seals and opens there.
    pub(crate) fn seals<'a>(&'a self, keyring: &'a Keyring) -> Seals<'a> {
        Seals {
            keyring,
            project: self.place.project.id,
            environment: self.place.environment.id,
            key: &self.key,
        }
    }
}
