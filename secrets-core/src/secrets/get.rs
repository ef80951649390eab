//! Reading a secret.

use super::sealing::NO_SECRET;
use super::{KeyRef, Secret, Visible, visible};
use crate::access::EnvironmentScope;
use crate::engine::{Access, Audit, Callers, Context, Operation, Read};
use crate::model::{EnvironmentPath, Result};
use crate::store::Wanted;

/// Reads a secret with its value, from the environment or from the nearest ancestor that holds the
/// key.
#[derive(Debug)]
pub struct GetSecret {
    /// Environment to read.
    pub at: EnvironmentPath,
    /// Secret key.
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
    /// Finds the secret visible under a key in an environment. A hidden secret is not found.
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

    /// Checks that a secret is really hidden. The hidden flag is part of the authenticated data, so
    /// a row whose flag was altered in the store is an error here. It is not treated as a missing
    /// secret, which a deployment would act on.
    pub(super) async fn confirm_hidden(
        &mut self,
        scope: &EnvironmentScope,
        seen: &Visible,
    ) -> Result<()> {
        self.open_value(scope, &seen.secret).await.map(drop)
    }
}
