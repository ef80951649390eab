//! Reading secrets: functions that several operations share.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::sealing::{SECRET_NOT_FOUND, open_value};
use super::{KeyRef, Visible, visible};
use crate::access::{EnvironmentScope, LockedRow, View};
use crate::crypto::Plaintext;
use crate::engine::{Access, AuditContext, Context, Read, Write};
use crate::model::{EnvironmentName, EnvironmentPath, Error, Permission, Result, SecretKey};
use crate::store::{SecretRecord, Selection};

/// Returns the secret that is effective for this key in an environment: its own or the nearest
/// inherited one. Fails if there is none, if it is hidden, or if it is inherited from an
/// environment that the caller may not read.
pub(crate) async fn effective_secret(
    cx: &mut Context<'_, Read>,
    at: &EnvironmentPath,
    key: &KeyRef,
) -> Result<(EnvironmentScope, Visible)> {
    let selection = key.0.as_ref().map_or(Selection::None, Selection::Key);
    let mut view = cx.view(at, selection).await?;
    let seen = visible(&mut view).into_iter().next().ok_or(SECRET_NOT_FOUND)?;
    if seen.secret.hidden {
        verify_hidden(cx, &view.scope, &seen).await?;
        return Err(SECRET_NOT_FOUND);
    }

    cx.set_resource("secret", seen.secret.id.uuid(), seen.secret.key.as_str());
    cx.add_detail("version", seen.secret.version);
    if let Some(holder) = &seen.inherited_from {
        cx.add_detail("inherited_from", holder.as_str());
    }
    check_readable([&seen])?;
    Ok((view.scope, seen))
}

/// Returns the secret with this key that the environment itself defines. Fails if there is none;
/// inherited secrets do not count.
pub(super) async fn direct_secret(
    cx: &mut Context<'_, Read>,
    scope: &EnvironmentScope,
    key: &KeyRef,
) -> Result<SecretRecord> {
    let key = key.0.clone().ok_or(SECRET_NOT_FOUND)?;
    let found = cx.reads().secrets(scope.environment.id, &[key]).await?;
    found.into_iter().next().ok_or(SECRET_NOT_FOUND)
}

/// Resolves and locks an environment whose secrets the caller may write. Returns it with the secret
/// that it defines itself for this key. Fails if there is none; inherited secrets do not count.
pub(super) async fn locked_secret(
    cx: &mut Context<'_, Write>,
    at: &EnvironmentPath,
    key: &KeyRef,
) -> Result<(EnvironmentScope, SecretRecord)> {
    let selection = key.0.as_ref().map_or(Selection::None, Selection::OwnKey);
    let View { scope, chain, .. } =
        cx.locked_view(at, (Permission::Write, selection), &[LockedRow::Secrets]).await?;
    let own = chain.into_iter().next().and_then(|link| link.secrets.into_iter().next());
    let secret = own.ok_or(SECRET_NOT_FOUND)?;
    Ok((scope, Arc::unwrap_or_clone(secret)))
}

/// Returns all effective secrets that are not hidden, sorted by key, for an export of their values.
/// Fails if one of them is inherited from an environment that the caller may not read.
pub(crate) async fn effective_secrets<A: Access>(
    cx: &mut Context<'_, A>,
    view: View,
) -> Result<(EnvironmentScope, Vec<Visible>)> {
    let (scope, shown) = shown_secrets(cx, view).await?;
    check_readable(&shown)?;
    Ok((scope, shown))
}

/// Returns all effective secrets that are not hidden, sorted by key. Includes secrets that the
/// caller may not read.
pub(crate) async fn shown_secrets<A: Access>(
    cx: &mut Context<'_, A>,
    mut view: View,
) -> Result<(EnvironmentScope, Vec<Visible>)> {
    let (hidden, shown): (Vec<_>, Vec<_>) =
        visible(&mut view).into_iter().partition(|seen| seen.secret.hidden);
    for seen in &hidden {
        verify_hidden(cx, &view.scope, seen).await?;
    }
    let inherited = shown.iter().filter(|seen| seen.inherited_from.is_some()).count();
    cx.add_detail("count", shown.len());
    cx.add_detail("inherited_count", inherited);
    Ok((view.scope, shown))
}

/// Fails if one of these secrets is inherited from an environment that the caller may not read. The
/// error names all such environments.
pub(super) fn check_readable<'a>(secrets: impl IntoIterator<Item = &'a Visible>) -> Result<()> {
    let restricted = secrets.into_iter().filter(|seen| seen.is_restricted);
    let holders: BTreeSet<_> = restricted.filter_map(|seen| seen.inherited_from.as_ref()).collect();
    if holders.is_empty() {
        return Ok(());
    }
    let holders: Vec<_> = holders.into_iter().map(EnvironmentName::as_str).collect();
    let reason =
        format!("inherited from environments you have no access to: {}", holders.join(", "));
    Err(Error::Forbidden(reason.into()))
}

/// Creates an audit context for stored values that a change compared with new values. Returns
/// `None` if none were compared, or if the operator has turned off the recording of reads.
/// `environments` are the names of the environments that contain the values.
pub(super) fn compared_values<A: Access>(
    cx: &Context<'_, A>,
    count: usize,
    environments: Vec<&str>,
) -> Option<AuditContext> {
    if count == 0 || !cx.options().audit_reads {
        return None;
    }
    let mut context = AuditContext {
        action: Some("secrets.compared"),
        team: cx.audit.team,
        project: cx.audit.project.clone(),
        is_anonymized: cx.audit.is_anonymized,
        ..AuditContext::default()
    };
    context.details.insert("count".to_owned(), count.into());
    context.details.insert("environments".to_owned(), environments.into());
    Some(context)
}

/// Decrypts the values of the given secrets, and returns them in the same order.
pub(crate) async fn values<A: Access>(
    cx: &mut Context<'_, A>,
    scope: &EnvironmentScope,
    shown: Vec<Visible>,
) -> Result<Vec<(SecretKey, Plaintext)>> {
    let mut values = Vec::with_capacity(shown.len());
    for seen in shown {
        let value = open_value(cx, scope, &seen.secret).await?;
        values.push((seen.secret.key.clone(), value));
    }
    Ok(values)
}

/// Checks that a secret is really hidden. The hidden flag is part of the authenticated data, so
/// this function fails for a row whose flag was altered in the database. Otherwise the secret would
/// be reported as missing, and a deployment could continue without it.
pub(crate) async fn verify_hidden<A: Access>(
    cx: &mut Context<'_, A>,
    scope: &EnvironmentScope,
    seen: &Visible,
) -> Result<()> {
    open_value(cx, scope, &seen.secret).await.map(drop)
}
