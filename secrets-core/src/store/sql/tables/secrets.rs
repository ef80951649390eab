use std::collections::BTreeSet;

use async_trait::async_trait;
use sqlx::QueryBuilder;

use super::super::secret_writes::{
    insertion, pruning, replacement, rows_of_insertion, rows_of_replacement,
};
use super::secret_writes::{OldVersions, is_insertable_with};
use super::{
    BATCH, Connected, Connection, Db, HAS_ARRAYS, Row, Session, Transaction, begin_savepoint,
    end_savepoint, failed, push_keys,
};
use crate::crypto::Sealed;
use crate::model::{EnvironmentId, SecretId, SecretKey, Subject};
use crate::store::{
    Change, MAX_PRUNED, SecretReads, SecretRecord, SecretVersion, SecretWrites, StoreError,
    StoreResult,
};

#[async_trait]
impl<C: Connected> SecretReads for Session<C> {
    async fn secrets(
        &mut self,
        environment: EnvironmentId,
        keys: &[SecretKey],
    ) -> StoreResult<Vec<SecretRecord>> {
        let mut secrets = Vec::new();
        for keys in keys.chunks(BATCH) {
            let mut statement = QueryBuilder::<Db>::new(concat!(
                "SELECT ",
                columns!(secrets),
                " FROM secrets s WHERE s.environment_id = "
            ));
            statement.push_bind(environment.uuid()).push(" AND s.key");
            push_keys(&mut statement, keys);
            let statement = statement.build().persistent(HAS_ARRAYS || keys.len() == 1);
            secrets.extend(self.all("secrets", statement, record).await?);
        }
        sort(&mut secrets);
        Ok(secrets)
    }

    async fn count_secrets(&mut self, environment: EnvironmentId) -> StoreResult<u64> {
        let statement =
            sqlx::query("SELECT COUNT(*) AS count FROM secrets WHERE environment_id = $1");
        self.count(statement.bind(environment.uuid())).await
    }

    async fn secret_versions(
        &mut self,
        secret: SecretId,
        before: u32,
        limit: u32,
    ) -> StoreResult<Vec<SecretVersion>> {
        let statement = sqlx::query(
            "SELECT secret_id AS id, version, sealed, hidden, change, changed_by, changed_at,
                 replaced_at
             FROM secret_versions WHERE secret_id = $1 AND version < $2
             ORDER BY version DESC
             LIMIT $3",
        )
        .bind(secret.uuid())
        .bind(i64::from(before))
        .bind(i64::from(limit));
        self.all("secret_versions", statement, version).await
    }

    async fn secret_history(
        &mut self,
        secret: SecretId,
        before: u32,
        limit: u32,
    ) -> StoreResult<Option<Vec<SecretVersion>>> {
        // One statement, so that a concurrent write is seen as a whole or not at all. A secret
        // without previous versions is returned as one row without a version.
        let statement = sqlx::query(
            "SELECT v.secret_id AS id, v.version, v.sealed, v.hidden, v.change, v.changed_by,
                 v.changed_at, v.replaced_at
             FROM secrets s LEFT JOIN secret_versions v ON v.secret_id = s.id AND v.version < $2
             WHERE s.id = $1
             ORDER BY v.version DESC
             LIMIT $3",
        )
        .bind(secret.uuid())
        .bind(i64::from(before))
        .bind(i64::from(limit));
        let version = |row: &Row<'_>| {
            let is_present = row.get::<Option<i64>>("version")?.is_some();
            is_present.then(|| version(row)).transpose()
        };
        let rows = self.all("secret_versions", statement, version).await?;
        Ok((!rows.is_empty()).then(|| rows.into_iter().flatten().collect()))
    }
}

#[async_trait]
impl SecretWrites for Session<Transaction> {
    async fn insert_secrets(&mut self, secrets: &[SecretRecord]) -> StoreResult<()> {
        let insert = Writes {
            statement: insertion,
            can_share_statement: is_insertable_with,
            rows: rows_of_insertion,
            is_text_constant: HAS_ARRAYS,
        };
        self.write_all(secrets, insert, StoreError::Duplicate).await
    }

    async fn replace_secrets(&mut self, secrets: &[SecretRecord]) -> StoreResult<()> {
        let replace = Writes {
            statement: replacement,
            can_share_statement: |_, _| true,
            rows: rows_of_replacement,
            is_text_constant: false,
        };
        self.write_all(secrets, replace, StoreError::Stale).await
    }

    async fn update_secret_description(&mut self, secret: &SecretRecord) -> StoreResult<()> {
        let size = secret.description.as_ref().map_or(0, |sealed| sealed.as_bytes().len());
        let resize = sqlx::query(
            "UPDATE environments
             SET size = size + $2 - (
                     SELECT COALESCE(LENGTH(sealed_description), 0) FROM secrets WHERE id = $1)
             WHERE id = (SELECT environment_id FROM secrets WHERE id = $1)",
        );
        self.write(resize.bind(secret.id.uuid()).bind(bytes(size)?)).await?;
        let statement = sqlx::query(
            "UPDATE secrets SET sealed_description = $2, updated_by = $3, updated_at = $4
             WHERE id = $1",
        )
        .bind(secret.id.uuid())
        .bind(secret.description.as_ref().map(Sealed::as_bytes))
        .bind(secret.updated_by)
        .bind(secret.updated_at);
        self.write(statement).await.map(drop)
    }

    async fn delete_secret(&mut self, secret: SecretId) -> StoreResult<()> {
        let resize = sqlx::query(
            "UPDATE environments
             SET size = size - (
                     SELECT LENGTH(sealed) + COALESCE(LENGTH(sealed_description), 0)
                     FROM secrets WHERE id = $1),
                 history_size = history_size - COALESCE((
                     SELECT SUM(LENGTH(sealed)) FROM secret_versions WHERE secret_id = $1), 0)
             WHERE id = (SELECT environment_id FROM secrets WHERE id = $1)",
        );
        self.write(resize.bind(secret.uuid())).await?;
        let statement = sqlx::query("DELETE FROM secrets WHERE id = $1").bind(secret.uuid());
        self.change(Subject::Secret, statement).await
    }

    async fn prune_versions(&mut self, limits: &[(SecretId, u32)]) -> StoreResult<()> {
        for limits in limits.chunks(BATCH) {
            let max = (MAX_PRUNED as usize).max(2 * limits.len());
            let mut statement = pruning(OldVersions::OfSecrets { limits, max });
            self.write(statement.build().persistent(limits.len() == 1)).await?;
        }
        Ok(())
    }

    async fn prune_history(&mut self, environment: EnvironmentId, excess: u64) -> StoreResult<()> {
        let mut statement = pruning(OldVersions::OfEnvironment { environment, excess });
        self.write(statement.build()).await.map(drop)
    }
}

/// A statement, or several, that write rows for several secrets.
#[derive(Clone, Copy)]
struct Writes {
    statement: fn(&[SecretRecord]) -> QueryBuilder<Db>,
    /// Returns true if one statement can write both secrets.
    can_share_statement: fn(&SecretRecord, &SecretRecord) -> bool,
    /// Function that returns the number of rows that must be affected, from the numbers of secrets
    /// and of their environments.
    rows: fn(usize, usize) -> usize,
    /// True if the text of the statement does not depend on the number of secrets.
    is_text_constant: bool,
}

impl Session<Transaction> {
    /// Writes several secrets: all or none. Returns the error `refusal` if a row cannot be written.
    async fn write_all(
        &mut self,
        secrets: &[SecretRecord],
        writes: Writes,
        refusal: fn(Subject) -> StoreError,
    ) -> StoreResult<()> {
        let (connection, limit) = self.0.pooled().await?.parts();
        if secrets.len() == 1 {
            return limit.apply(write_each(connection, secrets, writes, refusal)).await;
        }
        // A savepoint: if a later row is refused, the earlier rows are rolled back.
        let all = async {
            begin_savepoint(connection).await?;
            let written = write_each(connection, secrets, writes, refusal).await;
            end_savepoint(connection, written).await
        };
        limit.apply(all).await
    }
}

/// Converts a size in bytes to the 64-bit signed integer type of both databases.
fn bytes(size: usize) -> StoreResult<i64> {
    i64::try_from(size).map_err(|cause| StoreError::Corrupt(cause.into()))
}

async fn write_each(
    connection: &mut Connection,
    secrets: &[SecretRecord],
    writes: Writes,
    refusal: fn(Subject) -> StoreError,
) -> StoreResult<()> {
    let groups = secrets.chunk_by(|one, other| (writes.can_share_statement)(one, other));
    for secrets in groups.flat_map(|group| group.chunks(BATCH)) {
        let mut statement = (writes.statement)(secrets);
        let statement = statement.build().persistent(writes.is_text_constant || secrets.len() == 1);
        let written = statement.execute(&mut *connection).await.map_err(failed)?;
        let environments: BTreeSet<_> = secrets.iter().map(|secret| secret.environment).collect();
        let expected = (writes.rows)(secrets.len(), environments.len());
        if usize::try_from(written.rows_affected()) != Ok(expected) {
            return Err(refusal(Subject::Secret));
        }
    }
    Ok(())
}

pub(super) fn record(row: &Row<'_>) -> StoreResult<SecretRecord> {
    Ok(SecretRecord {
        id: row.id("id")?,
        environment: row.id("environment_id")?,
        key: row.name("key")?,
        sealed: row.get("sealed").map(Sealed::from_bytes)?,
        hidden: row.get("hidden")?,
        description: row.get::<Option<_>>("sealed_description")?.map(Sealed::from_bytes),
        version: row.number("version")?,
        change: row.one_of("change", Change::from_name)?,
        changed_by: row.get("changed_by")?,
        changed_at: row.get("changed_at")?,
        created_by: row.get("created_by")?,
        updated_by: row.get("updated_by")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

/// Sorts secrets by secret key. This is not done in SQL, because the sort order of PostgreSQL
/// depends on the locale of the database.
pub(super) fn sort<T: AsRef<SecretRecord>>(secrets: &mut [T]) {
    secrets.sort_unstable_by(|a, b| a.as_ref().key.cmp(&b.as_ref().key));
}

fn version(row: &Row<'_>) -> StoreResult<SecretVersion> {
    Ok(SecretVersion {
        secret: row.id("id")?,
        version: row.number("version")?,
        sealed: row.get("sealed").map(Sealed::from_bytes)?,
        hidden: row.get("hidden")?,
        change: row.one_of("change", Change::from_name)?,
        changed_by: row.get("changed_by")?,
        changed_at: row.get("changed_at")?,
        replaced_at: row.get("replaced_at")?,
    })
}
