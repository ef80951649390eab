//! Registry: calls every operation by its name, with JSON input and output. Used by language
//! bindings.
//!
//! The input is one flat object. It contains the parameters of the HTTP endpoint's path (`project`,
//! `environment`, `team`, `key`) as well as those that the endpoint takes from the query or the
//! body. The output is the operation's output, without the enclosing object that the HTTP API adds.

mod input;

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

use self::input::Input;
use crate::account::{
    DeleteAccount, ExportAccount, ExportAccountSecrets, GetAccount, NewArchive, UpdateAccount,
};
use crate::audit::{AuditQuery, AuditTeams, ListAudit, VerifyAudit};
use crate::billing::{GetBilling, GetUsage, SetPlan};
use crate::device_login::{
    ApproveDeviceLogin, DenyDeviceLogin, LookUpDeviceLogin, PollDeviceLogin, StartDeviceLogin,
    UserCode,
};
use crate::engine::{Caller, Engine, Task};
use crate::environments::{
    CreateEnvironment, DeleteEnvironment, GetEnvironment, ListEnvironments, UpdateEnvironment,
};
use crate::eso::{GetEsoSecret, GetEsoSecrets};
use crate::invitations::{
    AcceptInvitation, InviteMember, ListInvitations, ListMyInvitations, LookUpInvitation,
    ResendInvitation, RevokeInvitation,
};
use crate::members::{RemoveMember, UpdateMember};
use crate::model::{Error, ProjectRef, Result, Subject, Violation};
use crate::permissions::{
    DeletePermission, DeletePermissionDefaults, GetMyPermissions, GetPermissionDefaults,
    ListPermissions, PutPermission, PutPermissionDefaults, PutPermissions,
};
use crate::projects::{
    CreateProject, DeleteProject, GetProject, ListProjects, RestoreProject, UpdateProject,
};
use crate::rotations::webhooks::{
    CreateWebhook, DeleteWebhook, ListDeliveries, ListWebhooks, Redeliver, TestWebhook,
};
use crate::rotations::{
    CreateRotation, DeleteRotation, GetRotation, ListRotations, ReadRotationHistory, RotateNow,
    TestConnection, TestRotation, UpdateRotation,
};
use crate::scans::{CreateScan, DeleteScan, GetScan, ListScans, UpdateFinding};
use crate::secrets::{
    ChangeSecrets, CompareSecrets, CreateSecret, DeleteSecret, ExportBundle, ExportSecrets,
    GetSecret, ImportSecrets, ListSecrets, Precondition, ReadHistory, RollBackSecret,
    SubmittedChangeSet, SubmittedImport, UpdateSecret,
};
use crate::service::Service;
use crate::sessions::{
    ListCliSessions, ListSessions, RevokeCliSession, RevokeOtherSessions, RevokeSession, SignOut,
};
use crate::teams::{CreateTeam, GetTeam, ListTeams};
use crate::tokens::{CreateToken, DeleteToken, ListTokens, RotateToken};
use crate::users::{ReadMe, SyncUser};

/// Future that returns the JSON output of an operation.
type Called<'a> = Pin<Box<dyn Future<Output = Result<Value>> + Send + 'a>>;

/// Generates the table of operations from a list: each operation with the expression that builds it
/// from the input.
macro_rules! operations {
    (|$input:ident, $engine:ident| $($task:ident $make:tt)*) => {
        /// Names of all operations.
        pub const NAMES: &[&str] = &[$(<$task as Task>::NAME),*];

        /// True if the named operation can take several seconds ([`Task::IS_LONG`]). Language
        /// bindings run such operations on a separate thread, so that they do not block the event
        /// loop or the handling of signals.
        #[must_use]
        pub fn is_long(name: &str) -> bool {
            $(if name == <$task as Task>::NAME {
                return <$task as Task>::IS_LONG;
            })*
            false
        }

        fn find<'a>(
            engine: &'a Engine,
            caller: &'a Caller,
            name: &str,
            input: Value,
        ) -> Option<Called<'a>> {
            $(if name == <$task as Task>::NAME {
                return Some(Box::pin(perform(engine, caller, input, |$input, $engine| {
                    // Some expressions use only one of the two variables, or none.
                    let _ = (&*$input, $engine);
                    Ok($task $make)
                })));
            })*
            None
        }
    };
}

/// Performs the named operation for the caller. Fails with [`Error::NotFound`] if no operation has
/// this name.
pub async fn call(service: &Service, caller: &Caller, name: &str, input: Value) -> Result<Value> {
    match find(service.engine(), caller, name, input) {
        Some(outcome) => outcome.await,
        None => Err(Error::NotFound(Subject::Resource)),
    }
}

async fn perform<T: Task>(
    engine: &Engine,
    caller: &Caller,
    input: Value,
    make: fn(&mut Input, &Engine) -> Result<T>,
) -> Result<Value> {
    // As over HTTP: a caller who is not allowed learns nothing about the validity of the input.
    T::CALLERS.admit(caller)?;
    let mut input = Input::new(input)?;
    let task = make(&mut input, engine)?;
    input.end()?;
    let output = task.run(engine, caller).await?;
    serde_json::to_value(output).map_err(Error::internal)
}

operations! { |input, engine|
    SyncUser {}
    ReadMe {}
    GetAccount {}
    UpdateAccount { change: input.rest()? }
    DeleteAccount { confirmation: input.rest()? }
    ExportAccount {}
    ExportAccountSecrets { passphrase: input.rest::<NewArchive>()?.passphrase()? }

    ListTeams {}
    CreateTeam { team: input.rest()? }
    GetTeam { team: input.id("team")? }
    UpdateMember { team: input.id("team")?, user: input.id("user")?, change: input.rest()? }
    RemoveMember { team: input.id("team")?, user: input.id("user")? }
    InviteMember {
        team: input.id("team")?,
        invitation: input.rest()?,
        links: engine.options().links.clone(),
    }
    ListInvitations { team: input.id("team")?, links: engine.options().links.clone() }
    RevokeInvitation { team: input.id("team")?, invitation: input.id("invitation")? }
    ResendInvitation { team: input.id("team")?, invitation: input.id("invitation")? }
    ListMyInvitations {}
    LookUpInvitation { token: input.text("token")?.as_str().into() }
    AcceptInvitation { token: input.text("token")?.as_str().into() }
    GetUsage { team: input.id("team")? }
    GetBilling { team: input.id("team")? }
    SetPlan { team: input.id("team")?, plan: input.rest()? }

    ListProjects {}
    CreateProject { project: input.rest()? }
    GetProject { project: input.project()? }
    UpdateProject { project: input.project()?, change: input.rest()? }
    DeleteProject { project: input.project()? }
    RestoreProject { project: input.project()? }

    ListEnvironments { project: input.project()? }
    CreateEnvironment { project: input.project()?, environment: input.rest()? }
    GetEnvironment { at: input.environment()? }
    UpdateEnvironment { at: input.environment()?, change: input.rest()? }
    DeleteEnvironment { at: input.environment()? }

    GetMyPermissions { project: input.project()? }
    ListPermissions { at: input.environment()? }
    PutPermissions { at: input.environment()?, permissions: input.rest()? }
    PutPermission { at: input.environment()?, user: input.id("user")?, permission: input.rest()? }
    DeletePermission { at: input.environment()?, user: input.id("user")? }
    GetPermissionDefaults { project: input.project()? }
    PutPermissionDefaults { project: input.project()?, defaults: input.rest()? }
    DeletePermissionDefaults { project: input.project()? }

    ListSecrets { at: input.environment()?, precondition: Precondition::None }
    CreateSecret { at: input.environment()?, secret: input.rest()? }
    GetSecret { at: input.environment()?, key: input.key()? }
    UpdateSecret { at: input.environment()?, key: input.key()?, change: input.rest()? }
    DeleteSecret {
        at: input.environment()?,
        key: input.key()?,
        expected_version: input.number("expected_version")?,
    }
    ExportSecrets {
        at: input.environment()?,
        format: input.parsed("format", |text| {
            text.parse().map_err(|rule: &str| Error::invalid("format", rule))
        })?,
        name: input.parsed("name", |text| {
            text.parse().map_err(|broken: Violation| Error::Invalid(vec![broken.at("name")]))
        })?,
        precondition: Precondition::None,
    }
    ImportSecrets {
        at: input.environment()?,
        import: input.rest::<SubmittedImport>()?.try_into()?,
    }
    ExportBundle { at: input.environment()?, bundle: input.rest()? }
    ReadHistory {
        at: input.environment()?,
        key: input.key()?,
        values: input.flag("values")?,
        before: input.number("before")?,
        limit: input.number("limit")?,
    }
    RollBackSecret { at: input.environment()?, key: input.key()?, rollback: input.rest()? }

    ChangeSecrets {
        project: input.project()?,
        change_set: input.rest::<SubmittedChangeSet>()?.try_into()?,
    }
    CompareSecrets {
        project: input.project()?,
        environments: input.parsed("environments", CompareSecrets::environments)?,
        equal: input.flag("equal")?.unwrap_or_default(),
        precondition: Precondition::None,
    }

    GetEsoSecret { at: input.environment_as("env")?, key: input.key()? }
    GetEsoSecrets { at: input.environment_as("env")?, precondition: Precondition::None }

    ListTokens { team: input.id_if_any("team_id")? }
    CreateToken { token: input.rest()? }
    RotateToken { token: input.id("token")?, rotation: input.rest_if_any()? }
    DeleteToken { token: input.id("token")? }

    ListRotations { at: input.environment()? }
    CreateRotation { at: input.environment()?, rotation: input.rest()? }
    TestConnection { at: input.environment()?, candidate: input.rest()? }
    GetRotation { at: input.environment()?, name: input.text("rotation")? }
    UpdateRotation {
        at: input.environment()?,
        name: input.text("rotation")?,
        change: input.rest()?,
    }
    DeleteRotation {
        at: input.environment()?,
        name: input.text("rotation")?,
        revoke: input.flag("revoke")?.unwrap_or_default(),
    }
    RotateNow { at: input.environment()?, name: input.text("rotation")? }
    TestRotation { at: input.environment()?, name: input.text("rotation")? }
    ReadRotationHistory { at: input.environment()?, name: input.text("rotation")? }

    ListWebhooks { at: input.environment()?, rotation: input.text("rotation")? }
    CreateWebhook {
        at: input.environment()?,
        rotation: input.text("rotation")?,
        webhook: input.rest()?,
    }
    DeleteWebhook {
        at: input.environment()?,
        rotation: input.text("rotation")?,
        webhook: input.id("webhook")?,
    }
    TestWebhook {
        at: input.environment()?,
        rotation: input.text("rotation")?,
        webhook: input.id("webhook")?,
    }
    ListDeliveries {
        at: input.environment()?,
        rotation: input.text("rotation")?,
        webhook: input.id("webhook")?,
    }
    Redeliver {
        at: input.environment()?,
        rotation: input.text("rotation")?,
        webhook: input.id("webhook")?,
        delivery: input.id("delivery")?,
    }

    ListAudit { whose: whose(input)?, query: audit_query(input)? }
    VerifyAudit { team: input.id("team")? }

    ListScans { team: input.id_if_any("team_id")?, project: project_if_any(input)? }
    CreateScan { scan: input.rest()? }
    GetScan { scan: input.id("scan")? }
    DeleteScan { scan: input.id("scan")? }
    UpdateFinding {
        scan: input.id("scan")?,
        finding: input.id("finding")?,
        change: input.rest()?,
    }

    StartDeviceLogin { base: engine.options().links.clone(), login: input.rest()? }
    PollDeviceLogin {
        grant_type: input.text_if_any("grant_type")?,
        device_code: input.text_if_any("device_code")?,
        client_id: input.text_if_any("client_id")?,
    }
    LookUpDeviceLogin { code: user_code(input)? }
    ApproveDeviceLogin { code: user_code(input)? }
    DenyDeviceLogin { code: user_code(input)? }
    ListCliSessions {}
    RevokeCliSession { session: input.id_if_any("id")? }
    ListSessions {}
    RevokeSession { session: input.id("session")? }
    RevokeOtherSessions {}
    SignOut {}
}

fn user_code(input: &mut Input) -> Result<UserCode> {
    Ok(UserCode::new(&input.text("user_code")?))
}

fn project_if_any(input: &mut Input) -> Result<Option<ProjectRef>> {
    Ok(input.text_if_any("project_id")?.map(Into::into))
}

fn whose(input: &mut Input) -> Result<AuditTeams> {
    let team = input.id_if_any("team_id")?;
    Ok(team.map_or(AuditTeams::Managed, |team| AuditTeams::Team(Some(team))))
}

fn audit_query(input: &mut Input) -> Result<AuditQuery> {
    Ok(AuditQuery {
        action: input.texts("action")?,
        actor_id: input.text_if_any("actor_id")?,
        actor_type: input.text_if_any("actor_type")?,
        project_id: input.text_if_any("project_id")?,
        environment_id: input.text_if_any("environment_id")?,
        resource_type: input.text_if_any("resource_type")?,
        resource_id: input.text_if_any("resource_id")?,
        key: input.text_if_any("key")?,
        outcome: input.text_if_any("outcome")?,
        ip: input.text_if_any("ip")?,
        from: input.text_if_any("from")?,
        to: input.text_if_any("to")?,
        limit: input.number("limit")?.map(|limit| limit.to_string()),
        cursor: input.text_if_any("cursor")?,
        order: input.text_if_any("order")?,
        // Calls by name always return JSON.
        format: None,
    })
}
