use async_trait::async_trait;

use super::super::super::cache::Lookup;
use super::{Connected, Row, Session, Transaction, bigint, resolve, user_or_token};
use crate::crypto::{MANIFEST_BYTES, ManifestEntry, Sealed};
use crate::model::{
    EnvironmentId, EnvironmentName, EnvironmentPath, Principal, ProjectId, Subject,
};
use crate::store::{
    EnvironmentCounters, EnvironmentReads, EnvironmentRecord, EnvironmentWrites, ManifestRecord,
    ResolvedEnvironment, Selection, StoreError, StoreResult,
};

/// SQL statements that delete the permissions in environment $1, and remove it from the scopes of
/// service tokens.
const DELETE_REFERENCES: [&str; 3] = [
    "DELETE FROM permissions WHERE environment_id = $1",
    "DELETE FROM environment_defaults WHERE environment_id = $1",
    "DELETE FROM token_environments WHERE environment_id = $1",
];

/// SQL statement that moves environment $1 to the project with the same ID.
const MOVE: &str = "UPDATE environments SET project_id = id, inherits_from = NULL WHERE id = $1";

#[async_trait]
impl<C: Connected> EnvironmentReads for Session<C> {
    async fn resolve_environment(
        &mut self,
        path: &EnvironmentPath,
        principal: Principal,
        selection: Selection<'_>,
    ) -> StoreResult<Option<ResolvedEnvironment>> {
        let Some(cache) = self.0.cache().await? else {
            return resolve::read(self, path, principal, selection).await;
        };
        let lookup = Lookup { path, principal, selection };
        if let Some(resolved) = cache.resolved(lookup) {
            return Ok(Some(resolved));
        }
        let now = cache.now();
        let resolved = resolve::read(self, path, principal, selection).await?;
        if let Some(resolved) = &resolved {
            cache.keep_resolved(now, lookup, resolved);
        }
        Ok(resolved)
    }

    async fn environments(
        &mut self,
        project: ProjectId,
        principal: Principal,
    ) -> StoreResult<Vec<EnvironmentRecord>> {
        let (_, token) = user_or_token(principal);
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(environments),
            " FROM environments e
              JOIN projects p ON p.id = e.project_id AND p.deleted_at IS NULL
              LEFT JOIN tokens k ON k.id = $2 AND ",
            token_holds_project!(),
            " WHERE e.project_id = $1
                  AND ($2 IS NULL OR k.all_environments OR EXISTS
                       (SELECT 1 FROM token_environments x
                        WHERE x.token_id = k.id AND x.environment_id = e.id))
              ORDER BY e.position, e.created_at, e.id"
        ))
        .bind(project.uuid())
        .bind(token);
        self.all("environments", statement, record).await
    }

    async fn chain(&mut self, environment: EnvironmentId) -> StoreResult<Vec<EnvironmentRecord>> {
        let statement = sqlx::query(concat!(
            "WITH RECURSIVE chain AS (
                 SELECT CAST(0 AS BIGINT) AS depth, ",
            columns!(environments),
            "    FROM environments e JOIN projects p ON p.id = e.project_id AND p.deleted_at IS NULL
                 WHERE e.id = $1
                 UNION ALL
                 SELECT c.depth + 1, ",
            columns!(environments),
            "    FROM chain c CROSS JOIN environments e
                 WHERE e.id = c.inherits_from AND c.depth < 16)
             SELECT * FROM chain ORDER BY depth"
        ));
        self.all("environments", statement.bind(environment.uuid()), record).await
    }

    async fn environment_counters(
        &mut self,
        environment: EnvironmentId,
    ) -> StoreResult<EnvironmentCounters> {
        let statement = sqlx::query(
            "SELECT id, revision, size, history_size, manifest, manifest_revision
             FROM environments WHERE id = $1",
        );
        let statement = statement.bind(environment.uuid());
        let counters = self.one("environments", statement, counters).await?;
        counters.ok_or(StoreError::Stale(Subject::Environment))
    }

    async fn next_environment(
        &mut self,
        from: EnvironmentId,
    ) -> StoreResult<Option<EnvironmentId>> {
        let statement = sqlx::query(
            "SELECT e.id FROM environments e JOIN projects p ON p.id = e.project_id
             WHERE e.id >= $1 AND p.deleted_at IS NULL
             ORDER BY e.id LIMIT 1",
        );
        self.one("environments", statement.bind(from.uuid()), |row| row.id("id")).await
    }

    async fn manifest_entries(
        &mut self,
        environment: EnvironmentId,
    ) -> StoreResult<Vec<ManifestEntry>> {
        let statement = sqlx::query(
            "SELECT id, version, hidden, sealed FROM secrets WHERE environment_id = $1",
        );
        let entry = |row: &Row<'_>| {
            let sealed = Sealed::from_bytes(row.get("sealed")?);
            let (version, hidden) = (row.number("version")?, row.get("hidden")?);
            Ok(ManifestEntry::of(row.id("id")?, version, hidden, &sealed))
        };
        self.all("secrets", statement.bind(environment.uuid()), entry).await
    }

    async fn child_environments(
        &mut self,
        environment: EnvironmentId,
    ) -> StoreResult<Vec<EnvironmentName>> {
        let statement = sqlx::query("SELECT id, name FROM environments WHERE inherits_from = $1");
        let mut names = self
            .all("environments", statement.bind(environment.uuid()), |row| row.name("name"))
            .await?;
        // Sorted here, because the database's sort order depends on its locale.
        names.sort_unstable();
        Ok(names)
    }
}

#[async_trait]
impl EnvironmentWrites for Session<Transaction> {
    async fn insert_environment(&mut self, environment: &EnvironmentRecord) -> StoreResult<()> {
        let revision = bigint(environment.revision)?;
        let statement = sqlx::query(
            "INSERT INTO environments
                 (id, project_id, name, folded_name, inherits_from, description, is_default,
                  position, revision, created_by, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
             ON CONFLICT DO NOTHING",
        )
        .bind(environment.id.uuid())
        .bind(environment.project.uuid())
        .bind(environment.name.as_str())
        .bind(environment.name.folded())
        .bind(environment.inherits_from.map(EnvironmentId::uuid))
        .bind(&environment.description)
        .bind(environment.is_default)
        .bind(i64::from(environment.position))
        .bind(revision)
        .bind(environment.created_by)
        .bind(environment.created_at)
        .bind(environment.updated_at);
        self.insert(Subject::Environment, statement).await
    }

    async fn update_environment(&mut self, environment: &EnvironmentRecord) -> StoreResult<()> {
        // Checked before the update, because a violation would abort the transaction in PostgreSQL.
        let same_name = sqlx::query(
            "SELECT COUNT(*) AS count FROM environments o JOIN environments e ON e.id = $1
             WHERE o.project_id = e.project_id AND o.folded_name = $2 AND o.id <> e.id",
        )
        .bind(environment.id.uuid())
        .bind(environment.name.folded());
        if self.count(same_name).await? > 0 {
            return Err(StoreError::Duplicate(Subject::Environment));
        }
        let statement = sqlx::query(
            "UPDATE environments
             SET name = $2, folded_name = $3, inherits_from = $4, description = $5, updated_at = $6
             WHERE id = $1 AND EXISTS (SELECT 1 FROM projects p
                 WHERE p.id = environments.project_id AND p.deleted_at IS NULL)",
        )
        .bind(environment.id.uuid())
        .bind(environment.name.as_str())
        .bind(environment.name.folded())
        .bind(environment.inherits_from.map(EnvironmentId::uuid))
        .bind(&environment.description)
        .bind(environment.updated_at);
        self.change(Subject::Environment, statement).await
    }

    async fn delete_environment(&mut self, environment: EnvironmentId) -> StoreResult<()> {
        self.lock_environment(environment).await?;
        self.insert_deleted_project(environment).await?;
        self.write(sqlx::query(MOVE).bind(environment.uuid())).await?;
        for text in DELETE_REFERENCES {
            self.write(sqlx::query(text).bind(environment.uuid())).await?;
        }
        Ok(())
    }

    async fn lock_environment(&mut self, environment: EnvironmentId) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE environments SET revision = revision
             WHERE id = $1 AND EXISTS (SELECT 1 FROM projects p
                 WHERE p.id = environments.project_id AND p.deleted_at IS NULL)",
        );
        self.change(Subject::Environment, statement.bind(environment.uuid())).await
    }

    async fn touch_environment(
        &mut self,
        environment: EnvironmentId,
        step: u32,
    ) -> StoreResult<EnvironmentCounters> {
        let statement = sqlx::query(
            "UPDATE environments SET revision = revision + $2
             WHERE id = $1 AND EXISTS (SELECT 1 FROM projects p
                 WHERE p.id = environments.project_id AND p.deleted_at IS NULL)
             RETURNING id, revision, size, history_size, manifest, manifest_revision",
        )
        .bind(environment.uuid())
        .bind(i64::from(step));
        let counters = self.one("environments", statement, counters).await?;
        counters.ok_or(StoreError::Stale(Subject::Environment))
    }

    async fn replace_manifest(
        &mut self,
        environment: EnvironmentId,
        manifest: &ManifestRecord,
    ) -> StoreResult<EnvironmentCounters> {
        let statement = sqlx::query(
            "UPDATE environments SET manifest = $2, manifest_revision = $3 WHERE id = $1
             RETURNING id, revision, size, history_size, manifest, manifest_revision",
        )
        .bind(environment.uuid())
        .bind(manifest.sealed.as_slice())
        .bind(bigint(manifest.revision)?);
        let counters = self.one("environments", statement, counters).await?;
        counters.ok_or(StoreError::Stale(Subject::Environment))
    }

    async fn delete_manifests(&mut self) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE environments SET manifest = NULL, manifest_revision = NULL
             WHERE manifest IS NOT NULL",
        );
        self.write(statement).await.map(drop)
    }
}

/// Decodes the size of an environment's secrets in bytes; a negative size becomes 0. The stored
/// size can be too small, or even negative, because earlier versions of the program, which may use
/// the same database, do not update it.
pub(super) fn size(row: &Row<'_>, column: &'static str) -> StoreResult<u64> {
    Ok(row.get::<i64>(column)?.max(0).unsigned_abs())
}

fn counters(row: &Row<'_>) -> StoreResult<EnvironmentCounters> {
    Ok(EnvironmentCounters {
        manifest: manifest(row)?,
        revision: row.number("revision")?,
        size: size(row, "size")?,
        history_size: size(row, "history_size")?,
    })
}

fn manifest(row: &Row<'_>) -> StoreResult<Option<ManifestRecord>> {
    let Some(sealed) = row.get::<Option<Vec<u8>>>("manifest")? else { return Ok(None) };
    // A manifest that was changed in the database must not prevent writes: its MAC does not match.
    let sealed = sealed.try_into().unwrap_or([0; MANIFEST_BYTES]);
    let revision = row.get::<Option<i64>>("manifest_revision")?;
    let revision = revision.and_then(|revision| u64::try_from(revision).ok()).unwrap_or_default();
    Ok(Some(ManifestRecord { sealed, revision }))
}

pub(super) fn record(row: &Row<'_>) -> StoreResult<EnvironmentRecord> {
    Ok(EnvironmentRecord {
        id: row.id("id")?,
        project: row.id("project_id")?,
        name: row.name("name")?,
        inherits_from: row.id_if_any("inherits_from")?,
        description: row.get("description")?,
        is_default: row.get("is_default")?,
        position: row.number("position")?,
        revision: row.number("revision")?,
        created_by: row.get("created_by")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
