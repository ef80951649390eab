//! Secrets managed by a rotation: only the rotation may change them.

use super::change::Content;
use crate::access::EnvironmentScope;
use crate::crypto::Plaintext;
use crate::engine::{Context, Write};
use crate::model::{Code, Error, Result, SecretKey};
use crate::store::{Change, SecretRecord};

impl Context<'_, Write> {
    /// Returns an error if the secret is managed by a rotation. The environment must be locked.
    pub(super) async fn refuse_managed(
        &mut self,
        scope: &EnvironmentScope,
        key: &SecretKey,
    ) -> Result<()> {
        let keys = std::slice::from_ref(key);
        let managed = self.reads().managed_keys(scope.environment.id, keys).await?;
        if managed.is_empty() { Ok(()) } else { Err(MANAGED) }
    }

    /// Writes the values of a rotated credential, each as the next version of its secret. The
    /// environment must be locked.
    pub(crate) async fn write_rotated(
        &mut self,
        scope: &EnvironmentScope,
        values: Vec<(SecretKey, Plaintext)>,
    ) -> Result<()> {
        let keys: Vec<_> = values.iter().map(|(key, _)| key.clone()).collect();
        let mut known = self.reads().secrets(scope.environment.id, &keys).await?;
        self.admit_secrets(scope, (keys.len() - known.len()) as u64).await?;
        let mut new = Vec::new();
        for (key, value) in values {
            let content = Content { value, hidden: false };
            if let Some(place) = known.iter().position(|secret| secret.key == key) {
                let secret = known.swap_remove(place);
                self.replace(scope, secret, &content, Change::Rotated).await?;
            } else {
                let first = self.first_version(scope, key, &content, None);
                new.push(SecretRecord { change: Change::Rotated, ..first });
            }
        }
        if !new.is_empty() {
            self.tx().insert_secrets(&new).await?;
        }
        Ok(())
    }
}

/// Error for changing a secret that is managed by a rotation.
const MANAGED: Error = Error::Refused {
    code: Code::ManagedKey,
    reason: std::borrow::Cow::Borrowed(
        "a rotation of this environment writes this key, and only the rotation can change it",
    ),
};
