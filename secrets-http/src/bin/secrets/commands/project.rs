//! `project`: manages projects.

use clap::{ArgGroup, Args, Subcommand};
use reqwest::Method;
use serde::Serialize;

use super::team::TeamOption;
use crate::failure::{Failure, Outcome};
use crate::invocation::Invocation;
use crate::output::Column;
use crate::resource::{Kind, Resource};

const PROJECTS: Kind = Kind {
    noun: "project",
    list: "projects",
    id: "id",
    names: &["slug"],
    columns: &[
        Column::new("SLUG", "slug"),
        Column::new("NAME", "name"),
        Column::new("DESCRIPTION", "description"),
        Column::time("CREATED", "created_at"),
        Column::new("ID", "id"),
    ],
};

/// Options of the command `secrets project`.
#[derive(Debug, Args)]
pub(crate) struct Project {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the projects that you can access.
    List,
    /// Create a project with the environments development, staging and production.
    Create(Create),
    /// Show a project; with -o json also its environments.
    Show {
        /// Project: its slug or ID [default: the project of the settings].
        project: Option<String>,
    },
    /// Change the name or the description of a project.
    Update(Update),
    /// Delete a project; it can be restored for 30 days.
    Delete {
        /// Project: its slug or ID.
        project: String,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
    /// Restore a deleted project.
    Restore {
        /// ID of the project.
        project: String,
    },
}

#[derive(Debug, Args)]
struct Create {
    /// Name of the new project.
    name: String,
    /// Slug of the project [default: made from the name].
    #[arg(long)]
    slug: Option<String>,
    /// Description of the project.
    #[arg(long)]
    description: Option<String>,
    #[command(flatten)]
    team: TeamOption,
}

#[derive(Serialize)]
struct NewProject {
    name: String,
    slug: Option<String>,
    description: Option<String>,
    team_id: Option<String>,
}

#[derive(Debug, Args, Serialize)]
#[command(group =
    ArgGroup::new("change").required(true).multiple(true).args(["name", "description"]))]
struct Update {
    /// Project: its slug or ID.
    #[serde(skip)]
    project: String,
    /// New name of the project.
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// New description of the project.
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

impl Project {
    /// Runs the chosen subcommand of `project`.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let resource = Resource::connect(cx, &PROJECTS)?;
        match self.action {
            Action::List => resource.list(&["projects"]).await,
            Action::Create(Create { name, slug, description, team }) => {
                let team_id = team.named(&resource.service).await?;
                let body = NewProject { name, slug, description, team_id };
                resource.create(&["projects"], &body).await
            }
            Action::Show { project } => {
                let project = match project {
                    Some(project) => project,
                    None => cx.project(&resource.service).await?,
                };
                resource.show(&["projects", &project]).await
            }
            Action::Update(update) => {
                resource.change(Method::PATCH, &["projects", &update.project], &update).await
            }
            Action::Delete { project, yes } => {
                let question = format!("Delete the project {project}?");
                resource.delete(&["projects", &project], &question, yes).await
            }
            Action::Restore { project } => resource.post(&["projects", &project, "restore"]).await,
        }
    }
}
