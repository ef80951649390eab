//! Encrypted records of secrets: the context (associated data) that each record is encrypted with,
//! and decryption with the right version of the project key.

use crate::crypto::{
    DecryptionFailure, Keyring, Plaintext, ProjectKey, Purpose, RecordContext, Sealed,
};
use crate::model::{Error, InstanceId, ProjectId, Result};
use crate::store::{Reads, SealedRow, SecretRecord};

/// Returns the context (associated data) for the encryption of a secret's value.
pub(crate) fn value_context(
    instance: InstanceId,
    project: ProjectId,
    secret: &SecretRecord,
) -> RecordContext<'_> {
    RecordContext {
        purpose: Purpose::Value,
        hidden: secret.hidden,
        instance,
        project,
        environment: Some(secret.environment),
        object: secret.id.uuid(),
        key: secret.key.as_str(),
        version: u64::from(secret.version),
    }
}

/// Returns the context (associated data) for the encryption of a secret's description. The context
/// is the same for all versions of the secret.
pub(crate) fn description_context(
    instance: InstanceId,
    project: ProjectId,
    secret: &SecretRecord,
) -> RecordContext<'_> {
    RecordContext {
        purpose: Purpose::Description,
        hidden: false,
        version: 0,
        ..value_context(instance, project, secret)
    }
}

/// Returns the context (associated data) for the encryption of a value or description, from a
/// stored row.
pub(crate) fn row_context(
    instance: InstanceId,
    project: ProjectId,
    purpose: Purpose,
    row: &SealedRow,
) -> RecordContext<'_> {
    RecordContext {
        purpose,
        hidden: row.hidden,
        instance,
        project,
        environment: Some(row.environment),
        object: row.object,
        key: &row.key,
        version: row.version,
    }
}

/// Decrypts a record of a project with the version of the project key that the record names.
/// `newest` is the newest project key; older versions are loaded from the store.
pub(crate) async fn open(
    keyring: &Keyring,
    reads: &mut dyn Reads,
    (project, newest): (ProjectId, &ProjectKey),
    sealed: &Sealed,
    context: &RecordContext<'_>,
) -> Result<Plaintext> {
    let opened = match sealed.key_version() {
        Some(version) if version != newest.version() => {
            let Some(record) = reads.project_key(project, version).await? else {
                keyring.failures().count(DecryptionFailure::MissingKey);
                return Err(Error::internal(format!("no key {version} of project {project}")));
            };
            let key = keyring.project_key(&record).map_err(Error::internal)?;
            keyring.open(sealed, &key, context)
        }
        _ => keyring.open(sealed, newest, context),
    };
    opened.map_err(Error::internal)
}
