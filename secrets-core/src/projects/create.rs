//! Creating a project.

use serde::Deserialize;

use super::Project;
use crate::access::NOT_A_MEMBER;
use crate::crypto::random;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{
    Code, DisplayName, EnvironmentId, EnvironmentName, Error, Permission, ProjectId, Quota, Result,
    Slug, Subject, Summary, TeamId,
};
use crate::store::{EnvironmentRecord, ProjectRecord, StoreError};

/// Fields of a new project.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(example = json!({
    "name": "Web API", "description": "The API of the web shop",
})))]
pub struct NewProject {
    /// Display name of the new project.
    pub name: DisplayName,
    /// Team that will own the project; defaults to the caller's only team or personal team.
    pub team_id: Option<TeamId>,
    /// Description of the new project.
    pub description: Option<Summary>,
    /// Short name of the project in URLs; derived from its name if absent.
    pub slug: Option<Slug>,
}

impl NewProject {
    /// Creates the input for a project with this name in the caller's default team.
    #[must_use]
    pub fn named(name: DisplayName) -> Self {
        Self { name, team_id: None, description: None, slug: None }
    }
}

/// Creates a project with its three default environments: `development`, `staging` and
/// `production`. A team can have at most 1,000 deleted projects that are not purged yet.
#[derive(Debug)]
pub struct CreateProject {
    /// Fields of the new project.
    pub project: NewProject,
}

/// Maximum number of deleted projects of a team that are not purged yet, whatever the plan. The row
/// of a project is never deleted, so this bounds the number of rows that a team adds in a month.
const MAX_DELETED: u64 = 1_000;

/// Maximum number of attempts to find a free slug. Each retry uses a new random suffix of four
/// letters, so it is practically impossible that all attempts fail.
const MAX_ATTEMPTS: usize = 8;

impl Operation for CreateProject {
    const NAME: &'static str = "project.create";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("project.created");
    type Access = Write;
    type Output = Project;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Project> {
        let NewProject { name, team_id, description, slug } = self.project;
        let team = match team_id {
            Some(team) => team,
            None => cx.default_team().await?,
        };
        let unknown = NOT_A_MEMBER;
        let scope = cx.locked_team(team, Permission::Contribute, unknown).await?;
        check_deleted(cx, team).await?;
        let current = match scope.plan.limit(Quota::Projects) {
            Some(_) => cx.tx().count_projects(team).await?,
            None => 0,
        };
        let project = ProjectRecord {
            id: ProjectId::draw(cx.now()),
            team,
            slug: slug.clone().unwrap_or_else(|| Slug::suggested(&name, "project")),
            name,
            description: description.map(Into::into),
            created_by: cx.caller.actor(),
            created_at: cx.now(),
            updated_at: cx.now(),
        };
        let project = insert(cx, project, slug.is_some()).await?;
        scope.plan.admit(Quota::Projects, current, 1)?;
        for (position, name) in (0..).zip(EnvironmentName::defaults()) {
            let environment = default_environment(cx, &project, name, position);
            cx.tx().insert_environment(&environment).await?;
        }

        cx.audit.project = Some((project.id, project.name.to_string()));
        cx.set_resource("project", project.id.uuid(), project.name.as_str());
        Ok(project.into())
    }
}

/// Checks that the team has fewer than 1,000 deleted projects that are not purged yet. The caller
/// must have locked the team.
async fn check_deleted(cx: &mut Context<'_, Write>, team: TeamId) -> Result<()> {
    if cx.reads().count_deleted_projects(team).await? >= MAX_DELETED {
        let reason =
            "a team can have at most 1,000 deleted projects; those deleted in the last 30 \
                      days count, until they are restored or permanently deleted"
                .into();
        return Err(Error::Refused { code: Code::InvalidRequest, reason });
    }
    Ok(())
}

/// Inserts the project. If its slug is reserved or already taken, fails if the caller chose the
/// slug (`given`), and otherwise appends a random suffix.
async fn insert(
    cx: &mut Context<'_, Write>,
    mut project: ProjectRecord,
    given: bool,
) -> Result<ProjectRecord> {
    let plain = project.slug.clone();
    if plain.is_reserved() {
        if given {
            return Err(taken());
        }
        project.slug = plain.with_suffix(random());
    }
    let key = cx.keyring().draw_project_key(project.id, 1);
    for _ in 0..MAX_ATTEMPTS {
        match cx.tx().insert_project(&project, &key).await {
            Ok(()) => return Ok(project),
            Err(StoreError::Duplicate(_)) if given => return Err(taken()),
            Err(StoreError::Duplicate(_)) => project.slug = plain.with_suffix(random()),
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::Conflict(Subject::Project))
}

fn taken() -> Error {
    Error::taken("slug", "is taken already")
}

fn default_environment(
    cx: &Context<'_, Write>,
    project: &ProjectRecord,
    name: EnvironmentName,
    position: u32,
) -> EnvironmentRecord {
    EnvironmentRecord {
        id: EnvironmentId::draw(cx.now()),
        project: project.id,
        name,
        inherits_from: None,
        description: None,
        is_default: true,
        position,
        revision: 0,
        created_by: project.created_by,
        created_at: cx.now(),
        updated_at: cx.now(),
    }
}
