//! Reading a secret.

use super::sealing::NO_SECRET;
use super::{KeyRef, Secret, Visible, visible};
use crate::access::EnvironmentScope;
use crate::engine::{Access, Audit, Callers, Context, Operation, Read};
use crate::model::{EnvironmentPath, Result};
use crate::store::Wanted;

/// Reads a secret with its value, from the environment or the nearest ancestor that holds the key.
#[derive(Debug)]
pub struct GetSecret {
    /// Where.
    pub at: EnvironmentPath,
    /// Which key.
    pub key: KeyRef,
}

impl Operation for GetSecret {
    const NAME: &'static str = "secret.get";
    const CALLERS: Callers = Callers::Any;
    const AUDIT: Audit = Audit::Read("secret.read");
    type Access = Read;
    type Output = Secret;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Secret> {
        let (scope, seen) = cx.nearest(&self.at, &self.key).await?;
        cx.reveal(&scope, seen).await
    }
}

impl<A: Access> Context<'_, A> {
    /// The secret that an environment sees under a key. A hidden one is not found.
    pub(crate) async fn nearest(
        &mut self,
        at: &EnvironmentPath,
        key: &KeyRef,
    ) -> Result<(EnvironmentScope, Visible)> {
        let wanted = key.0.as_ref().map_or(Wanted::Nothing, Wanted::Key);
        let view = self.view(at, wanted).await?;
        let seen = visible(view.chain).into_values().next().ok_or(NO_SECRET)?;
        if seen.secret.hidden {
            self.confirm_hidden(&view.scope, &seen).await?;
            return Err(NO_SECRET);
        }

        self.about("secret", seen.secret.id.uuid(), seen.secret.key.as_str());
        self.detail("version", seen.secret.version);
        if let Some(holder) = &seen.inherited_from {
            self.detail("inherited_from", holder.as_str());
        }
        Ok((view.scope, seen))
    }

    /// Whether a secret is hidden is part of its seal: a row that only says so is an error, not an
    /// absence that a deployment would act on.
    pub(super) async fn confirm_hidden(
        &mut self,
        scope: &EnvironmentScope,
        seen: &Visible,
    ) -> Result<()> {
        self.open_value(scope, &seen.secret).await.map(drop)
    }
}
