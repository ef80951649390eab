//! Settings, read from command-line options, environment variables, the project file and the user's
//! settings file, in this order of precedence.

mod branch;
mod folders;
mod project_file;
mod server;
mod variables;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use folders::Folders;
pub(crate) use project_file::{FILE_NAME, LOCAL_FILE_NAME, ProjectFile, Run, Scan};
pub(crate) use server::Server;
pub(crate) use variables::{TOKEN_VARIABLES, Variables, without_token};

use self::project_file::{Found, UserFile};
use crate::arguments::Global;
use crate::failure::Failure;

/// Settings of one run of this program, each with its source.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Address of the service.
    pub(crate) server: Option<Setting<Server>>,
    /// Slug or ID of the project.
    pub(crate) project: Option<Setting<String>>,
    /// Name or ID of the environment.
    pub(crate) environment: Option<Setting<String>>,
    /// True if plain HTTP to servers on other machines is allowed.
    pub(crate) allows_http: bool,
    /// PEM file with an additional certificate authority.
    pub(crate) ca_file: Option<Setting<PathBuf>>,
    /// Time limit for requests to the service.
    pub(crate) timeout: Duration,
    /// Setting that determines when offline copies are used.
    pub(crate) offline: OfflineMode,
    /// Source of the setting `offline`.
    pub(crate) offline_source: Source,
    /// Project file, combined with the local file; `None` if there is neither.
    pub(crate) project_file: Option<ProjectFile>,
    /// Folder of the project file.
    pub(crate) project_folder: Option<PathBuf>,
    /// Environment variables of this process.
    pub(crate) variables: Variables,
    /// Folders for the program's own files.
    pub(crate) folders: Folders,
}

/// Value of a setting, with its source.
#[derive(Debug, Clone)]
pub(crate) struct Setting<T> {
    /// Value of the setting.
    pub(crate) value: T,
    /// Place from which the value was read.
    pub(crate) source: Source,
}

/// Place from which the value of a setting was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// Command-line option with this name.
    Option(&'static str),
    /// Environment variable with this name.
    Variable(&'static str),
    /// Project file or local file: its path, and the name of the setting in the file.
    ProjectFile(PathBuf, String),
    /// The user's settings file: its path, and the name of the setting in the file.
    UserFile(PathBuf, &'static str),
    /// Stored credentials: the value is the only server for which a credential is stored.
    OnlySession,
    /// Default value, because no other source has the setting.
    Default,
}

/// Setting that determines when offline copies are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OfflineMode {
    /// An offline copy is used if the service is unreachable.
    Fallback,
    /// Only offline copies are used. The service is not contacted.
    Only,
    /// Offline copies are never used.
    Never,
}

impl<T> Setting<T> {
    fn new(value: T, source: Source) -> Self {
        Self { value, source }
    }

    fn try_map<U>(self, f: impl FnOnce(T) -> Result<U, Failure>) -> Result<Setting<U>, Failure> {
        let source = self.source;
        let value = f(self.value).map_err(|mut failure| {
            failure.message = format!("{source}: {}", failure.message);
            failure
        })?;
        Ok(Setting { value, source })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(name) => write!(f, "option {name}"),
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::ProjectFile(path, place) => write!(f, "{} ({place})", path.display()),
            Self::UserFile(path, place) => write!(f, "{} ({place})", path.display()),
            Self::OnlySession => f.write_str("the only server that you are signed in to"),
            Self::Default => f.write_str("default"),
        }
    }
}

impl fmt::Display for OfflineMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fallback => "on",
            Self::Only => "only",
            Self::Never => "off",
        })
    }
}

impl Settings {
    /// Reads the settings from all sources and combines them.
    pub(crate) fn load(global: &Global, variables: Variables) -> Result<Self, Failure> {
        let folders = Folders::locate()?;
        let found = Found::search(variables)?;
        let user = UserFile::read(&folders.config)?;
        let search = Search { global, variables, found: found.as_ref(), user: &user };
        let server =
            search.server().map(|url| url.try_map(|url| server(&url, global))).transpose()?;
        let (project, environment, ca_file) =
            (search.project(), search.environment(), search.ca_file());
        let (offline, offline_source) = offline_mode(global, variables)?;
        let (project_file, project_folder) =
            found.map_or((None, None), |found| (Some(found.merged()), Some(found.folder)));
        Ok(Self {
            server,
            project,
            environment,
            allows_http: global.insecure_http,
            ca_file,
            timeout: global.timeout,
            offline,
            offline_source,
            project_file,
            project_folder,
            variables,
            folders,
        })
    }

    /// Returns the section `[run]` of the project file, or its defaults.
    pub(crate) fn run(&self) -> Run {
        self.project_file.as_ref().map(|file| file.run.clone()).unwrap_or_default()
    }
}

fn server(url: &str, global: &Global) -> Result<Server, Failure> {
    Server::parse(url, global.insecure_http)
}

fn offline_mode(global: &Global, variables: Variables) -> Result<(OfflineMode, Source), Failure> {
    const VARIABLE: &str = "SECRETS_OFFLINE";
    if global.offline {
        return Ok((OfflineMode::Only, Source::Option("--offline")));
    }
    if global.no_offline {
        return Ok((OfflineMode::Never, Source::Option("--no-offline")));
    }
    let mode = match variables.get(VARIABLE)?.as_deref() {
        // Off by default on a build server, whose folders may be kept as caches.
        None if variables.is_ci() => return Ok((OfflineMode::Never, Source::Variable("CI"))),
        None => return Ok((OfflineMode::Fallback, Source::Default)),
        Some("on") => OfflineMode::Fallback,
        Some("only") => OfflineMode::Only,
        Some("off") => OfflineMode::Never,
        Some(_) => return Err(Failure::configuration("SECRETS_OFFLINE: must be on, off or only")),
    };
    Ok((mode, Source::Variable(VARIABLE)))
}

/// Sources of settings, in order of precedence, in which a setting is looked up.
struct Search<'a> {
    global: &'a Global,
    variables: Variables,
    found: Option<&'a Found>,
    user: &'a UserFile,
}

impl Search<'_> {
    fn server(&self) -> Option<Setting<String>> {
        option(self.global.server.as_ref(), "--server")
            .or_else(|| self.variable("SECRETS_URL"))
            .or_else(|| self.found.and_then(Found::server))
            .or_else(|| self.user.server())
    }

    fn project(&self) -> Option<Setting<String>> {
        option(self.global.project.as_ref(), "--project")
            .or_else(|| self.variable("SECRETS_PROJECT"))
            .or_else(|| self.found.and_then(Found::project))
    }

    fn environment(&self) -> Option<Setting<String>> {
        option(self.global.environment.as_ref(), "--environment")
            .or_else(|| self.variable("SECRETS_ENVIRONMENT"))
            .or_else(|| self.found.and_then(Found::environment))
    }

    fn ca_file(&self) -> Option<Setting<PathBuf>> {
        let given = self.global.ca_file.clone();
        given
            .map(|path| Setting::new(path, Source::Option("--ca-file")))
            .or_else(|| self.variable("SECRETS_CA_FILE").map(into_path))
            .or_else(|| self.user.ca_file())
    }

    /// Returns the setting that an environment variable contains, if the variable is set. Variables
    /// with invalid Unicode were refused earlier.
    fn variable(&self, name: &'static str) -> Option<Setting<String>> {
        let value = self.variables.get(name).ok().flatten()?;
        Some(Setting::new(value, Source::Variable(name)))
    }
}

fn option(value: Option<&String>, name: &'static str) -> Option<Setting<String>> {
    value.map(|value| Setting::new(value.clone(), Source::Option(name)))
}

fn into_path(setting: Setting<String>) -> Setting<PathBuf> {
    Setting { value: PathBuf::from(setting.value), source: setting.source }
}

/// True if `path` is the folder itself or inside the folder.
fn is_inside(path: &Path, folder: &Path) -> bool {
    path.strip_prefix(folder).is_ok()
}
