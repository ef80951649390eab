//! `token`: manages service tokens.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use reqwest::Method;
use serde::Serialize;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::team::TeamOption;
use crate::arguments::{OutputFormat, duration};
use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::Invocation;
use crate::output::{Column, NewFile, cell};
use crate::resource::{Kind, Resource};
use crate::service::Request;
use crate::settings::Source;

const TOKENS: Kind = Kind {
    noun: "token",
    list: "tokens",
    id: "id",
    names: &["name", "token_prefix"],
    columns: &[
        Column::new("NAME", "name"),
        Column::new("PREFIX", "token_prefix"),
        Column::new("PERMISSIONS", "permissions"),
        Column::new("STATUS", "status"),
        Column::time("EXPIRES", "expires_at"),
        Column::time("LAST USED", "last_used_at"),
        Column::new("ID", "id"),
    ],
};

/// Options of the command `secrets token`.
#[derive(Debug, Args)]
pub(crate) struct Token {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the tokens of the teams that you administer.
    List(TeamOption),
    /// Create a token and print its text, which is shown only once.
    Create(Create),
    /// Replace a token by a new one and print its text, which is shown only once.
    Rotate(Rotate),
    /// Delete a token, which immediately ends its access.
    Revoke {
        /// Token: the name, prefix or ID.
        token: String,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
struct Create {
    /// Name of the new token.
    name: String,
    /// Allowed operations, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "read")]
    permissions: Vec<Permission>,
    /// Projects that the token can access, separated by commas [default: the project of the
    /// settings].
    #[arg(long, value_delimiter = ',', value_name = "PROJECT")]
    projects: Vec<String>,
    /// Give access to all projects of the team, including later ones.
    #[arg(long, conflicts_with_all = ["projects", "environments"])]
    all_projects: bool,
    /// Environments that the token can access, separated by commas [default: the environment of the
    /// settings, or all if none is set]. With --projects, the environment of the project file is
    /// ignored.
    #[arg(long, value_delimiter = ',', value_name = "ENVIRONMENT")]
    environments: Vec<String>,
    /// Lifetime in days [default: unlimited].
    #[arg(long, value_name = "DAYS", conflicts_with = "expires_at")]
    expires_in_days: Option<u32>,
    /// Time of expiry, such as 2027-01-31T00:00:00Z.
    #[arg(long, value_name = "TIME")]
    expires_at: Option<String>,
    /// Networks from which the token may be used, such as 10.0.0.0/8, separated by commas [default:
    /// all].
    #[arg(long, value_delimiter = ',', value_name = "NETWORK")]
    ip_allowlist: Vec<String>,
    #[command(flatten)]
    team: TeamOption,
    #[command(flatten)]
    out: Out,
}

#[derive(Debug, Args)]
struct Rotate {
    /// Token: the name, prefix or ID.
    token: String,
    /// Time during which the old token still works, such as `1h`, at most `7d`.
    #[arg(long, value_parser = duration, value_name = "TIME", default_value = "0s")]
    grace: Duration,
    #[command(flatten)]
    out: Out,
}

#[derive(Debug, Args)]
struct Out {
    /// Write the token to a new file that only you can read, instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Permission {
    Read,
    Write,
}

#[derive(Serialize)]
struct NewToken {
    name: String,
    team_id: Option<String>,
    permissions: Vec<Permission>,
    all_projects: bool,
    project_ids: Option<Vec<String>>,
    environments: Option<Vec<String>>,
    expires_in_days: Option<u32>,
    expires_at: Option<String>,
    ip_allowlist: Vec<String>,
}

impl Token {
    /// Runs the chosen subcommand of `token`.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let resource = Resource::connect(cx, &TOKENS)?;
        match self.action {
            Action::List(team) => {
                let mut request = Request::new(Method::GET, &["tokens"]);
                if let Some(id) = team.named(&resource.service).await? {
                    request = request.query("team_id", id);
                }
                resource.print_list(&resource.service.send(request).await?.json()?)
            }
            Action::Create(create) => {
                let file = create.out.file()?;
                let body = create.body(cx, &resource).await?;
                let token = resource.service.call(Method::POST, &["tokens"], &body).await?;
                print(cx, token, file)
            }
            Action::Rotate(Rotate { token, grace, out }) => {
                let file = out.file()?;
                let id = resource.id(&["tokens"], &token).await?;
                let path = ["tokens", &id, "rotate"];
                let body = json!({ "grace_period_seconds": grace.as_secs() });
                print(cx, resource.service.call(Method::POST, &path, &body).await?, file)
            }
            Action::Revoke { token, yes } => {
                let id = resource.id(&["tokens"], &token).await?;
                let question = format!("Revoke the token {token}?");
                resource.delete(&["tokens", &id], &question, yes).await
            }
        }
    }
}

impl Create {
    /// Returns the body of the request that creates the token. By default, the token is for the
    /// project and environment of the settings.
    async fn body(self, cx: &Invocation, resource: &Resource<'_>) -> Result<NewToken, Failure> {
        let environment = self.environment(cx)?;
        let given = |names: Vec<String>| Some(names).filter(|names| !names.is_empty());
        let is_default = !self.all_projects && self.projects.is_empty();
        let (team_id, project_ids) = if is_default {
            let project = cx.project(&resource.service).await?;
            (Some(self.team.id(cx, &resource.service).await?), Some(vec![project]))
        } else {
            (self.team.named(&resource.service).await?, given(self.projects))
        };
        let environments =
            given(self.environments).or_else(|| environment.map(|environment| vec![environment]));
        Ok(NewToken {
            name: self.name,
            team_id,
            permissions: self.permissions,
            all_projects: self.all_projects,
            project_ids,
            environments,
            expires_in_days: self.expires_in_days,
            expires_at: self.expires_at,
            ip_allowlist: self.ip_allowlist,
        })
    }

    /// Returns the environment of the settings to which the token is limited if `--environments` is
    /// not given; `None` for all environments. An environment of the project file is used only if
    /// `--projects` is not given.
    fn environment(&self, cx: &Invocation) -> Result<Option<String>, Failure> {
        let Some(setting) = &cx.settings.environment else { return Ok(None) };
        let is_used = match &setting.source {
            // The service accepts no environments for a token of all projects.
            Source::Option(name) if self.all_projects => {
                let message = format!("{name} cannot be used with --all-projects");
                return Err(Failure::usage(message));
            }
            Source::Option(_) | Source::Variable(_) => !self.all_projects,
            _ => !self.all_projects && self.projects.is_empty(),
        };
        Ok(is_used.then(|| setting.value.clone()))
    }
}

impl Out {
    /// Prepares the file for the token's text, if `--out` is given. This is done before the token
    /// is created, so that no token is lost if the file cannot be created.
    fn file(&self) -> Result<Option<NewFile>, Failure> {
        self.out.as_deref().map(|path| NewFile::create(path, false)).transpose()
    }
}

/// Prints the text of a token. With a file, writes the text to the file and prints the other fields
/// of the token.
fn print(cx: &Invocation, mut token: Value, file: Option<NewFile>) -> Result<Outcome, Failure> {
    let (name, id) = (cell(&token, "name"), cell(&token, "id"));
    if file.is_none() && cx.output.format == OutputFormat::Json {
        cx.output.json(&token)?;
        return Ok(Outcome::Done);
    }
    let text = token.as_object_mut().and_then(|token| token.remove("token"));
    let Some(Value::String(text)) = text else {
        return Err(Failure::new(Exit::Protocol, "the response has no token"));
    };
    let text = Zeroizing::new(text + "\n");
    match file {
        Some(file) => {
            file.write(text.as_bytes())?;
            cx.output.object(&token, TOKENS.columns)?;
        }
        None => cx.output.raw(text.as_bytes())?,
    }
    cx.output.hint(&format!("token {name} ({id}); it is not shown again"));
    Ok(Outcome::Done)
}
