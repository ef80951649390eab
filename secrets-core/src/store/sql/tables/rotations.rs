use std::collections::BTreeSet;

use async_trait::async_trait;
use sqlx::QueryBuilder;

use super::{
    BATCH, Connected, Db, HAS_ARRAYS, Row, Session, Transaction, attempts, begin_savepoint, bigint,
    due, end_savepoint, environments, failed, projects, push_keys, rotation_writes,
};
use crate::crypto::{ProjectKeyRecord, Sealed};
use crate::model::rotations::{ConnectionMethod, PermissionLevel, RotationStatus, Slot};
use crate::model::{
    AttemptId, EnvironmentId, ProjectId, RotationId, RotationName, SecretKey, Subject, TeamId, Time,
};
use crate::store::{
    AttemptRecord, DueRotation, Lease, ProjectRecord, RotationFailure, RotationLocation,
    RotationReads, RotationRecord, RotationSchedule, RotationSettings, RotationSlots,
    RotationWrites, StoreError, StoreResult,
};

#[async_trait]
impl<C: Connected> RotationReads for Session<C> {
    async fn rotations(&mut self, environment: EnvironmentId) -> StoreResult<Vec<RotationRecord>> {
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(rotations),
            " FROM rotations r WHERE r.environment_id = $1"
        ));
        let mut rotations =
            self.all("rotations", statement.bind(environment.uuid()), record).await?;
        // Sorted here, because the database's sort order depends on its locale.
        rotations.sort_unstable_by(|one, other| one.settings.name.cmp(&other.settings.name));
        Ok(rotations)
    }

    async fn rotation_by_name(
        &mut self,
        environment: EnvironmentId,
        name: &RotationName,
    ) -> StoreResult<Option<RotationRecord>> {
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(rotations),
            " FROM rotations r WHERE r.environment_id = $1 AND r.name = $2"
        ));
        let statement = statement.bind(environment.uuid()).bind(name.as_str());
        self.one("rotations", statement, record).await
    }

    async fn rotation(&mut self, rotation: RotationId) -> StoreResult<Option<RotationRecord>> {
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(rotations),
            " FROM rotations r WHERE r.id = $1"
        ));
        self.one("rotations", statement.bind(rotation.uuid()), record).await
    }

    async fn next_rotation(&mut self, from: RotationId) -> StoreResult<Option<RotationRecord>> {
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(rotations),
            " FROM rotations r WHERE r.id >= $1 ORDER BY r.id LIMIT 1"
        ));
        self.one("rotations", statement.bind(from.uuid()), record).await
    }

    async fn next_rotation_id(&mut self, from: RotationId) -> StoreResult<Option<RotationId>> {
        let statement = sqlx::query("SELECT id FROM rotations WHERE id >= $1 ORDER BY id LIMIT 1");
        self.one("rotations", statement.bind(from.uuid()), |row| row.id("id")).await
    }

    async fn rotation_location(
        &mut self,
        rotation: RotationId,
    ) -> StoreResult<Option<RotationLocation>> {
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(environments),
            ", p.team_id, p.name AS project_name, p.slug, p.description AS project_description,
               p.created_by AS project_created_by, p.created_at AS project_created_at,
               p.updated_at AS project_updated_at, p.deleted_at IS NOT NULL AS is_deleted,
               t.plan, y.version, y.kek_id, y.wrapped
             FROM rotations r
             JOIN environments e ON e.id = r.environment_id
             JOIN projects p ON p.id = e.project_id
             JOIN teams t ON t.id = p.team_id
             LEFT JOIN project_keys y ON y.project_id = p.id AND y.version =
                 (SELECT MAX(version) FROM project_keys WHERE project_id = p.id)
             WHERE r.id = $1"
        ));
        self.one("rotations", statement.bind(rotation.uuid()), place).await
    }

    async fn count_rotations(&mut self, team: TeamId) -> StoreResult<u64> {
        let statement = sqlx::query(
            "SELECT COUNT(*) AS count FROM projects p
             JOIN environments e ON e.project_id = p.id
             JOIN rotations r ON r.environment_id = e.id
             WHERE p.team_id = $1 AND p.deleted_at IS NULL",
        );
        self.count(statement.bind(team.uuid())).await
    }

    async fn count_project_rotations(&mut self, project: ProjectId) -> StoreResult<u64> {
        let statement = sqlx::query(
            "SELECT COUNT(*) AS count FROM environments e
             JOIN rotations r ON r.environment_id = e.id
             WHERE e.project_id = $1",
        );
        self.count(statement.bind(project.uuid())).await
    }

    async fn due_rotations(
        &mut self,
        now: Time,
        after: Option<DueRotation>,
        limit: u32,
    ) -> StoreResult<Vec<DueRotation>> {
        self.all("rotations", due::statement(now, after, limit), due::record).await
    }

    async fn managed_keys(
        &mut self,
        environment: EnvironmentId,
        keys: &[SecretKey],
    ) -> StoreResult<Vec<SecretKey>> {
        let mut managed = BTreeSet::new();
        for keys in keys.chunks(BATCH) {
            let mut statement =
                QueryBuilder::<Db>::new("SELECT key FROM rotation_keys WHERE environment_id = ");
            statement.push_bind(environment.uuid()).push(" AND key");
            push_keys(&mut statement, keys);
            let statement = statement.build().persistent(HAS_ARRAYS || keys.len() == 1);
            managed.extend(self.all("rotation_keys", statement, |row| row.name("key")).await?);
        }
        Ok(managed.into_iter().collect())
    }

    async fn open_attempt(&mut self, rotation: RotationId) -> StoreResult<Option<AttemptRecord>> {
        self.one("rotation_attempts", attempts::open(rotation), attempts::record).await
    }

    async fn attempt(&mut self, attempt: AttemptId) -> StoreResult<Option<AttemptRecord>> {
        self.one("rotation_attempts", attempts::one(attempt), attempts::record).await
    }

    async fn concluded_attempts(
        &mut self,
        rotation: RotationId,
        limit: u32,
    ) -> StoreResult<Vec<AttemptRecord>> {
        let statement = attempts::concluded(rotation, limit);
        self.all("rotation_attempts", statement, attempts::record).await
    }
}

#[async_trait]
impl RotationWrites for Session<Transaction> {
    async fn insert_rotation(
        &mut self,
        rotation: &RotationRecord,
        keys: &[SecretKey],
    ) -> StoreResult<()> {
        // A savepoint: if a key is taken, the rotation and the keys reserved so far are rolled
        // back.
        let insertion = rotation_writes::insertion(rotation)?;
        let (connection, limit) = self.0.pooled().await?.parts();
        let insertions = async {
            begin_savepoint(connection).await?;
            let inserted = async {
                let inserted = insertion.execute(&mut *connection).await.map_err(failed)?;
                if inserted.rows_affected() == 0 {
                    return Err(StoreError::Duplicate(Subject::Rotation));
                }
                for key in keys.iter().collect::<BTreeSet<_>>() {
                    let reservation = sqlx::query(
                        "INSERT INTO rotation_keys (environment_id, key, rotation_id)
                         VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                    )
                    .bind(rotation.environment.uuid())
                    .bind(key.as_str())
                    .bind(rotation.id.uuid());
                    let reserved = reservation.execute(&mut *connection).await.map_err(failed)?;
                    if reserved.rows_affected() == 0 {
                        return Err(StoreError::Duplicate(Subject::Secret));
                    }
                }
                Ok(())
            };
            let inserted = inserted.await;
            end_savepoint(connection, inserted).await
        };
        limit.apply(insertions).await
    }

    async fn lock_rotation(&mut self, rotation: RotationId) -> StoreResult<()> {
        let statement = sqlx::query("UPDATE rotations SET updated_at = updated_at WHERE id = $1");
        self.change(Subject::Rotation, statement.bind(rotation.uuid())).await
    }

    async fn update_rotation(&mut self, rotation: &RotationRecord) -> StoreResult<()> {
        self.change(Subject::Rotation, rotation_writes::update(rotation)?).await
    }

    async fn delete_rotation(&mut self, rotation: RotationId) -> StoreResult<()> {
        // The foreign keys cascade to attempts, keys, webhooks and deliveries.
        let statement = sqlx::query("DELETE FROM rotations WHERE id = $1").bind(rotation.uuid());
        self.change(Subject::Rotation, statement).await
    }

    async fn disable_rotations(
        &mut self,
        project: ProjectId,
        code: &str,
        message: &str,
        now: Time,
    ) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE rotations
             SET status = $2, error_code = $3, error_message = $4, error_since = NULL,
                 updated_at = $5, work_at = CASE WHEN EXISTS
                     (SELECT 1 FROM rotation_attempts a
                      WHERE a.rotation_id = rotations.id AND a.completed_at IS NULL)
                     THEN COALESCE(work_at, $5) ELSE retire_at END
             WHERE status <> $2
                 AND environment_id IN (SELECT id FROM environments WHERE project_id = $1)",
        )
        .bind(project.uuid())
        .bind(RotationStatus::Disabled.as_str())
        .bind(code)
        .bind(message)
        .bind(now);
        self.write(statement).await.map(drop)
    }

    async fn acquire_lease(
        &mut self,
        rotation: RotationId,
        now: Time,
        until: Time,
    ) -> StoreResult<Option<Lease>> {
        let statement = sqlx::query(
            "UPDATE rotations SET lease_until = $3, lease_epoch = lease_epoch + 1
             WHERE id = $1 AND (lease_until IS NULL OR lease_until <= $2)
             RETURNING id, lease_epoch",
        );
        let statement = statement.bind(rotation.uuid()).bind(now).bind(until);
        let epoch = self.one("rotations", statement, |row| row.number("lease_epoch")).await?;
        Ok(epoch.map(|epoch| Lease { rotation, epoch, until }))
    }

    async fn extend_lease(&mut self, lease: &Lease) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE rotations SET lease_until = $3
             WHERE id = $1 AND lease_epoch = $2 AND lease_until IS NOT NULL",
        );
        let statement = statement.bind(lease.rotation.uuid()).bind(bigint(lease.epoch)?);
        self.change(Subject::Rotation, statement.bind(lease.until)).await
    }

    async fn release_lease(&mut self, lease: &Lease) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE rotations SET lease_until = NULL WHERE id = $1 AND lease_epoch = $2",
        );
        let statement = statement.bind(lease.rotation.uuid()).bind(bigint(lease.epoch)?);
        self.write(statement).await.map(drop)
    }

    async fn release_all_leases(&mut self) -> StoreResult<()> {
        let statement =
            sqlx::query("UPDATE rotations SET lease_until = NULL WHERE lease_until IS NOT NULL");
        self.write(statement).await.map(drop)
    }

    async fn insert_attempt(&mut self, attempt: &AttemptRecord) -> StoreResult<()> {
        self.insert(Subject::Rotation, attempts::insertion(attempt)?).await
    }

    async fn update_attempt(&mut self, attempt: &AttemptRecord) -> StoreResult<()> {
        self.change(Subject::Rotation, attempts::change(attempt)).await
    }

    async fn trim_attempts(
        &mut self,
        rotation: RotationId,
        kept: u32,
        limit: u32,
    ) -> StoreResult<u64> {
        self.write(attempts::trim(rotation, kept, limit)).await
    }

    async fn prune_attempts(&mut self, before: Time, limit: u32) -> StoreResult<u64> {
        self.write(attempts::prune(before, limit)).await
    }
}

fn record(row: &Row<'_>) -> StoreResult<RotationRecord> {
    Ok(RotationRecord {
        id: row.id("id")?,
        environment: row.id("environment_id")?,
        settings: settings(row)?,
        status: row.one_of("status", RotationStatus::from_name)?,
        failure: RotationFailure {
            code: row.get("error_code")?,
            message: row.get("error_message")?,
            since: row.get("error_since")?,
            count: row.number("failures")?,
        },
        announced_at: row.get("announced_at")?,
        slots: RotationSlots {
            active: row.one_of_if_any("active_slot", Slot::from_name)?,
            retire_at: row.get("retire_at")?,
            check_at: row.get("check_at")?,
            checks: row.number("checks")?,
        },
        schedule: RotationSchedule {
            next_at: row.get("next_rotation_at")?,
            remaining: row.number_if_any("remaining")?,
            last_at: row.get("last_rotation_at")?,
            work_at: row.get("work_at")?,
        },
        identity: row.get("identity")?,
        sequence: row.number("sequence")?,
        created_by: row.get("created_by")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

fn settings(row: &Row<'_>) -> StoreResult<RotationSettings> {
    Ok(RotationSettings {
        name: row.name("name")?,
        integration: row.name("integration")?,
        method: row.one_of("method", ConnectionMethod::from_name)?,
        level: row.one_of("level", PermissionLevel::from_name)?,
        connection: row.get("connection").map(Sealed::from_bytes)?,
        proxy: row.get::<Option<_>>("proxy")?.map(Sealed::from_bytes),
        keys: row.get("keys")?,
        interval_days: row.number("interval_days")?,
    })
}

fn place(row: &Row<'_>) -> StoreResult<RotationLocation> {
    let environment = environments::record(row)?;
    let project = ProjectRecord {
        id: environment.project,
        team: row.id("team_id")?,
        name: row.name("project_name")?,
        slug: row.name("slug")?,
        description: row.get("project_description")?,
        created_by: row.get("project_created_by")?,
        created_at: row.get("project_created_at")?,
        updated_at: row.get("project_updated_at")?,
    };
    let key = ProjectKeyRecord {
        project: project.id,
        version: row.number("version")?,
        kek_id: row.number("kek_id")?,
        wrapped: row.get("wrapped")?,
    };
    let (is_deleted, plan) = (row.get("is_deleted")?, projects::plan(row)?);
    Ok(RotationLocation { project, is_deleted, plan, environment, key })
}
