//! Changing one's account.

use serde::Deserialize;

use super::Account;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{DisplayName, Error, Result};
use crate::store::UserRecord;

/// What changes. At least one thing must.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AccountChange {
    /// What the person is called from now on, whatever their identity provider says.
    #[cfg_attr(feature = "openapi", schema(value_type = DisplayName))]
    pub name: Option<DisplayName>,
}

/// Changes the caller's account.
#[derive(Debug)]
pub struct UpdateAccount {
    /// What changes.
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
        let now = cx.now();
        let known = cx.locked_user(cx.caller.person()?.id).await?;
        let user = UserRecord { name: name.into(), is_name_chosen: true, updated_at: now, ..known };
        cx.tx().update_user(&user).await?;
        cx.note.resource = Some(("user", Some(user.id.uuid()), None));
        cx.account(user).await
    }
}
