use async_trait::async_trait;

use super::{Connected, DATABASE_SIZE, Row, Session, Transaction, bigint, projects, secrets};
use crate::crypto::{InstanceKeyPurpose, InstanceKeyRecord, InstanceRecord, RootKeyId};
use crate::model::{SecretId, Subject};
use crate::store::{InstanceReads, InstanceWrites, Sample, StoreResult, StoreSize};

/// Builds the list of the tables, each with the query that counts its rows.
macro_rules! counts {
    ($($table:ident)*) => {
        &[$((stringify!($table), concat!("SELECT COUNT(*) AS count FROM ", stringify!($table)))),*]
    };
}

/// All tables of the schema, each with the query that counts its rows.
const COUNTS: &[(&str, &str)] = counts! {
    anonymizations audit_batches audit_heads audit_log cli_sessions
    device_logins environment_defaults environments finding_marks instance instance_keys
    invitations mail_counts members outbox permission_defaults
    permissions project_key_requests project_keys projects rotation_attempts
    rotation_keys rotations scan_findings scans secret_versions
    secrets team_sizes teams token_environments token_projects
    tokens users webhook_deliveries webhooks
};

#[async_trait]
impl<C: Connected> InstanceReads for Session<C> {
    async fn instance(&mut self) -> StoreResult<Option<(InstanceRecord, Vec<InstanceKeyRecord>)>> {
        let statement = sqlx::query(
            "SELECT id, root_key_id, kek_id, wrapped_kek, canary, epoch, created_at FROM instance",
        );
        let Some(instance) = self.one("instance", statement, record).await? else {
            return Ok(None);
        };
        let statement =
            sqlx::query("SELECT purpose, kek_id, wrapped FROM instance_keys ORDER BY purpose");
        Ok(Some((instance, self.all("instance_keys", statement, key).await?)))
    }

    async fn has_data(&mut self) -> StoreResult<bool> {
        let statement = sqlx::query(
            "SELECT EXISTS (SELECT 1 FROM users) OR EXISTS (SELECT 1 FROM teams)
                 OR EXISTS (SELECT 1 FROM projects) OR EXISTS (SELECT 1 FROM secrets)
                 OR EXISTS (SELECT 1 FROM tokens) AS found",
        );
        Ok(self.one("every table", statement, |row| row.get("found")).await?.unwrap_or_default())
    }

    async fn secret_range(&mut self) -> StoreResult<Option<(SecretId, SecretId)>> {
        // Not MIN and MAX: PostgreSQL has none for UUIDs before version 18.
        let statement = sqlx::query(
            "SELECT (SELECT id FROM secrets ORDER BY id LIMIT 1) AS oldest,
                    (SELECT id FROM secrets ORDER BY id DESC LIMIT 1) AS newest",
        );
        let range = |row: &Row<'_>| Ok((row.id_if_any("oldest")?, row.id_if_any("newest")?));
        let (oldest, newest) = self.one("secrets", statement, range).await?.unwrap_or_default();
        Ok(oldest.zip(newest))
    }

    async fn sample(&mut self, from: SecretId) -> StoreResult<Option<Sample>> {
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(secrets),
            " FROM secrets s WHERE s.id >= $1 ORDER BY s.id LIMIT 1"
        ));
        let Some(secret) =
            self.one("secrets", statement.bind(from.uuid()), secrets::record).await?
        else {
            return Ok(None);
        };
        let statement = sqlx::query(
            "SELECT y.project_id AS id, y.version, y.kek_id, y.wrapped
             FROM environments e JOIN project_keys y ON y.project_id = e.project_id
             WHERE e.id = $1
             ORDER BY y.version = $2 DESC, y.version DESC LIMIT 1",
        )
        .bind(secret.environment.uuid())
        .bind(secret.sealed.key_version().map(i64::from));
        let key = self.one("project_keys", statement, projects::key).await?;
        Ok(Some(Sample { secret, key }))
    }

    async fn next_secret(&mut self, from: SecretId) -> StoreResult<Option<SecretId>> {
        let statement = sqlx::query("SELECT id FROM secrets WHERE id >= $1 ORDER BY id LIMIT 1");
        self.one("secrets", statement.bind(from.uuid()), |row| row.id("id")).await
    }

    async fn size(&mut self) -> StoreResult<Option<StoreSize>> {
        let bytes = self.count(sqlx::query(DATABASE_SIZE)).await?;
        let mut tables = Vec::with_capacity(COUNTS.len());
        for (table, query) in COUNTS {
            tables.push((*table, self.count(sqlx::query(*query)).await?));
        }
        Ok(Some(StoreSize { bytes: Some(bytes), tables }))
    }
}

#[async_trait]
impl InstanceWrites for Session<Transaction> {
    async fn insert_instance(
        &mut self,
        instance: &InstanceRecord,
        keys: &[InstanceKeyRecord],
    ) -> StoreResult<()> {
        let epoch = bigint(instance.epoch)?;
        let statement = sqlx::query(
            "INSERT INTO instance
                 (singleton, id, root_key_id, kek_id, wrapped_kek, canary, epoch, created_at)
             VALUES (1, $1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT DO NOTHING",
        )
        .bind(instance.id.uuid())
        .bind(instance.root_key.0.as_slice())
        .bind(i64::from(instance.kek_id))
        .bind(&instance.wrapped_kek)
        .bind(&instance.canary)
        .bind(epoch)
        .bind(instance.created_at);
        self.insert(Subject::Resource, statement).await?;

        for key in keys {
            let statement = sqlx::query(
                "INSERT INTO instance_keys (purpose, kek_id, wrapped) VALUES ($1, $2, $3)
                 ON CONFLICT DO NOTHING",
            )
            .bind(i64::from(key.purpose as u32))
            .bind(i64::from(key.kek_id))
            .bind(&key.wrapped);
            self.insert(Subject::Resource, statement).await?;
        }
        Ok(())
    }

    async fn replace_root_key(
        &mut self,
        before: &InstanceRecord,
        after: &InstanceRecord,
    ) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE instance SET root_key_id = $1, wrapped_kek = $2
             WHERE id = $3 AND root_key_id = $4 AND wrapped_kek = $5",
        )
        .bind(after.root_key.0.as_slice())
        .bind(&after.wrapped_kek)
        .bind(before.id.uuid())
        .bind(before.root_key.0.as_slice())
        .bind(&before.wrapped_kek);
        self.change(Subject::Resource, statement).await
    }

    async fn replace_epoch(
        &mut self,
        before: &InstanceRecord,
        after: &InstanceRecord,
    ) -> StoreResult<()> {
        let statement =
            sqlx::query("UPDATE instance SET epoch = $1, canary = $2 WHERE id = $3 AND epoch = $4")
                .bind(bigint(after.epoch)?)
                .bind(&after.canary)
                .bind(before.id.uuid())
                .bind(bigint(before.epoch)?);
        self.change(Subject::Resource, statement).await
    }

    async fn replace_instance_key(&mut self, key: &InstanceKeyRecord) -> StoreResult<()> {
        let statement =
            sqlx::query("UPDATE instance_keys SET kek_id = $2, wrapped = $3 WHERE purpose = $1")
                .bind(i64::from(key.purpose as u32))
                .bind(i64::from(key.kek_id))
                .bind(&key.wrapped);
        self.change(Subject::Resource, statement).await
    }
}

fn record(row: &Row<'_>) -> StoreResult<InstanceRecord> {
    let root_key: Vec<u8> = row.get("root_key_id")?;
    Ok(InstanceRecord {
        id: row.id("id")?,
        root_key: RootKeyId(root_key.try_into().map_err(|_| row.unreadable("root_key_id"))?),
        kek_id: row.number("kek_id")?,
        wrapped_kek: row.get("wrapped_kek")?,
        canary: row.get("canary")?,
        epoch: row.number("epoch")?,
        created_at: row.get("created_at")?,
    })
}

fn key(row: &Row<'_>) -> StoreResult<InstanceKeyRecord> {
    let purpose = InstanceKeyPurpose::from_number(row.number("purpose")?);
    Ok(InstanceKeyRecord {
        purpose: purpose.ok_or_else(|| row.unreadable("purpose"))?,
        kek_id: row.number("kek_id")?,
        wrapped: row.get("wrapped")?,
    })
}
