//! `member`: manages the members of a team, and their permissions for environments.

mod permission;

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use reqwest::Method;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::team::{self, TeamOption};
use crate::arguments::OutputFormat;
use crate::failure::{Failure, Outcome};
use crate::invocation::Invocation;
use crate::output::Column;
use crate::resource::{Kind, Resource};
use crate::service::Service;

/// Members of a team, as objects that commands list and change.
pub(super) const MEMBERS: Kind = Kind {
    noun: "member",
    list: "members",
    id: "user_id",
    names: &["email"],
    columns: &[
        Column::new("EMAIL", "email"),
        Column::new("NAME", "name"),
        Column::new("ROLE", "role"),
        Column::new("STATUS", "status"),
        Column::time("JOINED", "joined_at"),
        Column::new("ID", "user_id"),
    ],
};

/// Options of the command `secrets member`.
#[derive(Debug, Args)]
pub(crate) struct Member {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the members of a team.
    List(TeamOption),
    /// Change the role of a member.
    Role {
        /// Member: the email address or ID.
        member: String,
        /// New role.
        role: Role,
        #[command(flatten)]
        team: TeamOption,
    },
    /// Remove a member from a team.
    Remove {
        /// Member: the email address or ID.
        member: String,
        #[command(flatten)]
        team: TeamOption,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
    /// Manage the permissions of members for environments.
    Permission(permission::Permission),
}

#[derive(Debug, Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    Member,
    Admin,
    Owner,
}

/// Time limit for loading the email addresses, so that a list waits only briefly for them.
const EMAILS_TIMEOUT: Duration = Duration::from_secs(3);

/// Email addresses of the members of a project's team, to show them instead of user IDs.
pub(super) struct Emails(Value);

impl Emails {
    /// Loads the email addresses if the output is a table; other output formats show user IDs. The
    /// result is empty if the caller may not list the members, or if loading takes too long.
    pub(super) async fn load(cx: &Invocation, service: &Service, project: &str) -> Self {
        if cx.output.format != OutputFormat::Table {
            return Self(Value::Null);
        }
        let members = timeout(EMAILS_TIMEOUT, of_project(service, project)).await;
        Self(members.ok().and_then(Result::ok).unwrap_or_default())
    }

    /// Replaces the user IDs in this field of the objects. IDs of service tokens and of former
    /// members stay.
    pub(super) fn replace(&self, objects: &mut [Value], field: &str) {
        let members = self.0["members"].as_array().map(Vec::as_slice).unwrap_or_default();
        for object in objects {
            let found = members.iter().find(|member| member["user_id"] == object[field]);
            if let Some(email) = found.map(|member| member["email"].clone()) {
                object[field] = email;
            }
        }
    }
}

/// Loads the members of the project's team.
async fn of_project(service: &Service, project: &str) -> Result<Value, Failure> {
    service.value(&["teams", &team::of_project(service, project).await?]).await
}

impl Member {
    /// Runs the chosen subcommand of `member`.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let resource = Resource::connect(cx, &MEMBERS)?;
        match self.action {
            Action::List(team) => {
                let team = team.id(cx, &resource.service).await?;
                resource.list(&["teams", &team]).await
            }
            Action::Role { member, role, team } => {
                let team = team.id(cx, &resource.service).await?;
                let id = resource.id(&["teams", &team], &member).await?;
                let path = ["teams", &team, "members", &id];
                resource.change(Method::PATCH, &path, &json!({ "role": role })).await
            }
            Action::Remove { member, team, yes } => {
                let team = team.id(cx, &resource.service).await?;
                let id = resource.id(&["teams", &team], &member).await?;
                let question = format!("Remove {member} from the team?");
                resource.delete(&["teams", &team, "members", &id], &question, yes).await
            }
            Action::Permission(permission) => permission.run(cx).await,
        }
    }
}
