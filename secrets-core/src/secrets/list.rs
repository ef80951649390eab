//! Listing secrets.

use super::{Secret, visible};
use crate::access::EnvironmentPath;
use crate::caller::Callers;
use crate::error::Result;
use crate::operation::{Audit, Context, Operation, Read};
use crate::store::Wanted;

/// Lists the secrets an environment sees, by key, without values; hidden ones are marked.
#[derive(Debug)]
pub struct ListSecrets {
    /// Where.
    pub at: EnvironmentPath,
}

impl Operation for ListSecrets {
    const NAME: &'static str = "secret.list";
    const CALLERS: Callers = Callers::Any;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Vec<Secret>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<Secret>> {
        let view = cx.view(&self.at, Wanted::All).await?;
        let mut secrets = Vec::new();
        for seen in visible(view.chain).into_values() {
            secrets.push(cx.show(&view.scope, seen).await?);
        }
        Ok(secrets)
    }
}
