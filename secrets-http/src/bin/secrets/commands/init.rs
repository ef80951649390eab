//! `init`: creates the project file of the working folder.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use clap::Args;
use reqwest::Method;
use secrets_http::atomic_file::{Access, AtomicFile};
use serde::Deserialize;
use serde_json::json;
use toml_edit::{DocumentMut, value};

use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::{Invocation, Place};
use crate::service::Service;
use crate::settings::{FILE_NAME, LOCAL_FILE_NAME, Server, Setting, Source};

const GIT_IGNORE: &str = ".gitignore";

/// First line of a new project file.
const HEADER: &str = "# Names only, never values. Commit this file.\n";

/// Options of the command `secrets init`. The global options name the server, the project and the
/// environment.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Change an existing project file; its other settings and its comments remain.
    #[arg(long)]
    force: bool,
    /// Ask no questions: take the project and the environment from the options.
    #[arg(short, long)]
    yes: bool,
}

#[derive(Deserialize)]
struct Projects {
    projects: Vec<Project>,
}

#[derive(Deserialize)]
struct Project {
    slug: String,
    name: String,
}

#[derive(Deserialize)]
struct Environments {
    environments: Vec<Environment>,
}

#[derive(Deserialize)]
struct Environment {
    id: String,
    name: String,
}

impl Init {
    /// Creates or changes the project file.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let path = Path::new(FILE_NAME);
        if path.exists() && !self.force {
            let message = format!("{FILE_NAME}: exists already; --force changes it");
            return Err(Failure::new(Exit::Conflict, message));
        }
        let asks = cx.output.is_interactive && !self.yes;
        let server = server(cx, asks)?;
        let authentication = cx.authentication(&server)?;
        let service = cx.connect(server.value, Some(authentication.reveal()))?;
        let project = project(cx, &service, asks).await?;
        let environment = environment(cx, &service, &project, asks).await?;
        let place = Place { project, environment };
        write(path, service.server(), &place, self.force)?;
        ignore_local_file()?;
        let message = format!("Wrote {FILE_NAME} for {place}.");
        let Place { project, environment } = &place;
        let result = json!({ "file": FILE_NAME, "project": project, "environment": environment });
        cx.output.result(&message, &result)?;
        Ok(Outcome::Done)
    }
}

/// Returns the server of the settings, or the only server with a stored credential. If there are
/// several such servers and `asks` is true, the user chooses one.
fn server(cx: &Invocation, asks: bool) -> Result<Setting<Server>, Failure> {
    let mut origins = cx.credentials().origins()?;
    if cx.settings.server.is_some() || !asks || origins.len() < 2 {
        return cx.server();
    }
    let origin = origins.swap_remove(cx.output.choose("Server", &origins)?);
    Ok(Setting { value: Server::parse(&origin, true)?, source: Source::OnlySession })
}

/// Returns the value of a setting that is used without a question to the user: a value from an
/// option or an environment variable or, if `asks` is false, any value. Otherwise, returns `None`.
fn given(setting: Option<&Setting<String>>, asks: bool) -> Option<&str> {
    let is_given = |setting: &&Setting<String>| {
        !asks || matches!(setting.source, Source::Option(_) | Source::Variable(_))
    };
    setting.filter(is_given).map(|setting| setting.value.as_str())
}

/// Returns the slug of the project: of the [`given`] project, which must exist, or else of the
/// project that the user chooses or creates. Fails if there is no given project and `asks` is
/// false.
async fn project(cx: &Invocation, service: &Service, asks: bool) -> Result<String, Failure> {
    if let Some(project) = given(cx.settings.project.as_ref(), asks) {
        let project: Project = service.get(&["projects", project]).await?;
        return Ok(project.slug);
    }
    if !asks {
        return Err(Failure::usage("no project: name one with --project"));
    }
    let Projects { mut projects } = service.get(&["projects"]).await?;
    let mut items: Vec<_> =
        projects.iter().map(|project| format!("{} ({})", project.slug, project.name)).collect();
    items.push("a new project".to_owned());
    let chosen = cx.output.choose("Project", &items)?;
    if chosen < projects.len() {
        return Ok(projects.swap_remove(chosen).slug);
    }
    let body = json!({ "name": cx.output.ask("Name of the project", None)? });
    let created: Project = service.call(Method::POST, &["projects"], &body).await?;
    Ok(created.slug)
}

/// Returns the name of the environment: of the [`given`] environment, which must exist, or else of
/// the environment that the user chooses. Fails if there is no given environment and `asks` is
/// false.
async fn environment(
    cx: &Invocation,
    service: &Service,
    project: &str,
    asks: bool,
) -> Result<String, Failure> {
    let Environments { mut environments } =
        service.get(&["projects", project, "environments"]).await?;
    if let Some(given) = given(cx.settings.environment.as_ref(), asks) {
        let found = environments
            .into_iter()
            .find(|environment| environment.name == given || environment.id == given);
        return found
            .map(|environment| environment.name)
            .ok_or_else(|| Failure::new(Exit::NotFound, "environment not found"));
    }
    if !asks {
        return Err(Failure::usage("no environment: name one with --environment"));
    }
    if environments.is_empty() {
        let message = "the project has no environment; `secrets env create` creates one";
        return Err(Failure::new(Exit::NotFound, message));
    }
    let items: Vec<_> = environments.iter().map(|environment| environment.name.clone()).collect();
    let chosen = cx.output.choose("Environment", &items)?;
    Ok(environments.swap_remove(chosen).name)
}

/// Writes the project file. Fails if the file exists, unless `replaces` is true.
fn write(path: &Path, server: &Server, place: &Place, replaces: bool) -> Result<(), Failure> {
    let cannot_create = |error: &dyn std::fmt::Display| {
        Failure::new(Exit::CannotCreate, format!("{FILE_NAME}: {error}"))
    };
    let (header, existing) = match fs::read_to_string(path) {
        Ok(text) => ("", text),
        Err(error) if error.kind() == ErrorKind::NotFound => (HEADER, String::new()),
        Err(error) => return Err(cannot_create(&error)),
    };
    let mut document: DocumentMut = existing.parse().map_err(|error: toml_edit::TomlError| {
        Failure::configuration(format!("{FILE_NAME}: {}", error.to_string().trim_end()))
    })?;
    document["server"] = value(server.to_string());
    document["project"] = value(&place.project);
    document["environment"] = value(&place.environment);
    let text = format!("{header}{document}");
    let file = AtomicFile::create(path, Access::Shared).map_err(|error| cannot_create(&error))?;
    let text = text.as_bytes();
    let written = if replaces { file.replace(text) } else { file.write_new(text) };
    written.map_err(|error| cannot_create(&error))
}

/// Adds the name of the local settings file to `.gitignore`, unless it is already listed there.
fn ignore_local_file() -> Result<(), Failure> {
    let failed =
        |error: std::io::Error| Failure::new(Exit::CannotCreate, format!("{GIT_IGNORE}: {error}"));
    let text = match fs::read_to_string(GIT_IGNORE) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error)),
    };
    let is_named = |line: &str| line.trim().trim_start_matches('/') == LOCAL_FILE_NAME;
    if text.lines().any(is_named) {
        return Ok(());
    }
    let separator = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let mut file =
        fs::File::options().create(true).append(true).open(GIT_IGNORE).map_err(failed)?;
    file.write_all(format!("{separator}{LOCAL_FILE_NAME}\n").as_bytes()).map_err(failed)
}
