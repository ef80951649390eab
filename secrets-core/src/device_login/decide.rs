//! Approving or denying a device login.

use serde::{Deserialize, Serialize};

use super::login_of;
use super::{UNKNOWN, UserCode};
use crate::engine::Engine;
use crate::engine::{Audit, Caller, Callers, Context, Lock, Operation, Task, Write};
use crate::model::{Error, Result, SessionKind, Subject};
use crate::store::{DeviceLoginRecord, DeviceStatus, StoreError};

/// Approves or denies the login with this user code. A login can be decided only once.
#[derive(Debug)]
pub struct DecideDeviceLogin {
    /// User code of the login.
    pub code: UserCode,
    /// Decision of the user: approve or deny.
    pub decision: Decision,
}

/// Approves the login with this user code.
#[derive(Debug)]
pub struct ApproveDeviceLogin {
    /// User code of the login.
    pub code: UserCode,
}

/// Denies the login with this user code.
#[derive(Debug)]
pub struct DenyDeviceLogin {
    /// User code of the login.
    pub code: UserCode,
}

/// Decision of a user about a device login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Approve the login, so that the client gets a session.
    Approve,
    /// Deny the login, so that the client gets no session.
    Deny,
}

/// Result of approving or denying a device login.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Decided {
    /// Status: `approved` or `denied`.
    pub status: &'static str,
}

impl Task for ApproveDeviceLogin {
    const NAME: &'static str = "device_login.approve";
    const CALLERS: Callers = <DecideDeviceLogin as Operation>::CALLERS;
    type Output = Decided;

    async fn run(self, engine: &Engine, caller: &Caller) -> Result<Decided> {
        let decision = Decision::Approve;
        engine.perform(caller, DecideDeviceLogin { code: self.code, decision }).await
    }
}

impl Task for DenyDeviceLogin {
    const NAME: &'static str = "device_login.deny";
    const CALLERS: Callers = <DecideDeviceLogin as Operation>::CALLERS;
    type Output = Decided;

    async fn run(self, engine: &Engine, caller: &Caller) -> Result<Decided> {
        let decision = Decision::Deny;
        engine.perform(caller, DecideDeviceLogin { code: self.code, decision }).await
    }
}

impl Operation for DecideDeviceLogin {
    const NAME: &'static str = "device_login.decide";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("cli.authorized");
    type Access = Write;
    type Output = Decided;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Decided> {
        // Otherwise, a stolen command-line session could approve its own replacement, again and
        // again. A browser session cannot do this forever: after its end, a new browser session
        // requires a sign-in at the identity provider.
        let session = cx.caller.as_person()?.session.as_ref();
        if session.is_some_and(|session| session.kind == SessionKind::Cli) {
            return Err(Error::forbidden(
                "a command-line session cannot approve or deny a login: use your browser's session or your identity provider's token",
            ));
        }
        let user = cx.caller.person()?.id;
        let login = login_of(cx, &self.code).await?;
        // Lock the user, so that a concurrent account deletion leaves no decision behind.
        let held = cx.lock(Lock::User(user)).await;
        held.map_err(|error| error.or_not_found(Subject::User))?;
        let status = match self.decision {
            Decision::Approve => DeviceStatus::Approved,
            Decision::Deny => DeviceStatus::Denied,
        };
        let decided = DeviceLoginRecord { status, user: Some(user), ..login };
        match cx.tx().update_device_login(&decided, DeviceStatus::Pending).await {
            Ok(()) => {}
            Err(StoreError::Stale(_)) => return Err(UNKNOWN),
            Err(error) => return Err(error.into()),
        }
        if self.decision == Decision::Deny {
            cx.audit.action = Some("cli.denied");
        }
        cx.audit.team = cx.personal_team().await?;
        let name = decided.client.hostname.as_ref().or(decided.client.name.as_ref());
        cx.set_resource("device_login", decided.id.uuid(), name.map_or("", |name| name.as_str()));
        if let Some(address) = decided.client.address {
            cx.add_detail("client_address", address.to_string());
        }
        Ok(Decided { status: status.as_str() })
    }
}
