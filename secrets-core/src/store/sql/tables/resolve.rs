//! Resolving an environment for a principal (user or service token) with one SQL statement,
//! whatever the length of the inheritance chain.
//!
//! The statement returns three kinds of rows: the project, the environments of the inheritance
//! chain, and their secrets. All rows have the columns of all three kinds; the columns of the other
//! two kinds are NULL. The reason is speed: with 1,000 secrets, PostgreSQL took twice as long when
//! each row also repeated the project and the environment.

use std::sync::Arc;

use super::super::super::findable;
use super::{Connected, Row, Session, permissions, projects, secrets, user_or_token};
use crate::crypto::ProjectKeyRecord;
use crate::model::{EnvironmentId, EnvironmentPath, PlanName, Principal, ProjectId};
use crate::store::{
    ChainLink, EnvironmentRecord, ProjectRecord, Relation, ResolvedEnvironment, SecretRecord,
    Selection, StoreResult,
};

const PROJECT: i64 = 0;
const LINK: i64 = 1;

const _: () =
    assert!(ResolvedEnvironment::MAX_LINKS == 17, "the statement counts depths from 0 to 16");

/// SQL statement that resolves an environment. $5 is the environment ID, or $6 and $7 are its name,
/// case-folded and exact. The inheritance chain is cut off after 17 environments
/// ([`ResolvedEnvironment::MAX_LINKS`]), so that a cycle ends. `CROSS JOIN` makes SQLite keep this
/// join order. A `COUNT` checks whether an environment is in scope, because PostgreSQL would turn
/// `EXISTS` into a full scan.
macro_rules! resolve {
    ($secrets:expr) => {
        concat!(
            "WITH RECURSIVE
             place AS (
                 SELECT ",
            columns!(projects),
            ", t.plan, m.role, k.id AS token_id, k.all_environments,
                 COALESCE($5, (SELECT e.id FROM environments e WHERE e.project_id = p.id
                               AND e.folded_name = $6 AND e.name = $7)) AS environment_id ",
            relation!(),
            "),
             chain AS (
                 SELECT CAST(0 AS BIGINT) AS depth, ",
            columns!(environments),
            "    FROM place CROSS JOIN environments e
                 WHERE e.id = place.environment_id AND e.project_id = place.id
                 UNION ALL
                 SELECT c.depth + 1, ",
            columns!(environments),
            "    FROM chain c CROSS JOIN environments e
                 WHERE e.id = c.inherits_from AND c.depth < 16)
             SELECT
                 CAST(0 AS BIGINT) AS kind, CAST(0 AS BIGINT) AS depth, p.id,
                 CAST(NULL AS UUID) AS environment_id, CAST(NULL AS TEXT) AS key,
                 CAST(NULL AS BYTEA) AS sealed, CAST(NULL AS BOOLEAN) AS hidden,
                 CAST(NULL AS BYTEA) AS sealed_description, CAST(NULL AS BIGINT) AS version,
                 CAST(NULL AS TEXT) AS change, CAST(NULL AS UUID) AS changed_by,
                 CAST(NULL AS TIMESTAMPTZ) AS changed_at,
                 p.created_by, CAST(NULL AS UUID) AS updated_by, p.created_at, p.updated_at,
                 p.name, p.description, p.slug, p.team_id, p.plan, p.role,
                 p.token_id IS NOT NULL AS is_token, y.wrapped AS wrapped_key,
                 CAST(y.version AS BIGINT) AS key_version, CAST(y.kek_id AS BIGINT) AS kek_id,
                 CAST(NULL AS UUID) AS project_id, CAST(NULL AS UUID) AS inherits_from,
                 CAST(NULL AS BOOLEAN) AS is_default, CAST(NULL AS BIGINT) AS position,
                 CAST(NULL AS BIGINT) AS revision, CAST(NULL AS TEXT) AS granted,
                 FALSE AS in_scope
             FROM place p LEFT JOIN project_keys y ON y.project_id = p.id AND y.version =
                 (SELECT MAX(version) FROM project_keys WHERE project_id = p.id)
             UNION ALL
             SELECT
                 1, c.depth, c.id,
                 NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                 c.created_by, NULL, c.created_at, c.updated_at,
                 c.name, c.description, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                 c.project_id, c.inherits_from, c.is_default, c.position, c.revision,
                 CASE WHEN $4 IS NULL THEN COALESCE(
                     (SELECT g.access FROM permissions g
                      WHERE g.environment_id = c.id AND g.user_id = $3),
                     (SELECT n.access FROM environment_defaults n WHERE n.environment_id = c.id),
                     (SELECT d.access FROM permission_defaults d WHERE d.project_id = p.id)) END,
                 $4 IS NULL OR COALESCE(p.all_environments, FALSE) OR
                     (SELECT COUNT(*) FROM token_environments x
                      WHERE x.token_id = p.token_id AND x.environment_id = c.id) > 0
             FROM place p CROSS JOIN chain c",
            $secrets
        )
    };
}

/// Part of the SQL statement that selects the secrets of the inheritance chain. Each database has
/// its own efficient join for them.
macro_rules! secrets {
    ($condition:literal) => {
        concat!(
            " UNION ALL
             SELECT
                 2, c.depth, s.id, s.environment_id,
                 s.key, s.sealed, s.hidden,
                 s.sealed_description, s.version, s.change,
                 s.changed_by, s.changed_at,
                 s.created_by, s.updated_by, s.created_at, s.updated_at,
                 NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                 NULL, NULL, NULL, NULL, NULL, NULL, NULL ",
            secrets_of_chain!($condition)
        )
    };
}

const NOTHING: &str = resolve!("");
pub(in super::super) const KEY: &str = resolve!(secrets!("AND s.key = $8"));
pub(in super::super) const OWN_KEY: &str = resolve!(secrets!("AND s.key = $8 AND c.depth = 0"));
pub(in super::super) const OWN: &str = resolve!(secrets!("AND c.depth = 0"));
pub(in super::super) const ALL: &str = resolve!(secrets!(""));

/// Loads an environment by its path for `principal` (a user or service token).
pub(super) async fn read<C: Connected>(
    session: &mut Session<C>,
    path: &EnvironmentPath,
    principal: Principal,
    selection: Selection<'_>,
) -> StoreResult<Option<ResolvedEnvironment>> {
    let (user, token) = user_or_token(principal);
    let name = path.environment.name().and_then(findable);
    let (text, key) = match selection {
        Selection::None => (NOTHING, None),
        Selection::Key(key) => (KEY, Some(key)),
        Selection::OwnKey(key) => (OWN_KEY, Some(key)),
        Selection::Own => (OWN, None),
        Selection::All => (ALL, None),
    };
    let mut statement = sqlx::query(text)
        .bind(path.project.id().map(ProjectId::uuid))
        .bind(path.project.slug().and_then(findable))
        .bind(user)
        .bind(token)
        .bind(path.environment.id().map(EnvironmentId::uuid))
        .bind(name.map(str::to_ascii_lowercase))
        .bind(name);
    if let Some(key) = key {
        statement = statement.bind(key.as_str());
    }

    let mut collected = Rows::default();
    session.each("resolved_environment", statement, |row| collected.add(row)).await?;
    Ok(collected.assemble())
}

/// Decoded rows of the result, which arrive in any order.
#[derive(Default)]
struct Rows {
    head: Option<Head>,
    links: Vec<(usize, ChainLink)>,
    secrets: Vec<(usize, SecretRecord)>,
    /// Total size of the encrypted secrets, in bytes.
    bytes: usize,
}

struct Head {
    project: ProjectRecord,
    plan: PlanName,
    relation: Relation,
    key: ProjectKeyRecord,
}

impl Rows {
    fn add(&mut self, row: &Row<'_>) -> StoreResult<()> {
        let depth = row.number("depth")?;
        match row.get("kind")? {
            PROJECT => self.head = Some(head(row)?),
            LINK => self.links.push((depth, link(row)?)),
            _ => {
                let secret = secrets::record(&Row { table: "secrets", ..*row })?;
                self.bytes += secret.size();
                if self.bytes > ResolvedEnvironment::MAX_BYTES {
                    return Err(ResolvedEnvironment::TOO_LARGE);
                }
                self.secrets.push((depth, secret));
            }
        }
        Ok(())
    }

    fn assemble(mut self) -> Option<ResolvedEnvironment> {
        let Head { project, plan, relation, key } = self.head?;
        self.links.sort_unstable_by_key(|(depth, _)| *depth);
        let mut chain: Vec<_> = self.links.into_iter().map(|(_, link)| link).collect();
        for (depth, secret) in self.secrets {
            if let Some(link) = chain.get_mut(depth) {
                link.secrets.push(Arc::new(secret));
            }
        }
        for link in &mut chain {
            secrets::sort(&mut link.secrets);
        }
        Some(ResolvedEnvironment { project, plan, relation, key, chain })
    }
}

fn head(row: &Row<'_>) -> StoreResult<Head> {
    let project = ProjectRecord {
        id: row.id("id")?,
        team: row.id("team_id")?,
        name: row.name("name")?,
        slug: row.name("slug")?,
        description: row.get("description")?,
        created_by: row.get("created_by")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    };
    let key = ProjectKeyRecord {
        project: project.id,
        version: row.number("key_version")?,
        kek_id: row.number("kek_id")?,
        wrapped: row.get("wrapped_key")?,
    };
    let relation = projects::relation(row, row.get("is_token")?)?;
    Ok(Head { project, plan: projects::plan(row)?, relation, key })
}

fn link(row: &Row<'_>) -> StoreResult<ChainLink> {
    let environment = EnvironmentRecord {
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
    };
    let granted = permissions::granted(row, "granted")?;
    Ok(ChainLink { environment, in_scope: row.get("in_scope")?, granted, secrets: Vec::new() })
}
