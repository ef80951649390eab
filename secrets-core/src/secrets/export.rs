//! Exporting secrets.

use serde::Serialize;
use zeroize::Zeroizing;

use super::etag::view_if_changed;
use super::reading::{effective_secrets, values};
use super::sealing::reveal;
use super::{Precondition, Secret, Visible, WithETag};
use crate::access::EnvironmentScope;
use crate::engine::{Access, Audit, Callers, Context, Operation, Read};
use crate::formats::{Format, ObjectName};
use crate::model::{EnvironmentPath, Result};

/// Exports the effective secrets of an environment, with values, sorted by key. Hidden secrets are
/// not included.
#[derive(Debug)]
pub struct ExportSecrets {
    /// Environment whose secrets are exported.
    pub at: EnvironmentPath,
    /// Text format of the export; `None` exports a list of objects.
    pub format: Option<Format>,
    /// Name of the Kubernetes Secret, for the Kubernetes format. Defaults to the environment's
    /// name.
    pub name: Option<ObjectName>,
    /// Precondition (`If-None-Match`): ETags of the responses that the caller already has.
    pub precondition: Precondition,
}

/// Exported secrets: a list or a text.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum Export {
    /// List of secrets with all their fields.
    List(Vec<Secret>),
    /// Text in the requested format.
    Text(ExportedText),
}

/// Exported secrets as text.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExportedText {
    /// Format of the text.
    #[serde(skip)]
    pub format: Format,
    /// Exported text, which contains the secret values.
    #[serde(serialize_with = "crate::crypto::revealed")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub text: Zeroizing<String>,
}

impl Operation for ExportSecrets {
    const NAME: &'static str = "secret.export";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Export("secrets.exported");
    const HAS_LARGE_OUTPUT: bool = true;
    type Access = Read;
    type Output = WithETag<Export>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<WithETag<Export>> {
        let form = match (self.format, &self.name) {
            (None, _) => "export".to_owned(),
            (Some(format), None) => format!("export {format}"),
            (Some(format), Some(name)) => format!("export {format} {name}"),
        };
        let (tag, view) = view_if_changed(cx, &self.at, &form, &self.precondition).await?;
        let Some(view) = view else { return Ok(WithETag { tag, answer: None }) };
        let (scope, shown) = effective_secrets(cx, view).await?;
        cx.add_detail("format", self.format.map_or("list", Format::as_str));
        let answer = match self.format {
            None => Export::List(reveal_all(cx, &scope, shown).await?),
            Some(format) => {
                let values = values(cx, &scope, shown).await?;
                let name = self.name.unwrap_or_else(|| (&scope.environment.name).into());
                let text = format.render(&values, &name)?;
                Export::Text(ExportedText { format, text })
            }
        };
        Ok(WithETag { tag, answer: Some(answer) })
    }
}

async fn reveal_all<A: Access>(
    cx: &mut Context<'_, A>,
    scope: &EnvironmentScope,
    shown: Vec<Visible>,
) -> Result<Vec<Secret>> {
    let mut secrets = Vec::with_capacity(shown.len());
    for seen in shown {
        secrets.push(reveal(cx, scope, seen).await?);
    }
    Ok(secrets)
}

impl std::fmt::Debug for ExportedText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExportedText").field("format", &self.format).finish_non_exhaustive()
    }
}
