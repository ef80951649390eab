use async_trait::async_trait;

use super::super::super::error::broken;
use super::{Connected, Row, Session, Transaction};
use crate::model::{EnvironmentId, MemberAccess, ProjectId, Subject, Time, UserId};
use crate::store::{
    EnvironmentDefault, PermissionDefault, PermissionReads, PermissionRecord, PermissionWrites,
    StoreResult,
};

#[async_trait]
impl<C: Connected> PermissionReads for Session<C> {
    async fn permissions(
        &mut self,
        environment: EnvironmentId,
    ) -> StoreResult<Vec<PermissionRecord>> {
        let statement = sqlx::query(
            "SELECT environment_id AS id, user_id, team_id, access, granted_by, created_at,
                 updated_at
             FROM permissions WHERE environment_id = $1
             ORDER BY created_at, user_id",
        );
        self.all("permissions", statement.bind(environment.uuid()), record).await
    }

    async fn permissions_of(
        &mut self,
        project: ProjectId,
        user: UserId,
    ) -> StoreResult<Vec<PermissionRecord>> {
        let statement = sqlx::query(
            "SELECT g.environment_id AS id, g.user_id, g.team_id, g.access, g.granted_by,
                 g.created_at, g.updated_at
             FROM environments e
             JOIN permissions g ON g.environment_id = e.id AND g.user_id = $2
             WHERE e.project_id = $1
             ORDER BY g.environment_id",
        );
        self.all("permissions", statement.bind(project.uuid()).bind(user.uuid()), record).await
    }

    async fn permission_default(
        &mut self,
        project: ProjectId,
    ) -> StoreResult<Option<PermissionDefault>> {
        let statement = sqlx::query(
            "SELECT project_id AS id, access, set_by, updated_at
             FROM permission_defaults WHERE project_id = $1",
        );
        self.one("permission_defaults", statement.bind(project.uuid()), default).await
    }

    async fn environment_defaults(
        &mut self,
        project: ProjectId,
    ) -> StoreResult<Vec<EnvironmentDefault>> {
        let statement = sqlx::query(
            "SELECT d.environment_id AS id, d.access, d.set_by, d.created_at
             FROM environments e
             JOIN environment_defaults d ON d.environment_id = e.id
             WHERE e.project_id = $1
             ORDER BY d.environment_id",
        );
        let statement = statement.bind(project.uuid());
        self.all("environment_defaults", statement, environment_default).await
    }
}

#[async_trait]
impl PermissionWrites for Session<Transaction> {
    async fn put_permission(&mut self, permission: &PermissionRecord) -> StoreResult<Time> {
        let statement = sqlx::query(
            "INSERT INTO permissions
                 (environment_id, user_id, team_id, access, granted_by, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (environment_id, user_id) DO UPDATE SET
                 access = excluded.access, granted_by = excluded.granted_by,
                 updated_at = excluded.updated_at
             RETURNING environment_id AS id, created_at",
        )
        .bind(permission.environment.uuid())
        .bind(permission.user.uuid())
        .bind(permission.team.uuid())
        .bind(permission.access.as_str())
        .bind(permission.granted_by)
        .bind(permission.created_at)
        .bind(permission.updated_at);
        let first = self.one("permissions", statement, |row| row.get("created_at")).await?;
        first.ok_or_else(|| broken("an insert returned no row"))
    }

    async fn delete_permission(
        &mut self,
        environment: EnvironmentId,
        user: UserId,
    ) -> StoreResult<()> {
        let statement =
            sqlx::query("DELETE FROM permissions WHERE environment_id = $1 AND user_id = $2");
        let statement = statement.bind(environment.uuid()).bind(user.uuid());
        self.change(Subject::Permission, statement).await
    }

    async fn put_permission_default(&mut self, default: &PermissionDefault) -> StoreResult<()> {
        let statement = sqlx::query(
            "INSERT INTO permission_defaults (project_id, access, set_by, updated_at)
             VALUES ($1, $2, $3, $4)
             ON CONFLICT (project_id) DO UPDATE SET
                 access = excluded.access, set_by = excluded.set_by,
                 updated_at = excluded.updated_at",
        )
        .bind(default.project.uuid())
        .bind(default.access.as_str())
        .bind(default.set_by)
        .bind(default.updated_at);
        self.write(statement).await.map(drop)
    }

    async fn delete_permission_default(&mut self, project: ProjectId) -> StoreResult<()> {
        let statement = sqlx::query("DELETE FROM permission_defaults WHERE project_id = $1");
        self.change(Subject::Permission, statement.bind(project.uuid())).await
    }

    async fn insert_environment_default(
        &mut self,
        default: &EnvironmentDefault,
    ) -> StoreResult<()> {
        let statement = sqlx::query(
            "INSERT INTO environment_defaults (environment_id, access, set_by, created_at)
             VALUES ($1, $2, $3, $4)",
        )
        .bind(default.environment.uuid())
        .bind(default.access.as_str())
        .bind(default.set_by)
        .bind(default.created_at);
        self.write(statement).await.map(drop)
    }

    async fn delete_environment_defaults(&mut self, project: ProjectId) -> StoreResult<()> {
        let statement = sqlx::query(
            "DELETE FROM environment_defaults
             WHERE environment_id IN (SELECT id FROM environments WHERE project_id = $1)",
        );
        self.write(statement.bind(project.uuid())).await.map(drop)
    }
}

/// Decodes the access level in a column; `None` for NULL.
pub(super) fn granted(row: &Row<'_>, column: &'static str) -> StoreResult<Option<MemberAccess>> {
    match row.get::<Option<&str>>(column)? {
        Some(_) => row.one_of(column, MemberAccess::from_name).map(Some),
        None => Ok(None),
    }
}

fn record(row: &Row<'_>) -> StoreResult<PermissionRecord> {
    Ok(PermissionRecord {
        environment: row.id("id")?,
        user: row.id("user_id")?,
        team: row.id("team_id")?,
        access: row.one_of("access", MemberAccess::from_name)?,
        granted_by: row.get("granted_by")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

fn default(row: &Row<'_>) -> StoreResult<PermissionDefault> {
    Ok(PermissionDefault {
        project: row.id("id")?,
        access: row.one_of("access", MemberAccess::from_name)?,
        set_by: row.get("set_by")?,
        updated_at: row.get("updated_at")?,
    })
}

fn environment_default(row: &Row<'_>) -> StoreResult<EnvironmentDefault> {
    Ok(EnvironmentDefault {
        environment: row.id("id")?,
        access: row.one_of("access", MemberAccess::from_name)?,
        set_by: row.get("set_by")?,
        created_at: row.get("created_at")?,
    })
}
