use async_trait::async_trait;

use super::super::super::findable;
use super::keys::DESTROYED;
use super::{Connected, Row, Session, Transaction, user_or_token};
use crate::crypto::ProjectKeyRecord;
use crate::model::{
    DELETED, EnvironmentId, PlanName, Principal, ProjectId, ProjectRef, Role, Slug, Subject,
    TeamId, Time,
};
use crate::store::{
    ProjectReads, ProjectRecord, ProjectRelation, ProjectWrites, PurgeProgress, Relation,
    StoreResult,
};

/// Time of deletion (`deleted_at`) of a purged project, of which only the row is left. All other
/// deleted projects have a later time: [`Time::UNIX_EPOCH`] if they can be purged at once (projects
/// of a deleted team, deleted environments), otherwise the time of the request. So the projects to
/// purge, and the deleted projects of a team, are ranges of an index that do not include the purged
/// projects, whose number only grows.
const PURGED_AT: Time = match Time::from_timestamp(-62_135_596_800, 0) {
    Some(time) => time,
    None => panic!("the first day of the year 1 is a valid time"),
};

/// Query for at most $3 projects that were deleted before $1 and are not purged yet, without those
/// with an unfinished attempt of a rotation that is leased at $2. $4 is the Unix epoch. Includes
/// purged projects without the time [`PURGED_AT`], which programs of earlier versions have left: a
/// purge then sets the time.
pub(in super::super) const PURGEABLE: &str = concat!(
    "SELECT ",
    columns!(projects),
    " FROM projects p WHERE p.deleted_at >= $4 AND p.deleted_at < $1
          AND NOT EXISTS
              (SELECT 1 FROM environments e JOIN rotations r ON r.environment_id = e.id
               JOIN rotation_attempts a ON a.rotation_id = r.id
               WHERE e.project_id = p.id AND r.lease_until > $2 AND a.completed_at IS NULL)
      ORDER BY p.deleted_at, p.id
      LIMIT $3"
);

#[async_trait]
impl<C: Connected> ProjectReads for Session<C> {
    async fn project(
        &mut self,
        project: &ProjectRef,
        principal: Principal,
    ) -> StoreResult<Option<ProjectRelation>> {
        let (user, token) = user_or_token(principal);
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(projects),
            ", t.plan, m.role, k.id IS NOT NULL AS is_token ",
            relation!()
        ))
        .bind(project.id().map(ProjectId::uuid))
        .bind(project.slug().and_then(findable))
        .bind(user)
        .bind(token);
        self.one("projects", statement, project_relation).await
    }

    async fn deleted_project(
        &mut self,
        project: ProjectId,
        since: Time,
        principal: Principal,
    ) -> StoreResult<Option<ProjectRelation>> {
        let (user, token) = user_or_token(principal);
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(projects),
            ", t.plan, m.role, k.id IS NOT NULL AS is_token ",
            project_relations!(),
            " WHERE p.id = $1 AND p.deleted_at > $2"
        ))
        .bind(project.uuid())
        .bind(since)
        .bind(user)
        .bind(token);
        self.one("projects", statement, project_relation).await
    }

    async fn purgeable_projects(
        &mut self,
        before: Time,
        now: Time,
        limit: u32,
    ) -> StoreResult<Vec<ProjectRecord>> {
        let statement = sqlx::query(PURGEABLE)
            .bind(before)
            .bind(now)
            .bind(i64::from(limit))
            .bind(Time::UNIX_EPOCH);
        self.all("projects", statement, record).await
    }

    async fn projects(&mut self, principal: Principal) -> StoreResult<Vec<ProjectRecord>> {
        let statement = match principal {
            Principal::User(user) => sqlx::query(concat!(
                "SELECT ",
                columns!(projects),
                " FROM members m JOIN projects p ON p.team_id = m.team_id
                  WHERE m.user_id = $1 AND p.deleted_at IS NULL
                  ORDER BY p.created_at, p.id"
            ))
            .bind(user.uuid()),
            Principal::Token(token) => sqlx::query(concat!(
                "SELECT ",
                columns!(projects),
                " FROM tokens k JOIN projects p ON ",
                token_holds_project!(),
                " WHERE k.id = $1 AND p.deleted_at IS NULL
                  ORDER BY p.created_at, p.id"
            ))
            .bind(token.uuid()),
        };
        self.all("projects", statement, record).await
    }

    async fn count_projects(&mut self, team: TeamId) -> StoreResult<u64> {
        let statement = sqlx::query(
            "SELECT COUNT(*) AS count FROM projects WHERE team_id = $1 AND deleted_at IS NULL",
        );
        self.count(statement.bind(team.uuid())).await
    }

    async fn count_deleted_projects(&mut self, team: TeamId) -> StoreResult<u64> {
        // Deleted environments have the time of the Unix epoch.
        let statement = sqlx::query(
            "SELECT COUNT(*) AS count FROM projects WHERE team_id = $1 AND deleted_at > $2",
        );
        self.count(statement.bind(team.uuid()).bind(Time::UNIX_EPOCH)).await
    }

    async fn project_key(
        &mut self,
        project: ProjectId,
        version: u32,
    ) -> StoreResult<Option<ProjectKeyRecord>> {
        let statement = sqlx::query(
            "SELECT y.project_id AS id, y.version, y.kek_id, y.wrapped
             FROM project_keys y JOIN projects p ON p.id = y.project_id
             WHERE y.project_id = $1 AND y.version = $2 AND p.deleted_at IS NULL",
        )
        .bind(project.uuid())
        .bind(i64::from(version));
        self.one("project_keys", statement, key).await
    }
}

#[async_trait]
impl ProjectWrites for Session<Transaction> {
    async fn insert_project(
        &mut self,
        project: &ProjectRecord,
        key: &ProjectKeyRecord,
    ) -> StoreResult<()> {
        let statement = sqlx::query(
            "INSERT INTO projects
                 (id, team_id, name, slug, description, created_by, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
             ON CONFLICT DO NOTHING",
        )
        .bind(project.id.uuid())
        .bind(project.team.uuid())
        .bind(project.name.as_str())
        .bind(project.slug.as_str())
        .bind(&project.description)
        .bind(project.created_by)
        .bind(project.created_at)
        .bind(project.updated_at);
        self.insert(Subject::Project, statement).await?;

        let statement = sqlx::query(
            "INSERT INTO project_keys (project_id, version, kek_id, wrapped, created_at)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT DO NOTHING",
        )
        .bind(key.project.uuid())
        .bind(i64::from(key.version))
        .bind(i64::from(key.kek_id))
        .bind(&key.wrapped)
        .bind(project.created_at);
        self.insert(Subject::Project, statement).await
    }

    async fn update_project(&mut self, project: &ProjectRecord) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE projects SET name = $2, description = $3, updated_at = $4
             WHERE id = $1 AND deleted_at IS NULL",
        )
        .bind(project.id.uuid())
        .bind(project.name.as_str())
        .bind(&project.description)
        .bind(project.updated_at);
        self.change(Subject::Project, statement).await
    }

    async fn delete_project(&mut self, project: ProjectId, now: Time) -> StoreResult<()> {
        let statement =
            sqlx::query("UPDATE projects SET deleted_at = $2 WHERE id = $1 AND deleted_at IS NULL");
        self.change(Subject::Project, statement.bind(project.uuid()).bind(now)).await?;

        let statement = sqlx::query("DELETE FROM token_projects WHERE project_id = $1");
        self.write(statement.bind(project.uuid())).await.map(drop)
    }

    async fn restore_project(
        &mut self,
        project: ProjectId,
        now: Time,
        since: Time,
    ) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE projects SET deleted_at = NULL, updated_at = $2
             WHERE id = $1 AND deleted_at > $3 AND NOT EXISTS
                 (SELECT 1 FROM project_keys y
                  WHERE y.project_id = projects.id AND length(y.wrapped) = 0)",
        );
        let statement = statement.bind(project.uuid()).bind(now).bind(since);
        self.change(Subject::Project, statement).await
    }

    async fn purge_project(
        &mut self,
        project: ProjectId,
        before: Time,
        limit: u32,
    ) -> StoreResult<PurgeProgress> {
        let hold = sqlx::query(
            "UPDATE projects SET name = slug, description = NULL
             WHERE id = $1 AND deleted_at >= $2 AND deleted_at < $3",
        );
        let hold = hold.bind(project.uuid()).bind(Time::UNIX_EPOCH).bind(before);
        if self.write(hold).await? == 0 {
            return Ok(PurgeProgress::Nothing);
        }
        for text in PURGE_BATCHES {
            let some = sqlx::query(text).bind(project.uuid()).bind(i64::from(limit));
            if self.write(some).await? > 0 {
                return Ok(PurgeProgress::Partial);
            }
        }
        let keys = self.write(sqlx::query(PURGE_KEYS).bind(project.uuid())).await?;
        let environment = sqlx::query("DELETE FROM projects WHERE id = $1 AND slug = $2");
        let slug = Slug::of_deleted(project.uuid());
        self.write(environment.bind(project.uuid()).bind(slug.as_str())).await?;
        let purged = sqlx::query("UPDATE projects SET deleted_at = $2 WHERE id = $1");
        self.write(purged.bind(project.uuid()).bind(PURGED_AT)).await?;
        Ok(if keys > 0 { PurgeProgress::Complete } else { PurgeProgress::Nothing })
    }

    async fn lock_project(&mut self, project: ProjectId) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE projects SET updated_at = updated_at WHERE id = $1 AND deleted_at IS NULL",
        );
        self.change(Subject::Project, statement.bind(project.uuid())).await
    }
}

impl Session<Transaction> {
    /// Inserts the deleted project that receives a deleted environment. It has the ID of the
    /// environment and a destroyed key, and was deleted so long ago that it can be purged.
    pub(super) async fn insert_deleted_project(
        &mut self,
        environment: EnvironmentId,
    ) -> StoreResult<()> {
        let slug = Slug::of_deleted(environment.uuid());
        let project = sqlx::query(
            "INSERT INTO projects (id, team_id, name, slug, created_at, updated_at, deleted_at)
             SELECT e.id, p.team_id, $2, $3, e.created_at, e.updated_at, $4
             FROM environments e JOIN projects p ON p.id = e.project_id
             WHERE e.id = $1
             ON CONFLICT DO NOTHING",
        )
        .bind(environment.uuid())
        .bind(DELETED)
        .bind(slug.as_str())
        .bind(Time::UNIX_EPOCH);
        self.insert(Subject::Project, project).await?;
        let key = sqlx::query(
            "INSERT INTO project_keys (project_id, version, kek_id, wrapped, created_at)
             SELECT id, 1, 1, $2, updated_at FROM projects WHERE id = $1",
        );
        self.write(key.bind(environment.uuid()).bind(DESTROYED)).await.map(drop)
    }
}

/// SQL statements that delete the rows of project $1, in this order. Each deletes at most $2 rows
/// of one kind. Rows that refer to another row are deleted before that row, so that the foreign
/// keys delete only a few more rows with it, such as the reserved secret keys of a rotation.
const PURGE_BATCHES: [&str; 11] = [
    "DELETE FROM secret_versions WHERE (secret_id, version) IN
         (SELECT v.secret_id, v.version FROM secret_versions v
          JOIN environments e ON e.id = v.environment_id
          WHERE e.project_id = $1 LIMIT $2)",
    "DELETE FROM secrets WHERE id IN
         (SELECT s.id FROM secrets s JOIN environments e ON e.id = s.environment_id
          WHERE e.project_id = $1 LIMIT $2)",
    "DELETE FROM scan_findings WHERE id IN
         (SELECT f.id FROM scans s JOIN scan_findings f ON f.scan_id = s.id
          WHERE s.project_id = $1 LIMIT $2)",
    "DELETE FROM scans WHERE id IN (SELECT id FROM scans WHERE project_id = $1 LIMIT $2)",
    "DELETE FROM webhook_deliveries WHERE id IN
         (SELECT d.id FROM environments e JOIN rotations r ON r.environment_id = e.id
          JOIN webhooks w ON w.rotation_id = r.id JOIN webhook_deliveries d ON d.webhook_id = w.id
          WHERE e.project_id = $1 LIMIT $2)",
    "DELETE FROM rotation_attempts WHERE id IN
         (SELECT a.id FROM environments e JOIN rotations r ON r.environment_id = e.id
          JOIN rotation_attempts a ON a.rotation_id = r.id
          WHERE e.project_id = $1 LIMIT $2)",
    "DELETE FROM rotations WHERE id IN
         (SELECT r.id FROM environments e JOIN rotations r ON r.environment_id = e.id
          WHERE e.project_id = $1 LIMIT $2)",
    "DELETE FROM permissions WHERE (environment_id, user_id) IN
         (SELECT m.environment_id, m.user_id FROM environments e
          JOIN permissions m ON m.environment_id = e.id
          WHERE e.project_id = $1 LIMIT $2)",
    "DELETE FROM token_environments WHERE (token_id, environment_id) IN
         (SELECT x.token_id, x.environment_id FROM environments e
          JOIN token_environments x ON x.environment_id = e.id
          WHERE e.project_id = $1 LIMIT $2)",
    // Removes the references between environments, which are deleted in any order.
    "UPDATE environments SET inherits_from = NULL WHERE id IN
         (SELECT id FROM environments
          WHERE project_id = $1 AND inherits_from IS NOT NULL LIMIT $2)",
    "DELETE FROM environments WHERE id IN
         (SELECT id FROM environments WHERE project_id = $1 LIMIT $2)",
];

/// SQL statement that deletes the encryption keys of a purged project. Runs last: a record counts
/// as damaged, and not as destroyed, if the key of its project is missing.
const PURGE_KEYS: &str = "DELETE FROM project_keys WHERE project_id = $1";

fn record(row: &Row<'_>) -> StoreResult<ProjectRecord> {
    Ok(ProjectRecord {
        id: row.id("id")?,
        team: row.id("team_id")?,
        name: row.name("name")?,
        slug: row.name("slug")?,
        description: row.get("description")?,
        created_by: row.get("created_by")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

fn project_relation(row: &Row<'_>) -> StoreResult<ProjectRelation> {
    let relation = relation(row, row.get("is_token")?)?;
    Ok(ProjectRelation { project: record(row)?, plan: plan(row)?, relation })
}

pub(super) fn plan(row: &Row<'_>) -> StoreResult<PlanName> {
    row.name("plan")
}

pub(super) fn relation(row: &Row<'_>, is_token: bool) -> StoreResult<Relation> {
    if is_token {
        return Ok(Relation::Token);
    }
    match row.get::<Option<&str>>("role")? {
        Some(_) => row.one_of("role", Role::from_name).map(Relation::Member),
        None => Ok(Relation::None),
    }
}

pub(super) fn key(row: &Row<'_>) -> StoreResult<ProjectKeyRecord> {
    Ok(ProjectKeyRecord {
        project: row.id("id")?,
        version: row.number("version")?,
        kek_id: row.number("kek_id")?,
        wrapped: row.get("wrapped")?,
    })
}
