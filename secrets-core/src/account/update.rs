//! Changing the caller's own account.

use serde::Deserialize;

use super::Account;
use super::account;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{DisplayName, Error, Result};
use crate::store::UserRecord;
use crate::users::locked_user;

/// Profile fields to change. At least one field is required.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AccountChange {
    /// New display name. After this change, sign-ins no longer replace the display name with the
    /// name from the identity provider.
    #[cfg_attr(feature = "openapi", schema(value_type = DisplayName))]
    pub name: Option<DisplayName>,
}

/// Changes the profile of the caller's account: the display name.
#[derive(Debug)]
pub struct UpdateAccount {
    /// Profile fields to change.
    pub change: AccountChange,
}

impl Operation for UpdateAccount {
    const NAME: &'static str = "account.update";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("user.updated");
    type Access = Write;
    type Output = Account;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Account> {
        let name = self.change.name.ok_or_else(|| Error::invalid("body", "must give a name"))?;
        let known = locked_user(cx, cx.caller.person()?.id).await?;
        let now = cx.now();
        let user = UserRecord { name: name.into(), is_name_chosen: true, updated_at: now, ..known };
        cx.tx().update_user(&user).await?;
        cx.audit.resource = Some(("user", Some(user.id.uuid()), None));
        account(cx, user).await
    }
}
