//! The table `audit_heads`: the start and end of each audit chain.

use sqlx::QueryBuilder;
use uuid::Uuid;

use super::audit_rows::hash;
use super::{Connected, Db, Row, Session, Transaction, bigint, push_ids};
use crate::model::TeamId;
use crate::store::{AuditHead, ChainExtension, StoreResult};

/// Start of a query for heads of audit chains.
pub(super) const HEAD: &str =
    "SELECT team_id, base, base_hash, position, hash, mac FROM audit_heads";

/// Statement, in two parts, that inserts the heads (start and end) of new audit chains. The method
/// `write_heads` adds the values between the parts.
pub(super) const START_CHAINS: (&str, &str) = (
    "INSERT INTO audit_heads (position, hash, mac, team_id, base, base_hash)
     SELECT column1, column2, column3, column4, column5, column6 FROM (",
    ") AS v WHERE column7 = 0 ON CONFLICT DO NOTHING",
);

/// Statement, in two parts, that updates the heads (start and end) of audit chains whose stored
/// start and last position are the expected ones; see `write_heads`.
pub(super) const MOVE_HEADS: (&str, &str) = (
    "UPDATE audit_heads SET position = v.column1, hash = v.column2, mac = v.column3 FROM (",
    ") AS v WHERE team_id = v.column4 AND base = v.column5 AND base_hash = v.column6
         AND audit_heads.position = v.column7",
);

impl Session<Transaction> {
    /// Runs an SQL statement that writes the heads of these chains. The statement consists of the
    /// two parts with the list of values between them: position, hash, MAC, chain, base, hash of the
    /// base, and expected position.
    pub(super) async fn write_heads(
        &mut self,
        (start, end): (&'static str, &'static str),
        chains: &[&ChainExtension],
    ) -> StoreResult<()> {
        let numbers = chains.iter().map(|ChainExtension { head, end, .. }| {
            Ok((bigint(head.position)?, bigint(head.base)?, bigint(*end)?))
        });
        let numbers: Vec<_> = numbers.collect::<StoreResult<_>>()?;
        let mut statement = QueryBuilder::<Db>::new(start);
        let rows = chains.iter().zip(numbers);
        statement.push_values(rows, |mut row, (ChainExtension { head, .. }, numbers)| {
            let (position, base, end) = numbers;
            row.push_bind(position)
                .push_bind(head.hash.to_vec())
                .push_bind(head.mac.to_vec())
                .push_bind(chain(head.team))
                .push_bind(base)
                .push_bind(head.base_hash.to_vec())
                .push_bind(end);
        });
        statement.push(end);
        self.seal_rows(statement.build().persistent(chains.len() == 1), chains.len()).await
    }
}

/// Returns the start and end of the audit chains of these teams. `lock` is the SQL clause that
/// locks the rows, or an empty string.
pub(super) async fn heads_among<C: Connected>(
    session: &mut Session<C>,
    teams: &[Option<TeamId>],
    lock: &str,
) -> StoreResult<Vec<AuditHead>> {
    if teams.is_empty() {
        return Ok(Vec::new());
    }
    let mut statement = QueryBuilder::<Db>::new(HEAD);
    statement.push(" WHERE team_id IN ");
    push_ids(&mut statement, teams.iter().map(|team| chain(*team)));
    // In one order, so that two nodes do not wait for each other.
    statement.push(" ORDER BY team_id ").push(lock);
    let statement = statement.build().persistent(teams.len() == 1);
    session.all("audit_heads", statement, head).await
}

/// Returns the ID that identifies an audit chain in the table. The chain of entries without a team
/// has the nil UUID, because a primary key column cannot be NULL.
pub(super) fn chain(team: Option<TeamId>) -> Uuid {
    team.map_or(Uuid::nil(), TeamId::uuid)
}

/// Reads the team of an audit chain from a row of the table; `None` for the chain without a team.
pub(super) fn chain_team(row: &Row<'_>) -> StoreResult<Option<TeamId>> {
    let team: Uuid = row.get("team_id")?;
    Ok((!team.is_nil()).then(|| team.into()))
}

/// Reads a head from a row of the table.
pub(super) fn head(row: &Row<'_>) -> StoreResult<AuditHead> {
    Ok(AuditHead {
        team: chain_team(row)?,
        base: row.number("base")?,
        base_hash: hash(row, "base_hash")?,
        position: row.number("position")?,
        hash: hash(row, "hash")?,
        mac: hash(row, "mac")?,
    })
}
