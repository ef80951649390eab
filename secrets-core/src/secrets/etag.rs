//! Conditional reads: each response has an ETag. If a request states the current ETag, the response
//! is not sent again.

use serde::Serialize;

use crate::access::View;
use crate::crypto::{Keyring, Tag};
use crate::engine::{Context, Read};
use crate::model::{EnvironmentPath, Result};
use crate::store::{EnvironmentRecord, Selection};

/// Precondition of a read (`If-None-Match`): ETags of the responses that the caller already has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Precondition {
    /// No precondition: the response is always returned.
    #[default]
    None,
    /// The caller already has the responses with these ETags.
    ETags(Vec<String>),
    /// The caller already has some response, with any ETag (`*`). The response is then not returned
    /// again.
    Any,
}

/// A response with its ETag. Only the response is serialized; host applications send the ETag
/// separately.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct WithETag<T> {
    /// ETag of the response. Changes whenever the response changes.
    #[serde(skip)]
    pub tag: Tag,
    /// Response; `None` if the caller already has the current one.
    pub answer: Option<T>,
}

impl Precondition {
    pub(super) fn matches(&self, tag: &Tag) -> bool {
        match self {
            Self::None => false,
            Self::ETags(tags) => tags.iter().any(|held| held == tag.as_str()),
            Self::Any => true,
        }
    }
}

/// Loads the secrets of an environment and computes the ETag of the kind of response that `form`
/// names. Returns no secrets if the precondition contains the current ETag. With a precondition,
/// the ETag is first computed from the environments of the inheritance chain; if it matches, no
/// secret is read or decrypted, and no audit entry is written.
pub(crate) async fn view_if_changed(
    cx: &mut Context<'_, Read>,
    at: &EnvironmentPath,
    form: &str,
    held: &Precondition,
) -> Result<(Tag, Option<View>)> {
    if *held != Precondition::None {
        let view = cx.view(at, Selection::None).await?;
        let tag = tag(cx, &view, form);
        if held.matches(&tag) {
            cx.audit.skips_audit = true;
            return Ok((tag, None));
        }
    }
    let view = cx.view(at, Selection::All).await?;
    Ok((tag(cx, &view, form), Some(view)))
}

fn tag(cx: &Context<'_, Read>, view: &View, form: &str) -> Tag {
    let mut form = form.to_owned();
    // Callers with other permissions get another response.
    for environment in &view.restricted {
        form = format!("{form} without {environment}");
    }
    chain_etag(cx.keyring(), &form, view.chain.iter().map(|link| &link.environment))
}

/// Computes the ETag of the kind of response that `form` names, for an inheritance chain. The ETag
/// covers, for each environment of the chain in order, its ID, name and revision. Every write to an
/// environment's secrets increments its revision.
pub(crate) fn chain_etag<'a>(
    keyring: &Keyring,
    form: &str,
    chain: impl IntoIterator<Item = &'a EnvironmentRecord>,
) -> Tag {
    let mut parts = vec![form.as_bytes().to_vec()];
    for environment in chain {
        parts.push(environment.id.uuid().as_bytes().to_vec());
        parts.push(environment.revision.to_be_bytes().to_vec());
        parts.push(environment.name.as_str().as_bytes().to_vec());
    }
    Tag::of(keyring, parts.iter().map(Vec::as_slice))
}
