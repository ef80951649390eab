//! Rows of the audit log: the SQL statements that insert and select audit entries, and their
//! decoding.

use std::borrow::Cow;

use sqlx::QueryBuilder;

use super::{Db, Row, bigint};
use crate::model::{AuditId, EnvironmentId, ProjectId, TeamId, Time};
use crate::store::{AuditRecord, AuditSeal, StoreResult};

const COLUMNS: &str = "id, team_id, project_id, project_name, environment_id, environment_name,
     actor_type, actor_id, actor_name, actor_email, action, resource_type, resource_id,
     resource_name, outcome, metadata, address, agent, request_id, created_at, position,
     previous_hash, hash";

/// Possible numbers of audit entries that one SQL statement inserts. There are only four, so that
/// the prepared statements are reused.
const SIZES: [usize; 4] = [64, 16, 4, 1];

/// Splits audit entries into parts of 64, 16, 4 or 1 entries, each of which one SQL statement
/// inserts.
pub(super) fn of_prepared_sizes(entries: &[AuditRecord]) -> impl Iterator<Item = &[AuditRecord]> {
    let mut rest = entries;
    std::iter::from_fn(move || {
        let size = SIZES.into_iter().find(|size| *size <= rest.len())?;
        let (part, others) = rest.split_at(size);
        rest = others;
        Some(part)
    })
}

/// Builds the SQL statement that inserts audit entries. The statement skips entries whose ID
/// already exists.
pub(super) fn insert(
    entries: &[AuditRecord],
    seal: fn(&AuditRecord) -> Option<AuditSeal>,
) -> StoreResult<QueryBuilder<Db>> {
    let positions = entries.iter().map(|entry| seal(entry).map(|seal| bigint(seal.position)));
    let positions: Vec<_> = positions.map(Option::transpose).collect::<StoreResult<_>>()?;
    let mut statement =
        QueryBuilder::<Db>::new(["INSERT INTO audit_log (", COLUMNS, ") "].concat());
    statement.push_values(entries.iter().zip(positions), |mut row, (entry, position)| {
        row.push_bind(entry.id.uuid())
            .push_bind(entry.team.map(TeamId::uuid))
            .push_bind(entry.project.map(ProjectId::uuid))
            .push_bind(entry.project_name.as_deref())
            .push_bind(entry.environment.map(EnvironmentId::uuid))
            .push_bind(entry.environment_name.as_deref())
            .push_bind(&*entry.actor_type)
            .push_bind(entry.actor_id)
            .push_bind(entry.actor_name.as_deref())
            .push_bind(entry.actor_email.as_deref())
            .push_bind(&*entry.action)
            .push_bind(&*entry.resource_type)
            .push_bind(entry.resource_id)
            .push_bind(entry.resource_name.as_deref())
            .push_bind(&*entry.outcome)
            .push_bind(entry.metadata.as_str())
            .push_bind(entry.address.map(|address| address.to_string()))
            .push_bind(entry.agent.as_deref())
            .push_bind(entry.request)
            .push_bind(entry.created_at)
            .push_bind(position)
            .push_bind(seal(entry).map(|seal| seal.previous_hash.to_vec()))
            .push_bind(seal(entry).map(|seal| seal.hash.to_vec()));
    });
    statement.push(" ON CONFLICT DO NOTHING");
    Ok(statement)
}

pub(super) fn select() -> QueryBuilder<Db> {
    QueryBuilder::new(["SELECT ", COLUMNS, " FROM audit_log WHERE "].concat())
}

/// Decodes the time and ID of an audit entry.
pub(super) fn place(row: &Row<'_>) -> StoreResult<(Time, AuditId)> {
    Ok((row.get("created_at")?, row.id("id")?))
}

/// Decodes a hash of 32 bytes.
pub(super) fn hash(row: &Row<'_>, column: &'static str) -> StoreResult<[u8; 32]> {
    row.get::<Vec<u8>>(column)?.try_into().map_err(|_| row.unreadable(column))
}

fn seal(row: &Row<'_>) -> StoreResult<Option<AuditSeal>> {
    if row.get::<Option<i64>>("position")?.is_none() {
        return Ok(None);
    }
    Ok(Some(AuditSeal {
        position: row.number("position")?,
        previous_hash: hash(row, "previous_hash")?,
        hash: hash(row, "hash")?,
    }))
}

/// Decodes an audit entry.
pub(super) fn record(row: &Row<'_>) -> StoreResult<AuditRecord> {
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
        actor_type: Cow::Owned(row.get("actor_type")?),
        actor_id: row.get("actor_id")?,
        actor_name: row.get("actor_name")?,
        actor_email: row.get("actor_email")?,
        action: Cow::Owned(row.get("action")?),
        resource_type: Cow::Owned(row.get("resource_type")?),
        resource_id: row.get("resource_id")?,
        resource_name: row.get("resource_name")?,
        outcome: Cow::Owned(row.get("outcome")?),
        metadata: row.get("metadata")?,
        address,
        agent: row.get("agent")?,
        request: row.get("request_id")?,
        created_at: row.get("created_at")?,
        seal: seal(row)?,
    })
}
