//! Replacement of the root key.

use serde_json::json;

use crate::crypto::{Keyring, KeyringError, RootKeyId};
use crate::engine::{AuditContext, Caller, Engine, StartError};

/// Result of replacing the root key ([`rotate_root`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootRotation {
    /// The current root key replaced the previous one.
    Replaced {
        /// ID of the previous root key.
        from: RootKeyId,
        /// ID of the current root key.
        to: RootKeyId,
    },
    /// Nothing changed, because the store already used the current root key, which has this ID.
    Unchanged(RootKeyId),
}

/// Replaces the root key [`Ports::previous_root`](crate::Ports::previous_root) by
/// [`Ports::root`](crate::Ports::root): wraps the instance key with the new root key, in one
/// transaction. Records are not encrypted again. Running processes are not affected; processes that
/// start later need the new root key.
///
/// Backups from before the replacement still need the previous root key.
pub async fn rotate_root(engine: &Engine) -> Result<RootRotation, StartError> {
    let (ports, root) = (engine.ports(), engine.ports().root.as_ref());
    let stored = engine.store().read().await?.instance().await?;
    let (before, keys) = stored.ok_or(StartError::OrphanData)?;
    if before.root_key == root.id() {
        return Ok(RootRotation::Unchanged(root.id()));
    }
    let after = Keyring::rewrap(&before, ports.root_of(&before), root).await;
    let after = after.map_err(StartError::Keys)?;
    Keyring::load(root, &after, &keys).await.map_err(StartError::Keys)?;
    // The transaction begins only now, because calls of a key service can be slow. It fails if the
    // record has changed meanwhile.
    let mut tx = engine.store().begin().await?;
    tx.replace_root_key(&before, &after).await?;
    let mut context =
        AuditContext { resource: Some(("instance", None, None)), ..AuditContext::default() };
    context.details.insert("from".to_owned(), json!(before.root_key.to_string()));
    context.details.insert("to".to_owned(), json!(after.root_key.to_string()));
    let entry = context.into_entry(&Caller::system(), "keys.root_rotated", engine.now());
    tx.insert_audit(&[entry]).await?;
    tx.commit().await?;
    stored_under(engine, after.root_key).await?;
    Ok(RootRotation::Replaced { from: before.root_key, to: after.root_key })
}

/// Fails unless the stored instance key is wrapped by the root key with this ID, and the current
/// root key can unwrap it.
async fn stored_under(engine: &Engine, root: RootKeyId) -> Result<(), StartError> {
    let stored = engine.store().read().await?.instance().await?;
    let (record, keys) = stored.ok_or(StartError::OrphanData)?;
    if record.root_key != root {
        let error = KeyringError::RootKey { needed: record.root_key, given: root };
        return Err(StartError::Keys(error));
    }
    let loaded = Keyring::load(engine.ports().root.as_ref(), &record, &keys).await;
    loaded.map(drop).map_err(StartError::Keys)
}
