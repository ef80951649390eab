//! Deleting a service token.

use super::locked_token;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Result, Subject, TokenId};

/// Deletes a service token. On every node, all requests that begin after the response are refused.
#[derive(Debug)]
pub struct DeleteToken {
    /// Token ID; `None`, treated as an unknown token, if the given string is not a valid ID.
    pub token: Option<TokenId>,
}

impl Operation for DeleteToken {
    const NAME: &'static str = "token.delete";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("token.deleted");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let token = locked_token(cx, self.token).await?;
        cx.tx().delete_token(token.id).await.map_err(|error| error.or_not_found(Subject::Token))?;
        cx.set_resource("service_token", token.id.uuid(), token.name.as_str());
        Ok(())
    }
}
