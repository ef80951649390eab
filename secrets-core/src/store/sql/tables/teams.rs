use async_trait::async_trait;
use sqlx::QueryBuilder;

use super::super::super::error::broken;
use super::{Connected, Db, Row, Session, Transaction, environments, push_ids};
use crate::model::{DELETED, PlanName, Role, Slug, Subject, TeamId, Time, UserId};
use crate::store::{
    MemberRecord, Membership, StoreResult, TeamReads, TeamRecord, TeamUsage, TeamWrites,
};

/// SQL statements that delete the contents of a team, in this order, except the contents that
/// [`DELETE_IN_BATCHES`] or a purge of the team's projects deletes.
const DELETE_CONTENTS: [&str; 6] = [
    "DELETE FROM permission_defaults
     WHERE project_id IN (SELECT id FROM projects WHERE team_id = $1)",
    "DELETE FROM finding_marks WHERE team_id = $1",
    "DELETE FROM tokens WHERE team_id = $1",
    "DELETE FROM invitations WHERE team_id = $1",
    "DELETE FROM members WHERE team_id = $1",
    "DELETE FROM team_sizes WHERE team_id = $1",
];

/// SQL statements that delete scans and rotations of team $1, at most $2 each. The foreign keys
/// also delete the many rows that refer to them. Rotations are not left to the purge of the
/// projects, because workers would process them until then.
const DELETE_IN_BATCHES: [&str; 2] = [
    "DELETE FROM scans WHERE id IN
         (SELECT id FROM scans WHERE team_id = $1 AND project_id IS NULL LIMIT $2)",
    "DELETE FROM rotations WHERE id IN
         (SELECT r.id FROM projects p JOIN environments e ON e.project_id = p.id
          JOIN rotations r ON r.environment_id = e.id
          WHERE p.team_id = $1 LIMIT $2)",
];

/// Maximum number of rows that a statement of [`DELETE_IN_BATCHES`] deletes, not counting the rows
/// that foreign keys delete with them.
const MAX_DELETED: u32 = 50;

/// Query [`STORED_BYTES`]. A macro, because another statement contains it.
macro_rules! stored_bytes {
    () => {
        concat!(
            "SELECT CAST(COALESCE(SUM(e.size + e.history_size), 0) AS BIGINT) AS size FROM ",
            unpurged_projects!(),
            " JOIN environments e ON e.project_id = p.id WHERE e.project_id <> e.id"
        )
    };
}

/// Query for the total size in bytes of the secrets of team $1 and their previous versions, with
/// those of deleted projects that are not purged yet. $2 is the Unix epoch.
pub(in super::super) const STORED_BYTES: &str = stored_bytes!();

#[async_trait]
impl<C: Connected> TeamReads for Session<C> {
    async fn membership(&mut self, team: TeamId, user: UserId) -> StoreResult<Option<Membership>> {
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(teams),
            ", m.role, m.created_at AS joined_at
             FROM teams t LEFT JOIN members m ON m.team_id = t.id AND m.user_id = $2
             WHERE t.id = $1"
        ))
        .bind(team.uuid())
        .bind(user.uuid());
        self.one("teams", statement, membership).await
    }

    async fn memberships(&mut self, user: UserId) -> StoreResult<Vec<Membership>> {
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(teams),
            ", m.role, m.created_at AS joined_at
             FROM members m JOIN teams t ON t.id = m.team_id
             WHERE m.user_id = $1
             ORDER BY t.created_at, t.id"
        ))
        .bind(user.uuid());
        self.all("teams", statement, membership).await
    }

    async fn members(&mut self, teams: &[TeamId]) -> StoreResult<Vec<MemberRecord>> {
        if teams.is_empty() {
            return Ok(Vec::new());
        }
        let mut statement = QueryBuilder::<Db>::new(
            "SELECT m.team_id, m.user_id AS id, m.role, m.created_at, m.updated_at,
                 CASE WHEN u.email_verified THEN u.email ELSE '' END AS email,
                 u.name, u.avatar_url
             FROM members m JOIN users u ON u.id = m.user_id
             WHERE m.team_id IN ",
        );
        push_ids(&mut statement, teams.iter().map(|team| team.uuid()));
        statement.push(" ORDER BY m.team_id, m.created_at, m.user_id");
        self.all("members", statement.build(), member).await
    }

    async fn team_usage(&mut self, team: TeamId) -> StoreResult<TeamUsage> {
        let statement = sqlx::query(concat!(
            "WITH
             places AS (
                 SELECT e.id, e.project_id, e.size, e.history_size FROM projects p
                 JOIN environments e ON e.project_id = p.id
                 WHERE p.team_id = $1 AND p.deleted_at IS NULL),
             of_projects AS (SELECT COUNT(*) AS n FROM places GROUP BY project_id),
             of_places AS (
                 SELECT COUNT(*) AS n FROM places x JOIN secrets s ON s.environment_id = x.id
                 GROUP BY x.id)
             SELECT
                 (SELECT COUNT(*) FROM members WHERE team_id = $1) AS members,
                 (SELECT COUNT(*) FROM projects WHERE team_id = $1 AND deleted_at IS NULL)
                     AS projects,
                 (SELECT COUNT(*) FROM places) AS environments,
                 (SELECT COALESCE(MAX(n), 0) FROM of_projects) AS most_environments,
                 (SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM of_places) AS secrets,
                 (SELECT COALESCE(MAX(n), 0) FROM of_places) AS most_secrets,
                 (SELECT CAST(COALESCE(SUM(size + history_size), 0) AS BIGINT) FROM places) AS bytes,
                 (SELECT COALESCE(MAX(size), 0) FROM places) AS most_bytes,
                 (",
            stored_bytes!(),
            ") AS stored_bytes,
                 (SELECT COUNT(*) FROM tokens WHERE team_id = $1) AS service_tokens,
                 (SELECT COUNT(*) FROM places x JOIN rotations r ON r.environment_id = x.id)
                     AS rotations",
        ));
        let statement = statement.bind(team.uuid()).bind(Time::UNIX_EPOCH);
        let usage = self.one("usage", statement, usage).await?;
        usage.ok_or_else(|| broken("a count returned no row"))
    }

    async fn stored_bytes(&mut self, team: TeamId) -> StoreResult<u64> {
        let statement = sqlx::query(STORED_BYTES).bind(team.uuid()).bind(Time::UNIX_EPOCH);
        let size = self.one("environments", statement, |row| environments::size(row, "size"));
        let size = size.await?;
        size.ok_or_else(|| broken("a sum returned no row"))
    }

    async fn team(&mut self, team: TeamId) -> StoreResult<Option<TeamRecord>> {
        let statement =
            sqlx::query(concat!("SELECT ", columns!(teams), " FROM teams t WHERE t.id = $1"));
        self.one("teams", statement.bind(team.uuid()), record).await
    }

    async fn next_team(&mut self, from: TeamId) -> StoreResult<Option<TeamRecord>> {
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(teams),
            " FROM teams t WHERE t.id >= $1 ORDER BY t.id LIMIT 1"
        ));
        self.one("teams", statement.bind(from.uuid()), record).await
    }
}

#[async_trait]
impl TeamWrites for Session<Transaction> {
    async fn insert_team(&mut self, team: &TeamRecord) -> StoreResult<()> {
        let statement = sqlx::query(
            "INSERT INTO teams
                 (id, name, slug, is_personal, plan, created_by, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
             ON CONFLICT DO NOTHING",
        )
        .bind(team.id.uuid())
        .bind(team.name.as_str())
        .bind(team.slug.as_str())
        .bind(team.is_personal)
        .bind(team.plan.as_str())
        .bind(team.created_by.uuid())
        .bind(team.created_at)
        .bind(team.updated_at);
        self.insert(Subject::Team, statement).await
    }

    async fn insert_member(&mut self, member: &MemberRecord) -> StoreResult<()> {
        let statement = sqlx::query(
            "INSERT INTO members (team_id, user_id, role, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT DO NOTHING",
        )
        .bind(member.team.uuid())
        .bind(member.user.uuid())
        .bind(member.role.as_str())
        .bind(member.created_at)
        .bind(member.updated_at);
        self.insert(Subject::User, statement).await
    }

    async fn update_member(&mut self, member: &MemberRecord) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE members SET role = $3, updated_at = $4 WHERE team_id = $1 AND user_id = $2",
        )
        .bind(member.team.uuid())
        .bind(member.user.uuid())
        .bind(member.role.as_str())
        .bind(member.updated_at);
        self.change(Subject::User, statement).await
    }

    async fn set_plan(&mut self, team: TeamId, plan: &PlanName, now: Time) -> StoreResult<()> {
        let statement = sqlx::query("UPDATE teams SET plan = $2, updated_at = $3 WHERE id = $1");
        let statement = statement.bind(team.uuid()).bind(plan.as_str()).bind(now);
        self.change(Subject::Team, statement).await
    }

    async fn delete_member(&mut self, team: TeamId, user: UserId) -> StoreResult<()> {
        let statement = sqlx::query("DELETE FROM members WHERE team_id = $1 AND user_id = $2");
        self.change(Subject::User, statement.bind(team.uuid()).bind(user.uuid())).await
    }

    async fn delete_team(&mut self, team: TeamId, now: Time) -> StoreResult<()> {
        // First, to keep the lock order: other transactions lock a project's row before any row in
        // it. Purged projects have an earlier time of deletion, and stay as they are.
        let projects = sqlx::query(
            "UPDATE projects SET name = $2, description = NULL, deleted_at = $3
             WHERE team_id = $1 AND (deleted_at IS NULL OR deleted_at >= $3)",
        )
        .bind(team.uuid())
        .bind(DELETED)
        .bind(Time::UNIX_EPOCH);
        self.write(projects).await?;
        for text in DELETE_IN_BATCHES {
            self.write_in_batches(text, team.uuid(), MAX_DELETED).await?;
        }
        for text in DELETE_CONTENTS {
            self.write(sqlx::query(text).bind(team.uuid())).await?;
        }
        let slug = Slug::of_deleted(team.uuid());
        let statement =
            sqlx::query("UPDATE teams SET name = $2, slug = $3, updated_at = $4 WHERE id = $1")
                .bind(team.uuid())
                .bind(DELETED)
                .bind(slug.as_str())
                .bind(now);
        self.write(statement).await.map(drop)
    }

    async fn lock_team(&mut self, team: TeamId) -> StoreResult<()> {
        let statement =
            sqlx::query("UPDATE teams SET updated_at = updated_at WHERE id = $1").bind(team.uuid());
        self.change(Subject::Team, statement).await
    }

    async fn lock_team_size(&mut self, team: TeamId) -> StoreResult<()> {
        let statement = sqlx::query(
            "INSERT INTO team_sizes (team_id) VALUES ($1)
             ON CONFLICT (team_id) DO UPDATE SET team_id = excluded.team_id",
        );
        self.write(statement.bind(team.uuid())).await.map(drop)
    }
}

fn usage(row: &Row<'_>) -> StoreResult<TeamUsage> {
    Ok(TeamUsage {
        members: row.number("members")?,
        projects: row.number("projects")?,
        environments: row.number("environments")?,
        most_environments: row.number("most_environments")?,
        secrets: row.number("secrets")?,
        most_secrets: row.number("most_secrets")?,
        bytes: environments::size(row, "bytes")?,
        most_bytes: environments::size(row, "most_bytes")?,
        stored_bytes: environments::size(row, "stored_bytes")?,
        service_tokens: row.number("service_tokens")?,
        rotations: row.number("rotations")?,
    })
}

fn record(row: &Row<'_>) -> StoreResult<TeamRecord> {
    Ok(TeamRecord {
        id: row.id("id")?,
        name: row.name("name")?,
        slug: row.name("slug")?,
        is_personal: row.get("is_personal")?,
        plan: row.name("plan")?,
        created_by: row.id("created_by")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

fn membership(row: &Row<'_>) -> StoreResult<Membership> {
    let joined_at = row.get("joined_at")?;
    let role = match joined_at {
        Some(_) => Some(row.one_of("role", Role::from_name)?),
        None => None,
    };
    Ok(Membership { team: record(row)?, role, joined_at })
}

fn member(row: &Row<'_>) -> StoreResult<MemberRecord> {
    Ok(MemberRecord {
        team: row.id("team_id")?,
        user: row.id("id")?,
        role: row.one_of("role", Role::from_name)?,
        email: row.get("email")?,
        name: row.get("name")?,
        avatar_url: row.get("avatar_url")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
