//! Rows of the audit log: the SQL statements that insert and select audit entries, and their
//! decoding.

use std::borrow::Cow;
use std::sync::LazyLock;

use sqlx::QueryBuilder;

use super::{Db, Row, Statement, bigint};
use crate::model::{AuditId, EnvironmentId, ProjectId, TeamId, Time};
use crate::store::{AuditRecord, AuditSeal, StoreResult};

const COLUMNS: &str = "id, team_id, project_id, project_name, environment_id, environment_name,
     actor_type, actor_id, actor_name, actor_email, action, resource_type, resource_id,
     resource_name, outcome, metadata, address, agent, request_id, created_at, position,
     previous_hash, hash";

/// Possible numbers of audit entries that one SQL statement inserts. There are only four, so that
/// the prepared statements are reused.
const SIZES: [usize; 4] = [64, 16, 4, 1];

/// SQL statements that insert as many audit entries as [`SIZES`] lists, in the same order. They
/// skip entries whose ID already exists. They are built once, because the longest has more than a
/// thousand parameters, and other writers wait for the transactions that insert entries.
static INSERTS: LazyLock<[String; SIZES.len()]> = LazyLock::new(|| {
    let width = COLUMNS.split(',').count();
    SIZES.map(|size| {
        let mut text = QueryBuilder::<Db>::new(["INSERT INTO audit_log (", COLUMNS, ") "].concat());
        text.push_values(0..size, |mut row, _| {
            for _ in 0..width {
                row.push_bind(None::<i64>);
            }
        });
        text.push(" ON CONFLICT DO NOTHING");
        text.into_string()
    })
});

/// Builds the SQL statements that insert audit entries, each with its number of entries. The
/// statements skip entries whose ID already exists.
pub(super) fn inserts(
    entries: &[AuditRecord],
    seal: fn(&AuditRecord) -> Option<AuditSeal>,
) -> impl Iterator<Item = StoreResult<(Statement<'_>, usize)>> {
    let mut rest = entries;
    std::iter::from_fn(move || {
        let (size, text) = SIZES.iter().zip(&*INSERTS).find(|(size, _)| **size <= rest.len())?;
        let (part, others) = rest.split_at(*size);
        rest = others;
        let statement = part.iter().try_fold(sqlx::query(text.as_str()), |statement, entry| {
            bind(statement, entry, seal(entry))
        });
        Some(statement.map(|statement| (statement, *size)))
    })
}

/// Binds the columns of an audit entry to the next parameters of an SQL statement.
fn bind<'q>(
    statement: Statement<'q>,
    entry: &'q AuditRecord,
    seal: Option<AuditSeal>,
) -> StoreResult<Statement<'q>> {
    let statement = statement
        .bind(entry.id.uuid())
        .bind(entry.team.map(TeamId::uuid))
        .bind(entry.project.map(ProjectId::uuid))
        .bind(entry.project_name.as_deref())
        .bind(entry.environment.map(EnvironmentId::uuid))
        .bind(entry.environment_name.as_deref())
        .bind(&*entry.actor_type)
        .bind(entry.actor_id)
        .bind(entry.actor_name.as_deref())
        .bind(entry.actor_email.as_deref())
        .bind(&*entry.action)
        .bind(&*entry.resource_type)
        .bind(entry.resource_id)
        .bind(entry.resource_name.as_deref())
        .bind(&*entry.outcome)
        .bind(entry.metadata.as_str())
        .bind(entry.address.map(|address| address.to_string()))
        .bind(entry.agent.as_deref())
        .bind(entry.request)
        .bind(entry.created_at)
        .bind(seal.map(|seal| bigint(seal.position)).transpose()?)
        .bind(seal.map(|seal| seal.previous_hash.to_vec()))
        .bind(seal.map(|seal| seal.hash.to_vec()));
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
