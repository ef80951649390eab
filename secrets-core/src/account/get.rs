//! Reading the caller's own account.

use super::Account;
use crate::caller::Callers;
use crate::error::Result;
use crate::operation::{Audit, Context, Operation, Read};

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
        cx.account(user).await
    }
}
