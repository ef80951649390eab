//! Exporting secrets.

use super::{Secret, Visible, visible};
use crate::access::{EnvironmentPath, EnvironmentScope};
use crate::caller::Callers;
use crate::error::Result;
use crate::operation::{Access, Audit, Context, Operation, Read};
use crate::store::Wanted;

/// Gives the secrets an environment sees, by key, with their values; hidden ones are left out.
#[derive(Debug)]
pub struct ExportSecrets {
    /// Where.
    pub at: EnvironmentPath,
}

impl Operation for ExportSecrets {
    const NAME: &'static str = "secret.export";
    const CALLERS: Callers = Callers::Any;
    const AUDIT: Audit = Audit::Export("secrets.exported");
    type Access = Read;
    type Output = Vec<Secret>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<Secret>> {
        let (scope, shown) = cx.all_visible(&self.at).await?;
        let mut secrets = Vec::with_capacity(shown.len());
        for seen in shown {
            secrets.push(cx.reveal(&scope, seen).await?);
        }
        Ok(secrets)
    }
}

impl<A: Access> Context<'_, A> {
    /// The secrets an environment sees and does not hide, by key.
    pub(crate) async fn all_visible(
        &mut self,
        at: &EnvironmentPath,
    ) -> Result<(EnvironmentScope, Vec<Visible>)> {
        let view = self.view(at, Wanted::All).await?;
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
}
