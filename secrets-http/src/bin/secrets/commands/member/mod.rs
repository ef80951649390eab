//! `member`: manages the members of a team, and their permissions for environments.

mod permission;

use clap::{Args, Subcommand, ValueEnum};
use reqwest::Method;
use serde::Serialize;
use serde_json::json;

use super::team::TeamOption;
use crate::failure::{Failure, Outcome};
use crate::invocation::Invocation;
use crate::output::Column;
use crate::resource::{Kind, Resource};

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

/// Options of `member`.
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
