//! `member permission`: manages the permissions of members for environments.

use clap::{Args, Subcommand, ValueEnum};
use reqwest::Method;
use serde::Serialize;
use serde_json::json;

use super::{MEMBERS, of_project};
use crate::failure::{Failure, Outcome};
use crate::invocation::{Invocation, Place};
use crate::output::Column;
use crate::resource::{self, Kind, Resource};
use crate::service::Service;

const PERMISSIONS: Kind = Kind {
    noun: "permission",
    list: "permissions",
    id: "id",
    names: &[],
    columns: &[
        Column::new("EMAIL", "user_email"),
        Column::new("ENVIRONMENT", "environment_name"),
        Column::new("ACCESS", "role"),
        Column::time("CHANGED", "updated_at"),
        Column::new("USER ID", "user_id"),
    ],
};

const DEFAULTS: Kind = Kind {
    noun: "default permission",
    list: "defaults",
    id: "id",
    names: &[],
    columns: &[
        Column::new("ENVIRONMENT", "environment_name"),
        Column::new("ACCESS", "default_role"),
    ],
};

/// Options of the command `secrets member permission`.
#[derive(Debug, Args)]
pub(super) struct Permission {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the permissions that are set for the environment.
    List,
    /// List your own permissions in the project.
    Mine,
    /// Set the permission of a member for the environment.
    Set {
        /// Member: the email address or ID.
        member: String,
        /// Access to the environment.
        access: Access,
    },
    /// Remove the permission of a member for the environment; the default applies again.
    Remove {
        /// Member: the email address or ID.
        member: String,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
    /// List, replace or remove the default permissions of the project.
    Default {
        /// New defaults, which replace all others: ENVIRONMENT=ACCESS.
        #[arg(value_name = "ENVIRONMENT=ACCESS", value_parser = default, conflicts_with = "clear")]
        defaults: Vec<EnvironmentDefault>,
        /// Remove all defaults.
        #[arg(long)]
        clear: bool,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Access {
    None,
    Read,
    Write,
    Admin,
}

#[derive(Debug, Clone, Serialize)]
struct EnvironmentDefault {
    environment_name: String,
    default_role: Access,
}

impl Permission {
    /// Runs the chosen subcommand of `member permission`.
    pub(super) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let resource = Resource::connect(cx, &PERMISSIONS)?;
        match self.action {
            Action::Mine => {
                let project = cx.project(&resource.service).await?;
                resource.list(&["projects", &project, "my-permissions"]).await
            }
            Action::List => {
                let place = cx.place(&resource.service).await?;
                resource.list(&place.path(&["permissions"])).await
            }
            Action::Set { member, access } => {
                let place = cx.place(&resource.service).await?;
                let user = user(&resource.service, &place, &member).await?;
                let path = place.path(&["permissions", &user]);
                resource.change(Method::PUT, &path, &json!({ "role": access })).await
            }
            Action::Remove { member, yes } => {
                let place = cx.place(&resource.service).await?;
                let user = user(&resource.service, &place, &member).await?;
                let question = format!("Remove the permission of {member} for {place}?");
                resource.delete(&place.path(&["permissions", &user]), &question, yes).await
            }
            Action::Default { defaults, clear, yes } => change(cx, &defaults, clear, yes).await,
        }
    }
}

/// Lists the default permissions of the project, or changes them.
async fn change(
    cx: &Invocation,
    defaults: &[EnvironmentDefault],
    clear: bool,
    yes: bool,
) -> Result<Outcome, Failure> {
    let resource = Resource::connect(cx, &DEFAULTS)?;
    let project = cx.project(&resource.service).await?;
    let path = ["projects", &project, "permissions", "defaults"];
    if clear {
        let question = format!("Remove the default permissions of {project}?");
        return resource.delete(&path, &question, yes).await;
    }
    if defaults.is_empty() {
        return resource.list(&path).await;
    }
    let body = json!({ "defaults": defaults });
    resource.print_list(&resource.service.call(Method::PUT, &path, &body).await?)
}

/// Returns the user ID of a member of the project's team.
async fn user(service: &Service, place: &Place, member: &str) -> Result<String, Failure> {
    resource::id(&MEMBERS, &of_project(service, &place.project).await?, member)
}

fn default(text: &str) -> Result<EnvironmentDefault, String> {
    let (name, access) = text.split_once('=').ok_or("must have the form ENVIRONMENT=ACCESS")?;
    let default_role = Access::from_str(access, false)
        .map_err(|_| "the access must be none, read, write or admin".to_owned())?;
    Ok(EnvironmentDefault { environment_name: name.to_owned(), default_role })
}
