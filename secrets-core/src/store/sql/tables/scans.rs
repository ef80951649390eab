use async_trait::async_trait;
use sqlx::QueryBuilder;

use super::{BATCH, Connected, Db, Row, Session, Transaction, push_ids};
use crate::crypto::Fingerprint;
use crate::model::scans::{FindingStatus, Severity, SourceKind};
use crate::model::{EnvironmentId, FindingId, ProjectId, ScanId, Subject, TeamId, Time};
use crate::store::{
    FindingRecord, KeptScans, ScanReads, ScanRecord, ScanWrites, SecretLocation, StoreResult,
};

#[async_trait]
impl<C: Connected> ScanReads for Session<C> {
    async fn scan(&mut self, scan: ScanId) -> StoreResult<Option<ScanRecord>> {
        let statement =
            sqlx::query(concat!("SELECT ", columns!(scans), shown_scans!(), " AND s.id = $1"));
        self.one("scans", statement.bind(scan.uuid()), record).await
    }

    async fn scans(
        &mut self,
        teams: &[TeamId],
        project: Option<ProjectId>,
        limit: u32,
    ) -> StoreResult<Vec<ScanRecord>> {
        if teams.is_empty() {
            return Ok(Vec::new());
        }
        let mut statement = QueryBuilder::<Db>::new(concat!(
            "SELECT ",
            columns!(scans),
            shown_scans!(),
            " AND s.team_id IN "
        ));
        push_ids(&mut statement, teams.iter().map(|team| team.uuid()));
        if let Some(project) = project {
            statement.push(" AND s.project_id = ").push_bind(project.uuid());
        }
        statement.push(" ORDER BY s.created_at DESC, s.id DESC LIMIT ").push_bind(i64::from(limit));
        self.all("scans", statement.build(), record).await
    }

    async fn findings(&mut self, scan: ScanId) -> StoreResult<Vec<FindingRecord>> {
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(findings),
            " FROM scan_findings f WHERE f.scan_id = $1 ORDER BY f.position"
        ));
        self.all("scan_findings", statement.bind(scan.uuid()), finding).await
    }

    async fn finding(&mut self, scan: ScanId, id: FindingId) -> StoreResult<Option<FindingRecord>> {
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(findings),
            " FROM scan_findings f WHERE f.scan_id = $1 AND f.id = $2"
        ));
        self.one("scan_findings", statement.bind(scan.uuid()).bind(id.uuid()), finding).await
    }

    async fn marks(
        &mut self,
        team: TeamId,
        fingerprints: &[Fingerprint],
    ) -> StoreResult<Vec<(Fingerprint, FindingStatus)>> {
        let mut marks = Vec::new();
        for fingerprints in fingerprints.chunks(BATCH) {
            let mut statement = QueryBuilder::<Db>::new(
                "SELECT fingerprint, status FROM finding_marks WHERE team_id = ",
            );
            statement.push_bind(team.uuid()).push(" AND fingerprint IN (");
            let mut list = statement.separated(", ");
            for Fingerprint(bytes) in fingerprints {
                list.push_bind(bytes.as_slice());
            }
            statement.push(")");
            marks.extend(self.all("finding_marks", statement.build(), mark).await?);
        }
        marks.sort_unstable_by_key(|(fingerprint, _)| *fingerprint);
        marks.dedup_by_key(|(fingerprint, _)| *fingerprint);
        Ok(marks)
    }

    async fn count_marks(&mut self, team: TeamId) -> StoreResult<u64> {
        let statement =
            sqlx::query("SELECT COUNT(*) AS count FROM finding_marks WHERE team_id = $1");
        self.count(statement.bind(team.uuid())).await
    }
}

#[async_trait]
impl ScanWrites for Session<Transaction> {
    async fn insert_scan(
        &mut self,
        scan: &ScanRecord,
        findings: &[FindingRecord],
    ) -> StoreResult<()> {
        let statement = sqlx::query(
            "INSERT INTO scans
                 (id, team_id, project_id, source, source_name, source_commit, high, medium, low,
                  is_truncated, secrets_compared, created_by, created_at, completed_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
             ON CONFLICT DO NOTHING",
        )
        .bind(scan.id.uuid())
        .bind(scan.team.uuid())
        .bind(scan.project.map(ProjectId::uuid))
        .bind(scan.source.as_str())
        .bind(scan.source_name.as_deref())
        .bind(scan.source_commit.as_deref())
        .bind(i64::from(scan.high))
        .bind(i64::from(scan.medium))
        .bind(i64::from(scan.low))
        .bind(scan.is_truncated)
        .bind(i64::from(scan.secrets_compared))
        .bind(scan.created_by.uuid())
        .bind(scan.created_at)
        .bind(scan.completed_at);
        self.insert(Subject::Scan, statement).await?;
        for findings in findings.chunks(BATCH) {
            self.insert_findings(findings).await?;
        }
        Ok(())
    }

    async fn update_finding(&mut self, finding: &FindingRecord) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE scan_findings SET status = $3, comment = $4, updated_at = $5, updated_by = $6
             WHERE scan_id = $1 AND id = $2",
        )
        .bind(finding.scan.uuid())
        .bind(finding.id.uuid())
        .bind(finding.status.as_str())
        .bind(finding.comment.as_deref())
        .bind(finding.updated_at)
        .bind(finding.updated_by);
        self.change(Subject::Finding, statement).await
    }

    async fn mark(
        &mut self,
        team: TeamId,
        fingerprint: Fingerprint,
        status: Option<FindingStatus>,
    ) -> StoreResult<()> {
        let statement = match status {
            Some(status) => sqlx::query(
                "INSERT INTO finding_marks (team_id, fingerprint, status) VALUES ($1, $2, $3)
                 ON CONFLICT (team_id, fingerprint) DO UPDATE SET status = excluded.status",
            )
            .bind(team.uuid())
            .bind(fingerprint.0.as_slice())
            .bind(status.as_str()),
            None => {
                sqlx::query("DELETE FROM finding_marks WHERE team_id = $1 AND fingerprint = $2")
                    .bind(team.uuid())
                    .bind(fingerprint.0.as_slice())
            }
        };
        self.write(statement).await?;
        Ok(())
    }

    async fn prune_scans(&mut self, before: Time, limit: u32) -> StoreResult<u64> {
        let statement = sqlx::query(
            "DELETE FROM scans WHERE id IN
                 (SELECT id FROM scans WHERE created_at < $1 ORDER BY created_at, id LIMIT $2)",
        );
        self.write(statement.bind(before).bind(i64::from(limit))).await
    }

    async fn prune_excess_scans(
        &mut self,
        scan: &ScanRecord,
        keep: KeptScans,
        limit: u32,
    ) -> StoreResult<u64> {
        // `place` and `total` count from the newest scan, `deleted` from the oldest one.
        let mut statement = QueryBuilder::<Db>::new(
            "DELETE FROM scans WHERE id IN (
                 SELECT id FROM (
                     SELECT id, findings, SUM(findings) OVER (ORDER BY created_at, id) AS deleted
                     FROM (
                         SELECT id, created_at, findings, in_place,
                             SUM(in_place) OVER newest AS place,
                             SUM(findings) OVER newest AS total
                         FROM (
                             SELECT id, created_at,
                                 CASE WHEN high + medium + low > 0 THEN high + medium + low
                                     ELSE 1 END AS findings,
                                 CASE WHEN project_id ",
        );
        match scan.project {
            Some(project) => statement.push("= ").push_bind(project.uuid()),
            None => statement.push("IS NULL"),
        };
        statement
            .push(" THEN 1 ELSE 0 END AS in_place FROM scans WHERE team_id = ")
            .push_bind(scan.team.uuid())
            .push(" AND (high + medium + low > 0) = ")
            .push_bind(scan.has_findings())
            .push(") alike WINDOW newest AS (ORDER BY created_at DESC, id DESC)) counted")
            .push(" WHERE total > ")
            .push_bind(i64::from(keep.findings))
            .push(" OR (in_place = 1 AND place > ")
            .push_bind(i64::from(keep.scans))
            .push(")) excess WHERE deleted - findings < ")
            .push_bind(i64::from(limit))
            .push(")");
        self.write(statement.build()).await
    }

    async fn delete_scan(&mut self, scan: ScanId) -> StoreResult<()> {
        let statement = sqlx::query("DELETE FROM scans WHERE id = $1").bind(scan.uuid());
        self.change(Subject::Scan, statement).await
    }
}

impl Session<Transaction> {
    async fn insert_findings(&mut self, findings: &[FindingRecord]) -> StoreResult<()> {
        let mut statement = QueryBuilder::<Db>::new(
            "INSERT INTO scan_findings
                 (id, scan_id, position, rule_id, description, severity, path, line, column_number,
                  commit_name, fingerprint, redacted, entropy, secret_project, secret_environment,
                  secret_key, status, comment, created_at, updated_at, updated_by) ",
        );
        statement.push_values(findings, |mut row, finding| {
            let secret = finding.secret.as_ref();
            row.push_bind(finding.id.uuid())
                .push_bind(finding.scan.uuid())
                .push_bind(i64::from(finding.position))
                .push_bind(finding.rule.as_str())
                .push_bind(finding.description.as_str())
                .push_bind(finding.severity.as_str())
                .push_bind(finding.path.as_deref())
                .push_bind(finding.line.map(i64::from))
                .push_bind(finding.column.map(i64::from))
                .push_bind(finding.commit.as_deref())
                .push_bind(finding.fingerprint.0.as_slice())
                .push_bind(finding.redacted.as_deref())
                .push_bind(finding.entropy.map(i64::from))
                .push_bind(secret.map(|secret| secret.project.uuid()))
                .push_bind(secret.map(|secret| secret.environment.uuid()))
                .push_bind(secret.map(|secret| secret.key.as_str()))
                .push_bind(finding.status.as_str())
                .push_bind(finding.comment.as_deref())
                .push_bind(finding.created_at)
                .push_bind(finding.updated_at)
                .push_bind(finding.updated_by);
        });
        self.write(statement.build().persistent(false)).await?;
        Ok(())
    }
}

fn record(row: &Row<'_>) -> StoreResult<ScanRecord> {
    Ok(ScanRecord {
        id: row.id("id")?,
        team: row.id("team_id")?,
        project: row.id_if_any("project_id")?,
        source: row.one_of("source", SourceKind::from_name)?,
        source_name: row.get("source_name")?,
        source_commit: row.get("source_commit")?,
        high: row.number("high")?,
        medium: row.number("medium")?,
        low: row.number("low")?,
        is_truncated: row.get("is_truncated")?,
        secrets_compared: row.number("secrets_compared")?,
        created_by: row.id("created_by")?,
        created_at: row.get("created_at")?,
        completed_at: row.get("completed_at")?,
    })
}

fn finding(row: &Row<'_>) -> StoreResult<FindingRecord> {
    Ok(FindingRecord {
        id: row.id("id")?,
        scan: row.id("scan_id")?,
        position: row.number("position")?,
        rule: row.get("rule_id")?,
        description: row.get("description")?,
        severity: row.one_of("severity", Severity::from_name)?,
        path: row.get("path")?,
        line: row.number_if_any("line")?,
        column: row.number_if_any("column_number")?,
        commit: row.get("commit_name")?,
        fingerprint: fingerprint(row)?,
        redacted: row.get("redacted")?,
        entropy: row.number_if_any("entropy")?,
        secret: secret(row)?,
        status: row.one_of("status", FindingStatus::from_name)?,
        comment: row.get("comment")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        updated_by: row.get("updated_by")?,
    })
}

fn mark(row: &Row<'_>) -> StoreResult<(Fingerprint, FindingStatus)> {
    Ok((fingerprint(row)?, row.one_of("status", FindingStatus::from_name)?))
}

fn fingerprint(row: &Row<'_>) -> StoreResult<Fingerprint> {
    let bytes: Vec<u8> = row.get("fingerprint")?;
    Ok(Fingerprint(bytes.try_into().map_err(|_| row.unreadable("fingerprint"))?))
}

fn secret(row: &Row<'_>) -> StoreResult<Option<SecretLocation>> {
    let environment = row.id_if_any::<EnvironmentId>("secret_environment")?;
    Ok(match (row.id_if_any("secret_project")?, environment, row.get("secret_key")?) {
        (Some(project), Some(environment), Some(key)) => {
            Some(SecretLocation { project, environment, key })
        }
        _ => None,
    })
}
