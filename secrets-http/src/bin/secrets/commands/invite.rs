//! `invite`: manages invitations to a team.

use std::path::Path;

use clap::{Args, Subcommand, ValueEnum};
use reqwest::Method;
use serde::Serialize;
use serde_json::json;

use super::team::TeamOption;
use crate::failure::{Failure, Outcome};
use crate::input::read_secret;
use crate::invocation::Invocation;
use crate::output::Column;
use crate::resource::{Kind, Resource};
use crate::service::Request;

const INVITATIONS: Kind = Kind {
    noun: "invitation",
    list: "invitations",
    id: "id",
    names: &["email"],
    columns: &[
        Column::new("EMAIL", "email"),
        Column::new("TEAM", "team_name"),
        Column::new("ROLE", "role"),
        Column::new("STATUS", "status"),
        Column::time("EXPIRES", "expires_at"),
        Column::new("LINK", "accept_url"),
        Column::new("ID", "id"),
    ],
};

const TEAM: Kind = Kind {
    noun: "team",
    list: "teams",
    id: "id",
    names: &[],
    columns: &[Column::new("SLUG", "slug"), Column::new("NAME", "name"), Column::new("ID", "id")],
};

/// Options of the command `secrets invite`.
#[derive(Debug, Args)]
pub(crate) struct Invite {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Invite a person by email; the link is shown if no email is sent.
    Create {
        /// Email address of the person.
        email: String,
        /// Role in the team. The role admin needs a login in the last 15 minutes.
        #[arg(long, value_enum, default_value_t = Role::Member)]
        role: Role,
        #[command(flatten)]
        team: TeamOption,
    },
    /// List the pending invitations of a team.
    List(TeamOption),
    /// List the invitations to yourself, in the first 15 minutes after `secrets login`.
    Mine,
    /// Send the email of an invitation again, with a new link.
    Resend {
        /// Invitation: the email address or ID.
        invitation: String,
        #[command(flatten)]
        team: TeamOption,
    },
    /// Revoke an invitation.
    Revoke {
        /// Invitation: the email address or ID.
        invitation: String,
        #[command(flatten)]
        team: TeamOption,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
    /// Accept an invitation to yourself, in the first 15 minutes after `secrets login`.
    Accept {
        /// Link or token of the invitation; `-` reads it from standard input.
        link: String,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    Member,
    Admin,
}

impl Invite {
    /// Runs the chosen subcommand of `invite`.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let resource = Resource::connect(cx, &INVITATIONS)?;
        match self.action {
            Action::Create { email, role, team } => {
                let team = team.id(cx, &resource.service).await?;
                let body = json!({ "email": email, "role": role });
                resource.create(&["teams", &team, "members"], &body).await
            }
            Action::List(team) => {
                let team = team.id(cx, &resource.service).await?;
                resource.list(&["teams", &team, "invitations"]).await
            }
            Action::Mine => resource.list(&["invitations"]).await,
            Action::Resend { invitation, team } => {
                let team = team.id(cx, &resource.service).await?;
                resend(cx, &resource, &team, &invitation).await
            }
            Action::Revoke { invitation, team, yes } => {
                let team = team.id(cx, &resource.service).await?;
                let id = resource.id(&["teams", &team, "invitations"], &invitation).await?;
                let question = format!("Revoke the invitation of {invitation}?");
                resource.delete(&["teams", &team, "invitations", &id], &question, yes).await
            }
            Action::Accept { link } => {
                let link = match link.as_str() {
                    "-" => read_secret(Path::new("-"))?,
                    _ => link.into(),
                };
                let token = link.rsplit('/').next().unwrap_or_default();
                let team = Resource::connect(cx, &TEAM)?;
                team.post(&["invitations", token, "accept"]).await
            }
        }
    }
}

/// Sends the invitation email again, and prints the new link if the response contains one.
async fn resend(
    cx: &Invocation,
    resource: &Resource<'_>,
    team: &str,
    invitation: &str,
) -> Result<Outcome, Failure> {
    let all = ["teams", team, "invitations"];
    let id = resource.id(&all, invitation).await?;
    let path = ["teams", team, "invitations", &id, "resend"];
    resource.service.send(Request::new(Method::POST, &path)).await?;
    let response = resource.service.value(&all).await?;
    let mut invitations = response.as_array().into_iter().flatten();
    let Some(invitation) = invitations.find(|invitation| invitation["id"] == id.as_str()) else {
        cx.output.hint("sent");
        return Ok(Outcome::Done);
    };
    resource.print(invitation)
}
