//! Encryption and decryption of the records of rotations. No other module builds the encryption
//! context of these records.

use uuid::Uuid;

use crate::access::EnvironmentScope;
use crate::crypto::{Keyring, Plaintext, ProjectKey, Purpose, RecordContext, Sealed};
use crate::engine::{Access, Context, records};
use crate::model::{
    AttemptId, EnvironmentId, Error, InstanceId, ProjectId, Result, RotationId, WebhookId,
};
use crate::store::{Reads, RotationLocation};

/// Kind of an encrypted record of a rotation, with the ID of the object that the record belongs to.
/// Kind and ID are part of the encryption context (associated data).
#[derive(Debug, Clone, Copy)]
pub(crate) enum SealedField {
    /// Connection settings of the database, with the rotation's ID.
    Connection(RotationId),
    /// Settings of the proxy function, with the rotation's ID.
    Proxy(RotationId),
    /// New password of an attempt, with the attempt's ID and number.
    Pending(AttemptId, u64),
    /// URL and signing secret of a webhook, with the webhook's ID.
    Webhook(WebhookId),
}

impl SealedField {
    fn purpose(self) -> Purpose {
        match self {
            Self::Connection(_) => Purpose::RotationAdmin,
            Self::Proxy(_) => Purpose::ProxySecret,
            Self::Pending(..) => Purpose::PendingCredential,
            Self::Webhook(_) => Purpose::WebhookSecret,
        }
    }

    /// Returns the encryption context (associated data) of a record in this environment.
    pub(crate) fn context(
        self,
        instance: InstanceId,
        project: ProjectId,
        environment: EnvironmentId,
    ) -> RecordContext<'static> {
        let (object, version) = self.object();
        RecordContext {
            purpose: self.purpose(),
            hidden: false,
            instance,
            project,
            environment: Some(environment),
            object,
            key: "",
            version,
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

/// Encryption and decryption of the records of one environment.
pub(crate) struct Sealer<'a> {
    pub(crate) keyring: &'a Keyring,
    pub(crate) project: ProjectId,
    pub(crate) environment: EnvironmentId,
    /// Newest encryption key of the project.
    pub(crate) key: &'a ProjectKey,
}

impl<'a> Sealer<'a> {
    /// Creates a sealer (which encrypts and decrypts records) for an environment that the caller is
    /// authorized for.
    pub(crate) fn of<A: Access>(cx: &Context<'a, A>, scope: &'a EnvironmentScope) -> Self {
        Self {
            keyring: cx.keyring(),
            project: scope.project.id,
            environment: scope.environment.id,
            key: scope.key(),
        }
    }
}

impl Sealer<'_> {
    /// Encrypts the plaintext of a record with the newest encryption key of the project.
    pub(crate) fn seal(&self, field: SealedField, text: &Plaintext) -> Sealed {
        Sealed::seal(self.key, &self.context(field), text)
    }

    /// Decrypts a record. Uses the version of the project's encryption key that encrypted the
    /// record.
    pub(crate) async fn open(
        &self,
        reads: &mut dyn Reads,
        field: SealedField,
        sealed: &Sealed,
    ) -> Result<Plaintext> {
        let context = self.context(field);
        let newest = (self.project, self.key);
        records::open(self.keyring, reads, newest, sealed, &context).await
    }

    fn context(&self, field: SealedField) -> RecordContext<'static> {
        field.context(self.keyring.instance(), self.project, self.environment)
    }
}

/// Project and environment of a rotation, with the project's encryption key (unwrapped).
pub(crate) struct RotationContext {
    pub(crate) place: RotationLocation,
    pub(crate) key: ProjectKey,
}

impl RotationContext {
    /// Unwraps the project's encryption key and creates the context.
    pub(crate) fn new(keyring: &Keyring, place: RotationLocation) -> Result<Self> {
        let key = keyring.project_key(&place.key).map_err(Error::internal)?;
        Ok(Self { place, key })
    }

    /// Creates a sealer, which encrypts and decrypts records, for this rotation's environment.
    pub(crate) fn sealer<'a>(&'a self, keyring: &'a Keyring) -> Sealer<'a> {
        Sealer {
            keyring,
            project: self.place.project.id,
            environment: self.place.environment.id,
            key: &self.key,
        }
    }
}
