//! Listing secrets.

use super::sealing::show;
use super::tagged::view_unless_held;
use super::{Held, Secret, Tagged, visible};
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{EnvironmentPath, Result};

/// Lists the secrets visible in an environment, sorted by key, without values. Hidden secrets are
/// included and marked.
#[derive(Debug)]
pub struct ListSecrets {
    /// Environment to list.
    pub at: EnvironmentPath,
    /// Precondition: the versions of the list that the caller already has.
    pub held: Held,
}

impl Operation for ListSecrets {
    const NAME: &'static str = "secret.list";
    const CALLERS: Callers = Callers::Any;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Tagged<Vec<Secret>>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Tagged<Vec<Secret>>> {
        let (tag, view) = view_unless_held(cx, &self.at, "list", &self.held).await?;
        let Some(view) = view else { return Ok(Tagged { tag, answer: None }) };
        let mut secrets = Vec::new();
        for seen in visible(view.chain).into_values() {
            secrets.push(show(cx, &view.scope, seen).await?);
        }
        Ok(Tagged { tag, answer: Some(secrets) })
    }
}
