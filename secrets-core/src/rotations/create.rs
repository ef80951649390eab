//! Creation of rotations.

use serde::Deserialize;

use super::Rotation;
use super::connection::{self, Connection, ProxyConnection};
use super::keys::{InjectedKeys, SecretMapping};
use super::schedule::work_at;
use super::sealing::Sealer;
use crate::access::{EnvironmentScope, LockedRow};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::rotations::{ConnectionMethod, Integration, PermissionLevel};
use crate::model::{
    Code, EnvironmentPath, Error, Permission, Quota, Result, RotationId, RotationName, Subject,
    object, whole,
};
use crate::store::{RotationRecord, RotationSettings, StoreError};

/// Fields of a new rotation.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(example = json!({
    "name": "main-db",
    "integration_type": "postgresql",
    "connection_method": "direct",
    "connection": {
        "host": "db.example.com",
        "port": 5432,
        "database": "orders",
        "admin_username": "rotator",
        "admin_password": "a-long-password",
        "ssl_mode": "verify-full",
    },
    "rotation_interval_days": 30,
    "permission_level": "read_write",
})))]
#[serde(deny_unknown_fields)]
pub struct NewRotation {
    /// Name of the rotation, unique within the environment.
    pub name: RotationName,
    /// Kind of database.
    pub integration_type: Integration,
    /// Connection method: direct, or through an AWS Lambda function (proxy).
    pub connection_method: ConnectionMethod,
    /// Connection settings of the database.
    #[serde(deserialize_with = "object::one")]
    pub connection: Connection,
    /// AWS Lambda function that connects to the database. Required if `connection_method` is
    /// `proxied`.
    #[serde(default, deserialize_with = "object::optional")]
    pub proxy: Option<ProxyConnection>,
    /// Number of days between rotations: 1 to 365.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 365))]
    #[serde(deserialize_with = "whole::number")]
    pub rotation_interval_days: u32,
    /// Privileges of the rotated database users. Defaults to `read_write`.
    pub permission_level: Option<PermissionLevel>,
    /// Secret keys under which the parts of the credential are stored, in place of the default
    /// secret keys.
    #[serde(default, deserialize_with = "object::optional")]
    pub secret_mapping: Option<SecretMapping>,
    /// True to rotate the credential immediately after the rotation is created. Defaults to `false`.
    pub rotate_immediately: Option<bool>,
}

/// Creates a rotation. Does not connect to the database: use a connection test for that.
#[derive(Debug)]
pub struct CreateRotation {
    /// Environment in which the rotation is created.
    pub at: EnvironmentPath,
    /// Fields of the new rotation.
    pub rotation: NewRotation,
}

impl Operation for CreateRotation {
    const NAME: &'static str = "rotation.create";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("rotation.created");
    type Access = Write;
    type Output = Rotation;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Rotation> {
        // The lock on the team keeps the count of its rotations valid.
        let rows = &[LockedRow::Team, LockedRow::Secrets];
        let scope = cx.locked_environment(&self.at, Permission::Write, rows).await?;
        let NewRotation { name, integration_type, connection_method, connection, .. } =
            self.rotation;
        let interval_days = self.rotation.rotation_interval_days;
        check_interval(interval_days)?;
        let keys = InjectedKeys::new(&name, self.rotation.secret_mapping.unwrap_or_default())?;
        let (policy, proxy) = (&cx.options().egress, self.rotation.proxy);
        let kind = connection::requested_kind(cx.ports(), &integration_type)?;
        let target = connection::target(policy, kind, connection_method, connection, proxy)?;
        let current = count_rotations(cx, &scope).await?;

        let (id, now) = (RotationId::draw(cx.now()), cx.now());
        let (connection, proxy) = connection::seal(&Sealer::of(cx, &scope), id, &target)?;
        let settings = RotationSettings {
            name,
            integration: integration_type,
            method: connection_method,
            level: self.rotation.permission_level.unwrap_or(PermissionLevel::ReadWrite),
            connection,
            proxy,
            keys: keys.to_text()?,
            interval_days,
        };
        let mut record = RotationRecord::new(id, scope.environment.id, settings, now);
        record.created_by = cx.caller.actor();
        if self.rotation.rotate_immediately != Some(true) {
            record.schedule.next_at = cx.ports().timings().next(&record, now);
        }
        record.schedule.work_at = work_at(&record, false, now);
        insert_with_keys(cx, &record, &keys).await?;
        scope.plan.admit(Quota::Rotations, current, 1)?;
        cx.set_resource("rotation", id.uuid(), record.settings.name.as_str());
        cx.add_detail("integration_type", record.settings.integration.as_str());
        cx.add_detail("permission_level", record.settings.level.as_str());
        Rotation::new(record)
    }
}

/// Returns the number of rotations of the team; zero if its plan does not limit them.
async fn count_rotations(cx: &mut Context<'_, Write>, scope: &EnvironmentScope) -> Result<u64> {
    if scope.plan.limit(Quota::Rotations).is_none() {
        return Ok(0);
    }
    Ok(cx.reads().count_rotations(scope.project.team).await?)
}

/// Inserts the rotation and reserves the secret keys that it writes. Fails if a secret with one of
/// these keys already exists. The caller must have locked the environment's row before.
async fn insert_with_keys(
    cx: &mut Context<'_, Write>,
    record: &RotationRecord,
    keys: &InjectedKeys,
) -> Result<()> {
    let all = keys.all();
    let taken = cx.reads().secrets(record.environment, &all).await?;
    if let Some(secret) = taken.first() {
        return Err(key_exists(secret.key.as_str()));
    }
    match cx.tx().insert_rotation(record, &all).await {
        Err(StoreError::Duplicate(Subject::Secret)) => {
            let managed = cx.reads().managed_keys(record.environment, &all).await?;
            Err(key_exists(managed.first().map_or("", |key| key.as_str())))
        }
        Err(error) => {
            Err(error
                .taken(Error::taken("name", "is taken by another rotation of this environment")))
        }
        Ok(()) => Ok(()),
    }
}

fn key_exists(key: &str) -> Error {
    Error::Refused {
        code: Code::AlreadyExists,
        reason: format!(
            "this rotation would write {key}, which already exists in the environment; choose another key with secret_mapping"
        )
        .into(),
    }
}

/// Fails unless the rotation interval is 1 to 365 days.
pub(super) fn check_interval(days: u32) -> Result<()> {
    if (1..=365).contains(&days) {
        return Ok(());
    }
    Err(Error::invalid("rotation_interval_days", "must be 1 to 365"))
}
