//! Reading the caller's own user record or token.

use serde::Serialize;

use super::User;
use crate::engine::{Audit, Callers, Context, Operation, Read, Who};
use crate::model::{Error, Result, Subject};
use crate::tokens::TokenSelf;

/// Returns the user or the service token that makes the request.
#[derive(Debug)]
pub struct ReadMe;

/// Caller of the request.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum Me {
    /// Caller that is a user.
    Person(User),
    /// Caller that is a service token.
    Token(TokenSelf),
}

impl Operation for ReadMe {
    const NAME: &'static str = "user.me";
    const CALLERS: Callers = Callers::AnyCredential;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Me;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Me> {
        match &cx.caller.who {
            Who::Person(person) => {
                let memberships = cx.reads().memberships(person.user.id).await?;
                Ok(Me::Person(User::new(person.user.clone(), memberships)))
            }
            Who::Token(token) => {
                let scope = cx.reads().token_scope(token.id).await?;
                Ok(Me::Token(TokenSelf::new(token, scope)))
            }
            Who::Unsynced(_) | Who::Anonymous | Who::System => {
                Err(Error::NotFound(Subject::Account))
            }
        }
    }
}
