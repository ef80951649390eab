//! `team`: manages teams. Also contains the option with which other commands select a team.

use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::invocation::Invocation;
use crate::output::Column;
use crate::resource::{self, Kind, Resource};
use crate::service::Service;

const TEAMS: Kind = Kind {
    noun: "team",
    list: "teams",
    id: "id",
    names: &["slug", "name"],
    columns: &[
        Column::new("SLUG", "slug"),
        Column::new("NAME", "name"),
        Column::new("ROLE", "role"),
        Column::new("MEMBERS", "member_count"),
        Column::new("PLAN", "plan"),
        Column::time("CREATED", "created_at"),
        Column::new("ID", "id"),
    ],
};

const USAGE: [Column; 4] = [
    Column::new("RESOURCE", "resource"),
    Column::new("USED", "used"),
    Column::new("TOTAL", "total"),
    Column::new("LIMIT", "limit"),
];

/// Option that selects a team.
#[derive(Debug, Args)]
pub(crate) struct TeamOption {
    /// Team: its slug, name or ID; needed only if you have several.
    #[arg(long)]
    team: Option<String>,
}

/// Options of the command `secrets team`.
#[derive(Debug, Args)]
pub(crate) struct Team {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List your teams.
    List,
    /// Create a team.
    Create(Create),
    /// Show a team; with -o json also its members.
    Show(TeamOption),
    /// Show the resource usage of a team, and its limits.
    Usage(TeamOption),
}

#[derive(Debug, Args, Serialize)]
struct Create {
    /// Name of the new team.
    name: String,
}

#[derive(Deserialize)]
struct ProjectTeam {
    team_id: String,
}

impl TeamOption {
    /// Returns the ID of the team given with `--team`; `None` without this option.
    pub(crate) async fn named(&self, service: &Service) -> Result<Option<String>, Failure> {
        let Some(name) = &self.team else { return Ok(None) };
        resource::id(&TEAMS, &service.value(&["teams"]).await?, name).map(Some)
    }

    /// Returns the ID of the team given with `--team`, or else of the project's team, or else of
    /// the user's only team. Fails if there is none of these.
    pub(crate) async fn id(&self, cx: &Invocation, service: &Service) -> Result<String, Failure> {
        if let Some(id) = self.named(service).await? {
            return Ok(id);
        }
        if let Some(project) = &cx.settings.project {
            return of_project(service, &project.value).await;
        }
        let teams: Value = service.value(&["teams"]).await?;
        match teams["teams"].as_array().map(Vec::as_slice) {
            Some([team]) => Ok(team["id"].as_str().unwrap_or_default().to_owned()),
            _ => Err(Failure::usage("no team: name one with --team, or a project with -p")),
        }
    }
}

/// Returns the ID of the project's team.
pub(super) async fn of_project(service: &Service, project: &str) -> Result<String, Failure> {
    let project: ProjectTeam = service.get(&["projects", project]).await?;
    Ok(project.team_id)
}

impl Team {
    /// Runs the chosen subcommand of `team`.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let resource = Resource::connect(cx, &TEAMS)?;
        match self.action {
            Action::List => resource.list(&["teams"]).await,
            Action::Create(body) => resource.create(&["teams"], &body).await,
            Action::Show(team) => {
                let id = team.id(cx, &resource.service).await?;
                resource.show(&["teams", &id]).await
            }
            Action::Usage(team) => {
                let id = team.id(cx, &resource.service).await?;
                print_usage(cx, &resource.service.value(&["teams", &id, "usage"]).await?)
            }
        }
    }
}

/// Prints one line for each limited resource. With JSON output, prints the response unchanged.
fn print_usage(cx: &Invocation, response: &Value) -> Result<Outcome, Failure> {
    if cx.output.format.is_json() {
        cx.output.json(response)?;
        return Ok(Outcome::Done);
    }
    let usage = response["usage"].as_object().into_iter().flatten();
    let rows = usage.map(|(name, usage)| {
        let mut row = usage.clone();
        row["resource"] = json!(name.replace('_', " "));
        row
    });
    cx.output.list(&rows.collect(), "usage", &USAGE)?;
    Ok(Outcome::Done)
}
