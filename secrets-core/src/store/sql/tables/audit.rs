use std::sync::Arc;

use async_trait::async_trait;
use sqlx::QueryBuilder;

use super::audit_filter::{push_conditions, push_order, push_range};
use super::audit_heads::{HEAD, MOVE_HEADS, START_CHAINS, chain, chain_team, head, heads_among};
use super::audit_rows::{inserts, place, record, select};
use super::{
    BATCH, Connected, Db, LOCK_ROWS, Row, Session, Statement, Transaction, anonymizations, bigint,
    push_ids,
};
use crate::model::{AuditBatchId, AuditId, Subject, TeamId, Time, UserId};
use crate::store::{
    AuditBatch, AuditFilter, AuditHead, AuditReads, AuditRecord, AuditWrites, ChainExtension,
    StoreError, StoreResult,
};

/// Query for the teams with audit entries that are not in an audit chain. The query takes one step
/// along the index per team, and not per entry. The sort order is that of the index
/// `audit_log_unsealed`, so that both databases use this index.
pub(in super::super) const UNSEALED_TEAMS: &str = "
    WITH RECURSIVE teams (team_id) AS (
        SELECT (SELECT team_id FROM audit_log WHERE position IS NULL AND team_id IS NOT NULL
                ORDER BY team_id, created_at, id LIMIT 1)
        UNION ALL
        SELECT (SELECT a.team_id FROM audit_log a WHERE a.position IS NULL AND a.team_id > t.team_id
                ORDER BY a.team_id, a.created_at, a.id LIMIT 1)
        FROM teams t WHERE t.team_id IS NOT NULL
    )
    SELECT team_id FROM teams WHERE team_id IS NOT NULL
    UNION ALL
    SELECT NULL WHERE EXISTS (SELECT 1 FROM audit_log WHERE position IS NULL AND team_id IS NULL)";

/// Query for the next team with entries in its audit chain. The sort order is that of the index
/// `audit_log_chain`.
pub(in super::super) const NEXT_AUDITED_TEAM: &str =
    "SELECT team_id FROM audit_log WHERE team_id > $1 AND position IS NOT NULL
     ORDER BY team_id, position LIMIT 1";

/// End of a query that returns the listed teams with audit entries that are not in an audit chain.
/// Like [`UNSEALED_TEAMS`], it takes one step along the index per team.
const FIRST_UNSEALED: &str = ") AS v WHERE (
    SELECT a.id FROM audit_log a WHERE a.position IS NULL AND a.team_id = v.column1
    ORDER BY a.team_id, a.created_at, a.id LIMIT 1) IS NOT NULL";

/// End of a query for the audit entries that are not in an audit chain yet, oldest first. The code
/// appends the limit.
pub(in super::super) const UNSEALED: &str = " AND position IS NULL ORDER BY created_at, id LIMIT ";

#[async_trait]
impl<C: Connected> AuditReads for Session<C> {
    async fn audit_entries(&mut self, filter: &AuditFilter) -> StoreResult<Vec<AuditRecord>> {
        let mut statement = select();
        push_range(&mut statement, filter);
        push_conditions(&mut statement, filter);
        push_order(&mut statement, filter.order);
        statement.push(format!(" LIMIT {}", filter.limit));
        self.all("audit_log", statement.build().persistent(false), record).await
    }

    async fn audit_entry_at(
        &mut self,
        filter: &AuditFilter,
        count: u32,
    ) -> StoreResult<Option<(Time, AuditId)>> {
        let Some(before) = count.checked_sub(1) else { return Ok(None) };
        let mut statement = QueryBuilder::new("SELECT created_at, id FROM audit_log WHERE ");
        push_range(&mut statement, filter);
        push_order(&mut statement, filter.order);
        statement.push(format!(" LIMIT 1 OFFSET {before}"));
        let statement = statement.build().persistent(false);
        self.one("audit_log", statement, place).await
    }

    async fn unsealed_teams(&mut self) -> StoreResult<Vec<Option<TeamId>>> {
        self.all("audit_log", sqlx::query(UNSEALED_TEAMS), |row| row.id_if_any("team_id")).await
    }

    async fn unsealed_teams_among(&mut self, teams: &[TeamId]) -> StoreResult<Vec<TeamId>> {
        if teams.is_empty() {
            return Ok(Vec::new());
        }
        let mut statement = QueryBuilder::<Db>::new("SELECT v.column1 AS team_id FROM (");
        statement.push_values(teams, |mut row, team| {
            row.push_bind(team.uuid());
        });
        statement.push(FIRST_UNSEALED);
        let statement = statement.build().persistent(teams.len() == 1);
        self.all("audit_log", statement, |row| row.id("team_id")).await
    }

    async fn unsealed_audit(
        &mut self,
        team: Option<TeamId>,
        limit: u32,
    ) -> StoreResult<Vec<AuditRecord>> {
        let mut statement = select();
        push_team(&mut statement, team);
        statement.push(UNSEALED).push_bind(i64::from(limit));
        self.all("audit_log", statement.build(), record).await
    }

    async fn count_unsealed_audit(&mut self) -> StoreResult<u64> {
        let text = "SELECT (SELECT COUNT(*) FROM audit_log WHERE position IS NULL)
                         + (SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM audit_batches) AS count";
        self.count(sqlx::query(text)).await
    }

    async fn count_unsealed_audit_of(
        &mut self,
        team: Option<TeamId>,
        limit: u32,
    ) -> StoreResult<u64> {
        let mut statement = QueryBuilder::<Db>::new(
            "SELECT COUNT(*) AS count FROM (SELECT 1 FROM audit_log WHERE ",
        );
        push_team(&mut statement, team);
        statement.push(UNSEALED).push_bind(i64::from(limit)).push(") AS unsealed");
        self.count(statement.build()).await
    }

    async fn audit_batches(
        &mut self,
        behind: AuditBatchId,
        limit: u32,
    ) -> StoreResult<Vec<AuditBatch>> {
        let text = "SELECT id, entries FROM audit_batches WHERE id > $1 ORDER BY id LIMIT $2";
        let statement = sqlx::query(text).bind(behind.uuid()).bind(i64::from(limit));
        self.all("audit_batches", statement, batch).await
    }

    async fn last_audit_batch(&mut self) -> StoreResult<Option<AuditBatchId>> {
        let text = "SELECT id FROM audit_batches ORDER BY id DESC LIMIT 1";
        self.one("audit_batches", sqlx::query(text), batch_id).await
    }

    async fn next_audited_team(&mut self, after: TeamId) -> StoreResult<Option<TeamId>> {
        let statement = sqlx::query(NEXT_AUDITED_TEAM).bind(after.uuid());
        self.one("audit_log", statement, |row| row.id("team_id")).await
    }

    async fn audit_head(&mut self, team: Option<TeamId>) -> StoreResult<Option<AuditHead>> {
        let mut statement = QueryBuilder::<Db>::new(HEAD);
        statement.push(" WHERE team_id = ").push_bind(chain(team));
        self.one("audit_heads", statement.build(), head).await
    }

    async fn audit_heads_among(&mut self, teams: &[Option<TeamId>]) -> StoreResult<Vec<AuditHead>> {
        heads_among(self, teams, "").await
    }

    async fn audit_chains(&mut self) -> StoreResult<Vec<Option<TeamId>>> {
        // The nil UUID, of the chain without a team, is the first.
        let statement = sqlx::query("SELECT team_id FROM audit_heads ORDER BY team_id");
        self.all("audit_heads", statement, chain_team).await
    }

    async fn audit_chain(
        &mut self,
        team: Option<TeamId>,
        behind: u64,
        limit: u32,
    ) -> StoreResult<Vec<AuditRecord>> {
        let mut statement = select();
        push_team(&mut statement, team);
        statement.push(" AND position > ").push_bind(bigint(behind)?);
        statement.push(" ORDER BY position LIMIT ").push_bind(i64::from(limit));
        self.all("audit_log", statement.build(), record).await
    }

    async fn unfinished_anonymizations(&mut self, limit: u32) -> StoreResult<Vec<UserId>> {
        let statement = sqlx::query("SELECT user_id FROM anonymizations ORDER BY user_id LIMIT $1");
        self.all("anonymizations", statement.bind(i64::from(limit)), |row| row.id("user_id")).await
    }

    async fn audit_position(
        &mut self,
        team: Option<TeamId>,
        from: Time,
    ) -> StoreResult<Option<u64>> {
        let mut statement = QueryBuilder::<Db>::new(
            "SELECT position FROM audit_log WHERE position IS NOT NULL AND ",
        );
        push_team(&mut statement, team);
        statement.push(" AND created_at >= ").push_bind(from).push(" ORDER BY position LIMIT 1");
        self.one("audit_log", statement.build(), |row| row.number("position")).await
    }
}

#[async_trait]
impl AuditWrites for Session<Transaction> {
    async fn insert_audit(&mut self, entries: &[AuditRecord]) -> StoreResult<()> {
        for insert in inserts(entries, |_| None) {
            let (statement, _) = insert?;
            self.write(statement).await?;
        }
        Ok(())
    }

    async fn insert_sealed_audit(&mut self, entries: Vec<AuditRecord>) -> StoreResult<()> {
        for insert in inserts(&entries, |entry| entry.seal) {
            let (statement, count) = insert?;
            self.seal_rows(statement, count).await?;
        }
        Ok(())
    }

    async fn insert_audit_batch(&mut self, entries: &Arc<[AuditRecord]>) -> StoreResult<()> {
        match insert_batch(entries)? {
            Some(statement) => self.write(statement).await.map(drop),
            None => Ok(()),
        }
    }

    async fn delete_audit_batches(
        &mut self,
        batches: &[AuditBatchId],
    ) -> StoreResult<Vec<AuditBatchId>> {
        let mut deleted = Vec::new();
        for batches in batches.chunks(BATCH) {
            // Locked in one order, so that two nodes do not wait for each other.
            let mut statement = QueryBuilder::<Db>::new(
                "DELETE FROM audit_batches WHERE id IN (SELECT id FROM audit_batches WHERE id IN ",
            );
            push_ids(&mut statement, batches.iter().map(|batch| batch.uuid()));
            statement.push(" ORDER BY id ").push(LOCK_ROWS).push(") RETURNING id");
            let statement = statement.build().persistent(batches.len() == 1);
            deleted.extend(self.all("audit_batches", statement, batch_id).await?);
        }
        Ok(deleted)
    }

    async fn anonymize_actor(&mut self, user: UserId, limit: u32, now: Time) -> StoreResult<bool> {
        anonymizations::begin(self, user, limit, now).await
    }

    async fn resume_anonymization(
        &mut self,
        user: UserId,
        limit: u32,
        now: Time,
    ) -> StoreResult<bool> {
        anonymizations::resume(self, user, limit, now).await
    }

    async fn lock_audit_heads(&mut self, teams: &[Option<TeamId>]) -> StoreResult<Vec<AuditHead>> {
        heads_among(self, teams, LOCK_ROWS).await
    }

    async fn seal_audit(&mut self, chains: &[ChainExtension]) -> StoreResult<()> {
        let (new, known): (Vec<_>, Vec<_>) = chains.iter().partition(|chain| chain.end == 0);
        for chains in new.chunks(BATCH) {
            self.write_heads(START_CHAINS, chains).await?;
        }
        for chains in known.chunks(BATCH) {
            self.write_heads(MOVE_HEADS, chains).await?;
        }
        let seals: Vec<_> = chains.iter().flat_map(|chain| &chain.seals).collect();
        for seals in seals.chunks(BATCH) {
            // One statement for many rows, because other writers wait for this transaction.
            let mut statement = QueryBuilder::<Db>::new(
                "UPDATE audit_log SET position = v.column2, previous_hash = v.column3, hash = v.column4
                 FROM (",
            );
            statement.push_values(seals, |mut row, (id, seal)| {
                row.push_bind(id.uuid())
                    .push_bind(i64::try_from(seal.position).unwrap_or(i64::MAX))
                    .push_bind(seal.previous_hash.to_vec())
                    .push_bind(seal.hash.to_vec());
            });
            statement.push(") AS v WHERE audit_log.id = v.column1 AND audit_log.position IS NULL");
            self.seal_rows(statement.build().persistent(false), seals.len()).await?;
        }
        Ok(())
    }

    async fn prune_audit(&mut self, head: &AuditHead, base: u64) -> StoreResult<()> {
        let moved = sqlx::query(
            "UPDATE audit_heads SET base = $1, base_hash = $2, mac = $3
             WHERE team_id = $4 AND base = $5 AND position = $6",
        )
        .bind(bigint(head.base)?)
        .bind(head.base_hash.as_slice())
        .bind(head.mac.as_slice())
        .bind(chain(head.team))
        .bind(bigint(base)?)
        .bind(bigint(head.position)?);
        self.change(Subject::Audit, moved).await?;
        let mut statement = QueryBuilder::<Db>::new("DELETE FROM audit_log WHERE ");
        push_team(&mut statement, head.team);
        statement.push(" AND position <= ").push_bind(bigint(head.base)?);
        self.write(statement.build()).await?;
        Ok(())
    }
}

/// Returns the SQL statement that inserts audit entries as one batch; `None` if there are none.
pub(super) fn insert_batch(entries: &[AuditRecord]) -> StoreResult<Option<Statement<'static>>> {
    let Some(first) = entries.first() else { return Ok(None) };
    let text = serde_json::to_string(entries).map_err(|error| StoreError::Corrupt(error.into()))?;
    let statement =
        sqlx::query("INSERT INTO audit_batches (id, size, entries) VALUES ($1, $2, $3)")
            .bind(AuditBatchId::draw(first.created_at).uuid())
            .bind(bigint(entries.len() as u64)?)
            .bind(text);
    Ok(Some(statement))
}

impl Session<Transaction> {
    /// Runs an SQL statement that writes one row for each of `count` chains or entries. Fails with
    /// `Stale` if it writes fewer.
    pub(super) async fn seal_rows(
        &mut self,
        statement: Statement<'_>,
        count: usize,
    ) -> StoreResult<()> {
        if self.write(statement).await? == count as u64 {
            return Ok(());
        }
        Err(StoreError::Stale(Subject::Audit))
    }
}

/// Appends a condition on the team to an SQL statement. The condition does not use `IS NOT DISTINCT
/// FROM`, because PostgreSQL uses no index for it.
fn push_team(statement: &mut QueryBuilder<Db>, team: Option<TeamId>) {
    match team {
        Some(team) => statement.push("team_id = ").push_bind(team.uuid()),
        None => statement.push("team_id IS NULL"),
    };
}

fn batch_id(row: &Row<'_>) -> StoreResult<AuditBatchId> {
    row.id("id")
}

fn batch(row: &Row<'_>) -> StoreResult<AuditBatch> {
    let id = batch_id(row)?;
    Ok(AuditBatch { id, entries: serde_json::from_str(row.get("entries")?).ok() })
}
