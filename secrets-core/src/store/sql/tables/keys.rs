use async_trait::async_trait;
use uuid::Uuid;

use super::projects::key;
use super::{Connected, Row, Session, Transaction, bigint};
use crate::crypto::{ProjectKeyRecord, Sealed};
use crate::model::{EnvironmentId, ProjectId, Subject, Time};
use crate::store::{
    KeyReads, KeyWrites, ProjectKeyCounts, ReplacedKey, SealedColumn, SealedRow, StoreError,
    StoreResult,
};

#[async_trait]
impl<C: Connected> KeyReads for Session<C> {
    async fn project_key_request(&mut self) -> StoreResult<Option<Time>> {
        let statement = sqlx::query("SELECT requested_at FROM project_key_requests");
        self.one("project_key_requests", statement, |row| row.get("requested_at")).await
    }

    async fn aged_project_keys(
        &mut self,
        before: Time,
        limit: u32,
    ) -> StoreResult<Vec<ProjectKeyRecord>> {
        // Keys of earlier program versions have no creation time: that of their project is used.
        let statement = sqlx::query(
            "SELECT y.project_id AS id, y.version, y.kek_id, y.wrapped
             FROM project_keys y JOIN projects p ON p.id = y.project_id
             WHERE y.replaced_at IS NULL AND COALESCE(y.created_at, p.created_at) < $1
                 AND length(y.wrapped) > 0
             ORDER BY y.project_id
             LIMIT $2",
        );
        self.all("project_keys", statement.bind(before).bind(i64::from(limit)), key).await
    }

    async fn replaced_project_keys(
        &mut self,
        after: Option<(ProjectId, u32)>,
        limit: u32,
    ) -> StoreResult<Vec<ReplacedKey>> {
        let (project, version) = after.unwrap_or((ProjectId::NIL, 0));
        let statement = sqlx::query(
            "SELECT y.project_id AS id, y.version, y.kek_id, y.wrapped, y.replaced_at,
                    n.version AS newest_version, n.kek_id AS newest_kek_id,
                    n.wrapped AS newest_wrapped
             FROM project_keys y JOIN project_keys n
                 ON n.project_id = y.project_id AND n.replaced_at IS NULL
             WHERE y.replaced_at IS NOT NULL AND y.retired_at IS NULL
                 AND (y.project_id, y.version) > ($1, $2) AND length(y.wrapped) > 0
             ORDER BY y.project_id, y.version
             LIMIT $3",
        )
        .bind(project.uuid())
        .bind(i64::from(version))
        .bind(i64::from(limit));
        self.all("project_keys", statement, replaced).await
    }

    async fn project_key_counts(&mut self) -> StoreResult<ProjectKeyCounts> {
        let statement = sqlx::query(
            "SELECT COUNT(*) - COUNT(replaced_at) AS present,
                    COUNT(replaced_at) - COUNT(retired_at) AS replaced,
                    COUNT(retired_at) AS retired
             FROM project_keys WHERE length(wrapped) > 0",
        );
        let counts = self.one("project_keys", statement, |row| {
            Ok(ProjectKeyCounts {
                current: row.number("present")?,
                replaced: row.number("replaced")?,
                retired: row.number("retired")?,
            })
        });
        Ok(counts.await?.unwrap_or_default())
    }

    async fn all_environments(&mut self, project: ProjectId) -> StoreResult<Vec<EnvironmentId>> {
        let statement =
            sqlx::query("SELECT id FROM environments WHERE project_id = $1 ORDER BY id");
        self.all("environments", statement.bind(project.uuid()), |row| row.id("id")).await
    }

    async fn sealed_rows(
        &mut self,
        column: SealedColumn,
        (environment, key_version): (EnvironmentId, u32),
        (object, version): (Uuid, u64),
        limit: u32,
    ) -> StoreResult<Vec<SealedRow>> {
        let header = key_version.to_be_bytes();
        let statement = sqlx::query(select(column))
            .bind(environment.uuid())
            .bind(header.as_slice())
            .bind(object)
            .bind(bigint(version)?)
            .bind(i64::from(limit));
        self.all("encrypted records", statement, sealed_row).await
    }
}

#[async_trait]
impl KeyWrites for Session<Transaction> {
    async fn request_project_keys(&mut self, at: Time) -> StoreResult<()> {
        let statement = sqlx::query(
            "INSERT INTO project_key_requests (singleton, requested_at) VALUES (1, $1)
             ON CONFLICT (singleton) DO UPDATE SET requested_at = excluded.requested_at
             WHERE project_key_requests.requested_at < excluded.requested_at",
        );
        self.write(statement.bind(at)).await.map(drop)
    }

    async fn finish_project_key_request(&mut self, at: Time) -> StoreResult<()> {
        let statement = sqlx::query("DELETE FROM project_key_requests WHERE requested_at <= $1");
        self.write(statement.bind(at)).await.map(drop)
    }

    async fn insert_project_key(&mut self, key: &ProjectKeyRecord, now: Time) -> StoreResult<()> {
        // First, to lock the row of the previous key, which a purge would change and delete.
        let statement = sqlx::query(
            "UPDATE project_keys SET replaced_at = $1
             WHERE project_id = $2 AND version < $3 AND replaced_at IS NULL
                 AND length(wrapped) > 0",
        )
        .bind(now)
        .bind(key.project.uuid())
        .bind(i64::from(key.version));
        if self.write(statement).await? == 0 {
            return Err(StoreError::Duplicate(Subject::Project));
        }
        let statement = sqlx::query(
            "INSERT INTO project_keys (project_id, version, kek_id, wrapped, created_at)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT DO NOTHING",
        )
        .bind(key.project.uuid())
        .bind(i64::from(key.version))
        .bind(i64::from(key.kek_id))
        .bind(&key.wrapped)
        .bind(now);
        self.insert(Subject::Project, statement).await
    }

    async fn lock_project_key(&mut self, project: ProjectId, version: u32) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE project_keys SET kek_id = kek_id
             WHERE project_id = $1 AND version = $2
                 AND replaced_at IS NOT NULL AND retired_at IS NULL AND length(wrapped) > 0",
        )
        .bind(project.uuid())
        .bind(i64::from(version));
        self.change(Subject::Project, statement).await
    }

    async fn replace_sealed(
        &mut self,
        column: SealedColumn,
        row: &SealedRow,
        sealed: &Sealed,
    ) -> StoreResult<bool> {
        let statement = sqlx::query(update(column))
            .bind(sealed.as_bytes())
            .bind(row.object)
            .bind(row.sealed.as_bytes());
        let statement = match column {
            SealedColumn::Value | SealedColumn::PreviousValue => {
                statement.bind(bigint(row.version)?)
            }
            _ => statement,
        };
        Ok(self.write(statement).await? > 0)
    }

    async fn retire_project_key(
        &mut self,
        project: ProjectId,
        version: u32,
        now: Time,
    ) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE project_keys SET retired_at = $1
             WHERE project_id = $2 AND version = $3
                 AND replaced_at IS NOT NULL AND retired_at IS NULL AND length(wrapped) > 0",
        )
        .bind(now)
        .bind(project.uuid())
        .bind(i64::from(version));
        self.change(Subject::Project, statement).await
    }

    async fn destroy_project_keys(&mut self, project: ProjectId, before: Time) -> StoreResult<u64> {
        // Locks the row of the project, so that it is not restored at the same time.
        let hold = sqlx::query(
            "UPDATE projects SET updated_at = updated_at WHERE id = $1 AND deleted_at < $2",
        );
        if self.write(hold.bind(project.uuid()).bind(before)).await? == 0 {
            return Ok(0);
        }
        // Until no key is left: on PostgreSQL, a statement that waited for the row of a key does
        // not see the next version of the key, which was committed meanwhile.
        let mut destroyed = 0;
        loop {
            let statement = sqlx::query(
                "UPDATE project_keys SET wrapped = $1
                 WHERE project_id = $2 AND length(wrapped) > 0",
            );
            match self.write(statement.bind(DESTROYED).bind(project.uuid())).await? {
                0 => return Ok(destroyed),
                more => destroyed += more,
            }
        }
    }
}

/// Value that replaces the wrapped key of a destroyed project key.
pub(super) const DESTROYED: &[u8] = &[];

/// First part of a query for encrypted records by the version of their key. The version is in bytes
/// 4 to 7 (counted from 1) of a record.
macro_rules! select {
    ($fields:literal from $tables:literal: $sealed:literal of $object:literal, $version:literal) => {
        concat!(
            "SELECT e.id AS environment_id, ",
            $object,
            " AS object, ",
            $fields,
            ", CAST(",
            $version,
            " AS BIGINT) AS version, ",
            $sealed,
            " AS sealed FROM environments e JOIN ",
            $tables,
            " WHERE e.id = $1 AND substr(",
            $sealed,
            ", 4, 4) = $2 AND (",
            $object,
            ", CAST(",
            $version,
            " AS BIGINT)) > ($3, $4) ORDER BY object, version LIMIT $5"
        )
    };
}

fn select(column: SealedColumn) -> &'static str {
    match column {
        SealedColumn::Value => select!(
            "s.key, s.hidden" from "secrets s ON s.environment_id = e.id":
            "s.sealed" of "s.id", "s.version"
        ),
        SealedColumn::Description => select!(
            "s.key, FALSE AS hidden" from "secrets s ON s.environment_id = e.id":
            "s.sealed_description" of "s.id", "0"
        ),
        SealedColumn::PreviousValue => select!(
            "s.key, v.hidden" from "secret_versions v ON v.environment_id = e.id JOIN secrets s ON s.id = v.secret_id":
            "v.sealed" of "v.secret_id", "v.version"
        ),
        SealedColumn::Connection => select!(
            "'' AS key, FALSE AS hidden" from "rotations r ON r.environment_id = e.id":
            "r.connection" of "r.id", "0"
        ),
        SealedColumn::Proxy => select!(
            "'' AS key, FALSE AS hidden" from "rotations r ON r.environment_id = e.id":
            "r.proxy" of "r.id", "0"
        ),
        SealedColumn::Pending => select!(
            "'' AS key, FALSE AS hidden" from "rotations r ON r.environment_id = e.id JOIN rotation_attempts a ON a.rotation_id = r.id":
            "a.pending" of "a.id", "a.sequence"
        ),
        SealedColumn::Webhook => select!(
            "'' AS key, FALSE AS hidden" from "rotations r ON r.environment_id = e.id JOIN webhooks w ON w.rotation_id = r.id":
            "w.sealed" of "w.id", "0"
        ),
    }
}

fn update(column: SealedColumn) -> &'static str {
    match column {
        SealedColumn::Value => {
            "UPDATE secrets SET sealed = $1 WHERE id = $2 AND sealed = $3 AND version = $4"
        }
        SealedColumn::Description => {
            "UPDATE secrets SET sealed_description = $1 WHERE id = $2 AND sealed_description = $3"
        }
        SealedColumn::PreviousValue => {
            "UPDATE secret_versions SET sealed = $1
             WHERE secret_id = $2 AND sealed = $3 AND version = $4"
        }
        SealedColumn::Connection => {
            "UPDATE rotations SET connection = $1 WHERE id = $2 AND connection = $3"
        }
        SealedColumn::Proxy => "UPDATE rotations SET proxy = $1 WHERE id = $2 AND proxy = $3",
        SealedColumn::Pending => {
            "UPDATE rotation_attempts SET pending = $1 WHERE id = $2 AND pending = $3"
        }
        SealedColumn::Webhook => "UPDATE webhooks SET sealed = $1 WHERE id = $2 AND sealed = $3",
    }
}

fn replaced(row: &Row<'_>) -> StoreResult<ReplacedKey> {
    Ok(ReplacedKey {
        key: key(row)?,
        replaced_at: row.get("replaced_at")?,
        newest: ProjectKeyRecord {
            project: row.id("id")?,
            version: row.number("newest_version")?,
            kek_id: row.number("newest_kek_id")?,
            wrapped: row.get("newest_wrapped")?,
        },
    })
}

fn sealed_row(row: &Row<'_>) -> StoreResult<SealedRow> {
    Ok(SealedRow {
        environment: row.id("environment_id")?,
        object: row.get("object")?,
        key: row.get("key")?,
        version: row.number("version")?,
        hidden: row.get("hidden")?,
        sealed: Sealed::from_bytes(row.get("sealed")?),
    })
}
