use std::collections::BTreeMap;

use async_trait::async_trait;
use sqlx::{Connection as _, QueryBuilder};

use super::{BATCH, Connected, Db, Row, Session, Transaction, bigint, failed};
use crate::crypto::Sealed;
use crate::model::{EnvironmentId, SecretId, SecretKey, Subject};
use crate::store::{
    Change, MAX_PRUNED, SecretReads, SecretRecord, SecretVersion, SecretWrites, StoreError,
    StoreResult,
};

/// Condition for the $3 oldest versions of the secret $1 with a number below $2.
macro_rules! oldest {
    () => {
        "secret_id = $1 AND version IN (
             SELECT version FROM secret_versions WHERE secret_id = $1 AND version < $2
             ORDER BY version LIMIT $3)"
    };
}

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
            statement.push_bind(environment.uuid()).push(" AND s.key IN (");
            let mut list = statement.separated(", ");
            for key in keys {
                list.push_bind(key.as_str());
            }
            statement.push(")");
            secrets.extend(
                self.all("secrets", statement.build().persistent(keys.len() == 1), record).await?,
            );
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
}

#[async_trait]
impl SecretWrites for Session<Transaction> {
    async fn insert_secrets(&mut self, secrets: &[SecretRecord]) -> StoreResult<()> {
        if let [secret] = secrets {
            self.insert(Subject::Secret, insertion(secrets).build()).await?;
            return self.add_size(secret.environment, secret.size()).await;
        }
        // A savepoint: if one key is taken, the secrets inserted so far are rolled back.
        let (connection, limit) = self.0.pooled().await?.parts();
        let insertions = async {
            let mut savepoint = connection.begin().await.map_err(failed)?;
            for secrets in secrets.chunks(BATCH) {
                let mut statement = insertion(secrets);
                let statement = statement.build().persistent(false);
                let inserted =
                    statement.execute(&mut *savepoint).await.map_err(failed)?.rows_affected();
                if usize::try_from(inserted) != Ok(secrets.len()) {
                    return Err(StoreError::Duplicate(Subject::Secret));
                }
            }
            savepoint.commit().await.map_err(failed)
        };
        limit.apply(insertions).await?;
        let mut sizes = BTreeMap::new();
        for secret in secrets {
            *sizes.entry(secret.environment).or_default() += secret.size();
        }
        for (environment, size) in sizes {
            self.add_size(environment, size).await?;
        }
        Ok(())
    }

    async fn replace_secret(&mut self, secret: &SecretRecord) -> StoreResult<()> {
        let before = i64::from(secret.version) - 1;
        let keep = sqlx::query(
            "INSERT INTO secret_versions
                 (secret_id, version, sealed, hidden, change, changed_by, changed_at, replaced_at,
                  environment_id)
             SELECT id, version, sealed, hidden, change, changed_by, changed_at, $3, environment_id
             FROM secrets WHERE id = $1 AND version = $2
             ON CONFLICT DO NOTHING",
        )
        .bind(secret.id.uuid())
        .bind(before)
        .bind(secret.changed_at);
        self.change(Subject::Secret, keep).await?;
        let resize = sqlx::query(
            "UPDATE environments
             SET size = size + $2 - (
                     SELECT LENGTH(sealed) + COALESCE(LENGTH(sealed_description), 0)
                     FROM secrets WHERE id = $1),
                 history_size = history_size + (SELECT LENGTH(sealed) FROM secrets WHERE id = $1)
             WHERE id = (SELECT environment_id FROM secrets WHERE id = $1)",
        );
        self.write(resize.bind(secret.id.uuid()).bind(bytes(secret.size())?)).await?;

        let replace = sqlx::query(
            "UPDATE secrets
             SET sealed = $3, hidden = $4, sealed_description = $5, version = version + 1,
                 change = $6, changed_by = $7, changed_at = $8, updated_by = $9, updated_at = $10
             WHERE id = $1 AND version = $2",
        )
        .bind(secret.id.uuid())
        .bind(before)
        .bind(secret.sealed.as_bytes())
        .bind(secret.hidden)
        .bind(secret.description.as_ref().map(Sealed::as_bytes))
        .bind(secret.change.as_str())
        .bind(secret.changed_by)
        .bind(secret.changed_at)
        .bind(secret.updated_by)
        .bind(secret.updated_at);
        self.change(Subject::Secret, replace).await
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

    async fn prune_versions(&mut self, secret: SecretId, before: u32) -> StoreResult<()> {
        let resize = sqlx::query(concat!(
            "UPDATE environments
             SET history_size = history_size - COALESCE((
                 SELECT SUM(LENGTH(sealed)) FROM secret_versions WHERE ",
            oldest!(),
            "), 0)
             WHERE id = (SELECT environment_id FROM secrets WHERE id = $1)"
        ));
        let delete = sqlx::query(concat!("DELETE FROM secret_versions WHERE ", oldest!()));
        for statement in [resize, delete] {
            let statement = statement.bind(secret.uuid()).bind(i64::from(before));
            self.write(statement.bind(i64::from(MAX_PRUNED))).await?;
        }
        Ok(())
    }

    async fn prune_history(&mut self, environment: EnvironmentId, excess: u64) -> StoreResult<()> {
        let oldest = sqlx::query(
            "SELECT v.secret_id AS id, v.version, CAST(LENGTH(v.sealed) AS BIGINT) AS size
             FROM secret_versions v JOIN secrets s ON s.id = v.secret_id
             WHERE v.environment_id = $1
                 AND NOT (s.change = 'rotated' AND v.version = s.version - 1)
             ORDER BY v.replaced_at, v.version
             LIMIT $2",
        );
        let oldest = oldest.bind(environment.uuid()).bind(i64::from(MAX_PRUNED));
        let oldest = self.all("secret_versions", oldest, size_of_version).await?;
        let (mut freed, mut pruned) = (0, Vec::new());
        for (secret, version, size) in oldest {
            if freed >= excess {
                break;
            }
            freed += size;
            pruned.push((secret, version));
        }
        if pruned.is_empty() {
            return Ok(());
        }
        let mut statement =
            QueryBuilder::<Db>::new("DELETE FROM secret_versions WHERE (secret_id, version) IN (");
        statement.push_values(&pruned, |mut row, (secret, version)| {
            row.push_bind(secret.uuid()).push_bind(version);
        });
        statement.push(")");
        self.write(statement.build().persistent(false)).await?;
        let resize =
            sqlx::query("UPDATE environments SET history_size = history_size - $2 WHERE id = $1");
        self.write(resize.bind(environment.uuid()).bind(bigint(freed)?)).await.map(drop)
    }
}

impl Session<Transaction> {
    /// Adds to the size of an environment's secrets.
    async fn add_size(&mut self, environment: EnvironmentId, size: usize) -> StoreResult<()> {
        let statement = sqlx::query("UPDATE environments SET size = size + $2 WHERE id = $1");
        self.write(statement.bind(environment.uuid()).bind(bytes(size)?)).await.map(drop)
    }
}

/// Converts a size to the integer type of both databases.
fn bytes(size: usize) -> StoreResult<i64> {
    i64::try_from(size).map_err(|cause| StoreError::Corrupt(cause.into()))
}

/// Decodes the secret, the number and the size of a version.
fn size_of_version(row: &Row<'_>) -> StoreResult<(SecretId, i64, u64)> {
    Ok((row.id("id")?, row.get("version")?, row.number("size")?))
}

fn insertion(secrets: &[SecretRecord]) -> QueryBuilder<Db> {
    let mut statement = QueryBuilder::new(
        "INSERT INTO secrets
             (id, environment_id, key, sealed, hidden, sealed_description, version, change,
              changed_by, changed_at, created_by, updated_by, created_at, updated_at) ",
    );
    statement.push_values(secrets, |mut row, secret| {
        row.push_bind(secret.id.uuid())
            .push_bind(secret.environment.uuid())
            .push_bind(secret.key.as_str())
            .push_bind(secret.sealed.as_bytes())
            .push_bind(secret.hidden)
            .push_bind(secret.description.as_ref().map(Sealed::as_bytes))
            .push_bind(i64::from(secret.version))
            .push_bind(secret.change.as_str())
            .push_bind(secret.changed_by)
            .push_bind(secret.changed_at)
            .push_bind(secret.created_by)
            .push_bind(secret.updated_by)
            .push_bind(secret.created_at)
            .push_bind(secret.updated_at);
    });
    statement.push(" ON CONFLICT DO NOTHING");
    statement
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

/// Sorts by secret key. Not in SQL, because the database's sort order depends on its locale.
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
