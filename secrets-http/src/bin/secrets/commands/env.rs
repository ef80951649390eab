//! `env`: manages the environments of a project.

use clap::{ArgGroup, Args, Subcommand};
use reqwest::Method;
use serde::Serialize;
use serde_json::Value;

use crate::failure::{Failure, Outcome};
use crate::invocation::Invocation;
use crate::output::Column;
use crate::resource::{Kind, Resource};

const ENVIRONMENTS: Kind = Kind {
    noun: "environment",
    list: "environments",
    id: "id",
    names: &["name"],
    columns: &[
        Column::new("NAME", "name"),
        Column::new("INHERITS FROM", "inherits_from"),
        Column::new("DESCRIPTION", "description"),
        Column::time("CREATED", "created_at"),
        Column::new("ID", "id"),
    ],
};

/// Options of the command `secrets env`.
#[derive(Debug, Args)]
pub(crate) struct Env {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the environments of the project.
    List,
    /// Create an environment.
    Create(Create),
    /// Show an environment.
    Show {
        /// Environment: its name or ID.
        name: String,
    },
    /// Change the name, the parent or the description of an environment.
    Update(Update),
    /// Change the name of an environment.
    Rename {
        /// Environment: its name or ID.
        name: String,
        /// New name of the environment.
        new_name: String,
    },
    /// Delete an environment and its secrets.
    Delete {
        /// Environment: its name or ID.
        name: String,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args, Serialize)]
struct Create {
    /// Name of the new environment, unique in the project.
    name: String,
    /// Environment to inherit secrets from.
    #[arg(long, value_name = "ENVIRONMENT")]
    inherits_from: Option<String>,
    /// Description of the environment.
    #[arg(long)]
    description: Option<String>,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("change").required(true).multiple(true).args([
    "new_name", "inherits_from", "inherits_nothing", "description",
]))]
struct Update {
    /// Environment: its name or ID.
    name: String,
    /// New name of the environment.
    #[arg(long, value_name = "NAME")]
    new_name: Option<String>,
    /// Environment to inherit secrets from.
    #[arg(long, value_name = "ENVIRONMENT")]
    inherits_from: Option<String>,
    /// Inherit secrets from no environment.
    #[arg(long, conflicts_with = "inherits_from")]
    inherits_nothing: bool,
    /// New description of the environment.
    #[arg(long)]
    description: Option<String>,
}

/// JSON body of the request that changes an environment. A field that is `None` stays unchanged;
/// the value null for `inherits_from` removes the parent.
#[derive(Default, Serialize)]
struct Change {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inherits_from: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

impl Env {
    /// Runs the chosen subcommand of `env`.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let resource = Resource::connect(cx, &ENVIRONMENTS)?;
        let project = cx.project(&resource.service).await?;
        let all = ["projects", &project, "environments"];
        let one = |name| ["projects", &project, "environments", name];
        match self.action {
            Action::List => resource.list(&all).await,
            Action::Create(body) => resource.create(&all, &body).await,
            Action::Show { name } => resource.show(&one(&name)).await,
            Action::Update(update) => {
                let name = update.name.clone();
                resource.change(Method::PATCH, &one(&name), &Change::from(update)).await
            }
            Action::Rename { name, new_name } => {
                let change = Change { name: Some(new_name), ..Change::default() };
                resource.change(Method::PATCH, &one(&name), &change).await
            }
            Action::Delete { name, yes } => {
                let question =
                    format!("Delete the environment {name} of {project} and its secrets?");
                resource.delete(&one(&name), &question, yes).await
            }
        }
    }
}

impl From<Update> for Change {
    fn from(update: Update) -> Self {
        Self {
            name: update.new_name,
            inherits_from: if update.inherits_nothing {
                Some(Value::Null)
            } else {
                update.inherits_from.map(Value::from)
            },
            description: update.description,
        }
    }
}
