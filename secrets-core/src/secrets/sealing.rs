//! Encryption and decryption of secret values and descriptions. Their encryption contexts are
//! built in [`records`].

use crate::access::EnvironmentScope;
use crate::crypto::{Plaintext, RecordContext, Sealed};
use crate::engine::records::{self, description_context, value_context};
use crate::engine::{Access, Context};
use crate::model::{Error, Result, Subject};
use crate::secrets::{Secret, Visible};
use crate::store::SecretRecord;

/// Encrypts a value. `secret` must be the record in the form in which it will be stored: its
/// version and hidden flag are part of the authenticated data.
pub(crate) fn seal_value<A: Access>(
    cx: &Context<'_, A>,
    scope: &EnvironmentScope,
    secret: &SecretRecord,
    value: &Plaintext,
) -> Sealed {
    let context = value_context(cx.keyring().instance(), scope.project.id, secret);
    Sealed::seal(scope.key(), &context, value)
}

/// Encrypts the description of a secret.
pub(crate) fn seal_description<A: Access>(
    cx: &Context<'_, A>,
    scope: &EnvironmentScope,
    secret: &SecretRecord,
    text: &Plaintext,
) -> Sealed {
    let context = description_context(cx.keyring().instance(), scope.project.id, secret);
    Sealed::seal(scope.key(), &context, text)
}

/// Decrypts the value of a secret.
pub(crate) async fn open_value<A: Access>(
    cx: &mut Context<'_, A>,
    scope: &EnvironmentScope,
    secret: &SecretRecord,
) -> Result<Plaintext> {
    let context = value_context(cx.keyring().instance(), scope.project.id, secret);
    open_record(cx, scope, &secret.sealed, &context).await
}

/// Builds the response for a secret, without its value. If the caller may not read secrets,
/// `description` and `created_by` are omitted.
pub(crate) async fn describe<A: Access>(
    cx: &mut Context<'_, A>,
    scope: &EnvironmentScope,
    secret: &SecretRecord,
) -> Result<Secret> {
    if !scope.may_read {
        return Ok(Secret { created_by: None, ..Secret::new(secret, None) });
    }
    let description = open_description(cx, scope, secret).await?;
    Ok(Secret::new(secret, description))
}

/// Decrypts the description of a secret; `None` if the secret has none.
pub(crate) async fn open_description<A: Access>(
    cx: &mut Context<'_, A>,
    scope: &EnvironmentScope,
    secret: &SecretRecord,
) -> Result<Option<Plaintext>> {
    let Some(sealed) = &secret.description else { return Ok(None) };
    let context = description_context(cx.keyring().instance(), scope.project.id, secret);
    open_record(cx, scope, sealed, &context).await.map(Some)
}

/// Builds the response for an effective secret, without its value. For a secret that the caller may
/// not read, `description`, `created_by` and `updated_by` are omitted.
pub(crate) async fn without_value<A: Access>(
    cx: &mut Context<'_, A>,
    scope: &EnvironmentScope,
    seen: Visible,
) -> Result<Secret> {
    let secret = if seen.is_restricted {
        Secret { created_by: None, updated_by: None, ..Secret::new(&seen.secret, None) }
    } else {
        describe(cx, scope, &seen.secret).await?
    };
    Ok(Secret { inherited_from: seen.inherited_from, restricted: seen.is_restricted, ..secret })
}

/// Builds the response for an effective secret, including its decrypted value.
pub(crate) async fn reveal<A: Access>(
    cx: &mut Context<'_, A>,
    scope: &EnvironmentScope,
    seen: Visible,
) -> Result<Secret> {
    let value = open_value(cx, scope, &seen.secret).await?;
    let secret = without_value(cx, scope, seen).await?;
    Ok(Secret { value: Some(value), ..secret })
}

async fn open_record<A: Access>(
    cx: &mut Context<'_, A>,
    scope: &EnvironmentScope,
    sealed: &Sealed,
    context: &RecordContext<'_>,
) -> Result<Plaintext> {
    let (keyring, newest) = (cx.keyring(), (scope.project.id, scope.key()));
    records::open(keyring, cx.reads(), newest, sealed, context).await
}

/// Error for a secret that does not exist or is hidden.
pub(crate) const SECRET_NOT_FOUND: Error = Error::NotFound(Subject::Secret);
