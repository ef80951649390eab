//! Reading the caller's own account.

use super::Account;
use super::account;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::Result;

/// Reads the caller's account.
#[derive(Debug)]
pub struct GetAccount;

impl Operation for GetAccount {
    const NAME: &'static str = "account.get";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Account;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Account> {
        let user = cx.caller.person()?.clone();
        account(cx, user).await
    }
}
