//! Exporting secrets.

use serde::{Serialize, Serializer};
use zeroize::Zeroizing;

use super::{Held, Secret, Tagged, Visible, visible};
use crate::access::{EnvironmentScope, View};
use crate::crypto::Plaintext;
use crate::engine::{Access, Audit, Callers, Context, Operation, Read};
use crate::formats::{Format, ObjectName};
use crate::model::{EnvironmentPath, Result, SecretKey};

/// Exports the secrets visible in an environment, with values, sorted by key. Hidden secrets are
/// left out.
#[derive(Debug)]
pub struct ExportSecrets {
    /// Environment to export.
    pub at: EnvironmentPath,
    /// Text format; `None` exports a list.
    pub format: Option<Format>,
    /// Name of the Kubernetes Secret; defaults to the environment's name.
    pub name: Option<ObjectName>,
    /// Precondition: the versions of the export that the caller already has.
    pub held: Held,
}

/// Exported secrets.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum Export {
    /// Secrets with all their fields.
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
    /// Exported text, including the values.
    #[serde(serialize_with = "revealed")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub text: Zeroizing<String>,
}

impl Operation for ExportSecrets {
    const NAME: &'static str = "secret.export";
    const CALLERS: Callers = Callers::Any;
    const AUDIT: Audit = Audit::Export("secrets.exported");
    type Access = Read;
    type Output = Tagged<Export>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Tagged<Export>> {
        let form = match (self.format, &self.name) {
            (None, _) => "export".to_owned(),
            (Some(format), None) => format!("export {format}"),
            (Some(format), Some(name)) => format!("export {format} {name}"),
        };
        let (tag, view) = cx.view_unless_held(&self.at, &form, &self.held).await?;
        let Some(view) = view else { return Ok(Tagged { tag, answer: None }) };
        let (scope, shown) = cx.all_visible(view).await?;
        cx.detail("format", self.format.map_or("list", Format::as_str));
        let answer = match self.format {
            None => Export::List(cx.reveal_all(&scope, shown).await?),
            Some(format) => {
                let values = cx.values(&scope, shown).await?;
                let name = self.name.unwrap_or_else(|| (&scope.environment.name).into());
                let text = format.render(&values, &name)?;
                Export::Text(ExportedText { format, text })
            }
        };
        Ok(Tagged { tag, answer: Some(answer) })
    }
}

impl<A: Access> Context<'_, A> {
    /// Returns the visible secrets that are not hidden, sorted by key.
    pub(crate) async fn all_visible(
        &mut self,
        view: View,
    ) -> Result<(EnvironmentScope, Vec<Visible>)> {
        let (hidden, shown): (Vec<_>, Vec<_>) =
            visible(view.chain).into_values().partition(|seen| seen.secret.hidden);
        for seen in &hidden {
            self.confirm_hidden(&view.scope, seen).await?;
        }
        let inherited = shown.iter().filter(|seen| seen.inherited_from.is_some()).count();
        self.detail("count", shown.len());
        self.detail("inherited_count", inherited);
        Ok((view.scope, shown))
    }

    /// Decrypts the values of the given secrets, in their order.
    pub(crate) async fn values(
        &mut self,
        scope: &EnvironmentScope,
        shown: Vec<Visible>,
    ) -> Result<Vec<(SecretKey, Plaintext)>> {
        let mut values = Vec::with_capacity(shown.len());
        for seen in shown {
            let value = self.open_value(scope, &seen.secret).await?;
            values.push((seen.secret.key, value));
        }
        Ok(values)
    }

    async fn reveal_all(
        &mut self,
        scope: &EnvironmentScope,
        shown: Vec<Visible>,
    ) -> Result<Vec<Secret>> {
        let mut secrets = Vec::with_capacity(shown.len());
        for seen in shown {
            secrets.push(self.reveal(scope, seen).await?);
        }
        Ok(secrets)
    }
}

fn revealed<S: Serializer>(
    text: &Zeroizing<String>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

impl std::fmt::Debug for ExportedText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExportedText").field("format", &self.format).finish_non_exhaustive()
    }
}
