use async_trait::async_trait;
use sqlx::QueryBuilder;

use super::{BATCH, Connected, Db, Row, Session, Transaction};
use crate::ids::{AuditId, EnvironmentId, ProjectId, TeamId};
use crate::store::{AuditReads, AuditRecord, AuditWrites, StoreResult};

#[async_trait]
impl<C: Connected> AuditReads for Session<C> {
    async fn audit_entries(&mut self, team: TeamId, limit: u32) -> StoreResult<Vec<AuditRecord>> {
        let statement = sqlx::query(
            "SELECT
                 id, team_id, project_id, project_name, environment_id, environment_name,
                 actor_type, actor_id, actor_name, actor_email, action, resource_type, resource_id,
                 resource_name, outcome, metadata, address, agent, request_id, created_at
             FROM audit_log WHERE team_id = $1
             ORDER BY created_at DESC, id DESC
             LIMIT $2",
        );
        self.all("audit_log", statement.bind(team.uuid()).bind(i64::from(limit)), record).await
    }
}

#[async_trait]
impl AuditWrites for Session<Transaction> {
    async fn insert_audit(&mut self, entries: &[AuditRecord]) -> StoreResult<()> {
        for entries in entries.chunks(BATCH) {
            let mut statement = QueryBuilder::<Db>::new(
                "INSERT INTO audit_log
                     (id, team_id, project_id, project_name, environment_id, environment_name,
                      actor_type, actor_id, actor_name, actor_email, action, resource_type,
                      resource_id, resource_name, outcome, metadata, address, agent, request_id,
                      created_at) ",
            );
            statement.push_values(entries, |mut row, entry| {
                row.push_bind(entry.id.uuid())
                    .push_bind(entry.team.map(TeamId::uuid))
                    .push_bind(entry.project.map(ProjectId::uuid))
                    .push_bind(entry.project_name.as_deref())
                    .push_bind(entry.environment.map(EnvironmentId::uuid))
                    .push_bind(entry.environment_name.as_deref())
                    .push_bind(entry.actor_type.as_str())
                    .push_bind(entry.actor_id)
                    .push_bind(entry.actor_name.as_deref())
                    .push_bind(entry.actor_email.as_deref())
                    .push_bind(entry.action.as_str())
                    .push_bind(entry.resource_type.as_str())
                    .push_bind(entry.resource_id)
                    .push_bind(entry.resource_name.as_deref())
                    .push_bind(entry.outcome.as_str())
                    .push_bind(entry.metadata.as_str())
                    .push_bind(entry.address.map(|address| address.to_string()))
                    .push_bind(entry.agent.as_deref())
                    .push_bind(entry.request)
                    .push_bind(entry.created_at);
            });
            statement.push(" ON CONFLICT DO NOTHING");
            self.write(statement.build().persistent(entries.len() == 1)).await?;
        }
        Ok(())
    }
}

fn record(row: &Row<'_>) -> StoreResult<AuditRecord> {
    let address = match row.get::<Option<&str>>("address")? {
        Some(_) => Some(row.one_of("address", |text| text.parse().ok())?),
        None => None,
    };
    Ok(AuditRecord {
        id: row.id::<AuditId>("id")?,
        team: row.id_if_any("team_id")?,
        project: row.id_if_any("project_id")?,
        project_name: row.get("project_name")?,
        environment: row.id_if_any("environment_id")?,
        environment_name: row.get("environment_name")?,
        actor_type: row.get("actor_type")?,
        actor_id: row.get("actor_id")?,
        actor_name: row.get("actor_name")?,
        actor_email: row.get("actor_email")?,
        action: row.get("action")?,
        resource_type: row.get("resource_type")?,
        resource_id: row.get("resource_id")?,
        resource_name: row.get("resource_name")?,
        outcome: row.get("outcome")?,
        metadata: row.get("metadata")?,
        address,
        agent: row.get("agent")?,
        request: row.get("request_id")?,
        created_at: row.get("created_at")?,
    })
}
