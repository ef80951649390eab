//! Project file `secrets-project.toml`, and the local file `secrets-project.local.toml`, which is
//! not committed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Component, Path, PathBuf};

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};

use super::variables::Variables;
use super::{Setting, Source, branch, is_inside};
use crate::failure::Failure;

/// File name of the project file.
pub(crate) const FILE_NAME: &str = "secrets-project.toml";

/// File name of the local file, which overrides the project file and is not committed.
pub(crate) const LOCAL_FILE_NAME: &str = "secrets-project.local.toml";

/// File name of the user's settings, in the folder for the user's settings.
const USER_FILE_NAME: &str = "config.toml";

/// Maximum size of a settings file, in bytes.
const MAX_BYTES: u64 = 256 * 1024;

/// Contents of a project file. It contains names and never the values of secrets.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProjectFile {
    /// Address of the service.
    pub(crate) server: Option<String>,
    /// Slug or ID of the project.
    pub(crate) project: Option<String>,
    /// Name or ID of the environment.
    pub(crate) environment: Option<String>,
    /// Names of environments, by Git branch. Used if no option or environment variable names an
    /// environment.
    #[serde(default)]
    pub(crate) branches: BTreeMap<String, String>,
    /// Settings for folders below the folder of the project file. If several paths match, the
    /// longest takes precedence.
    #[serde(default, deserialize_with = "relative_paths")]
    pub(crate) paths: BTreeMap<PathBuf, PathSettings>,
    /// Settings of the command `secrets run`.
    #[serde(default)]
    pub(crate) run: Run,
    /// Settings for offline copies.
    #[serde(default)]
    pub(crate) offline: Offline,
    /// Settings of the command `secrets scan`.
    #[serde(default)]
    pub(crate) scan: Scan,
}

/// Settings for one folder.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PathSettings {
    /// Slug or ID of the project.
    pub(crate) project: Option<String>,
    /// Name or ID of the environment.
    pub(crate) environment: Option<String>,
}

/// Section `[run]` of the project file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    /// Dotenv file whose keys must exist as secrets.
    pub(crate) require_file: Option<PathBuf>,
    /// Keys of secrets that must exist.
    #[serde(default)]
    pub(crate) require: Vec<String>,
    /// Patterns of the keys that are passed to the command. If there are none, all keys are passed.
    #[serde(default)]
    pub(crate) only: Vec<String>,
    /// Patterns of keys that are not passed to the command.
    #[serde(default)]
    pub(crate) except: Vec<String>,
}

/// Section `[offline]` of the project file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Offline {
    /// Lifetime of an offline copy, such as `24h`. If absent, no copies are kept.
    pub(crate) max_age: Option<String>,
    /// Environments that have offline copies.
    #[serde(default)]
    pub(crate) environments: Vec<String>,
}

/// Section `[scan]` of the project file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scan {
    /// Baseline: a file with accepted findings, which are not reported.
    pub(crate) baseline: Option<PathBuf>,
    /// File with additional rules for findings.
    pub(crate) rules: Option<PathBuf>,
    /// Patterns of paths that are not scanned.
    #[serde(default)]
    pub(crate) exclude: Vec<String>,
}

/// Project file and local file that a search has found, with the folder that contains them.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) folder: PathBuf,
    project: Option<ProjectFile>,
    local: Option<ProjectFile>,
    /// Path of the working directory, relative to `folder`.
    below: PathBuf,
}

/// The user's settings, which apply to all projects.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UserFile {
    server: Option<String>,
    ca_file: Option<PathBuf>,
    #[serde(skip)]
    path: PathBuf,
}

impl Found {
    /// Searches for the project file and the local file in the working directory and its parents.
    /// The search stops at the root of the Git repository, at the home folder, and at the boundary
    /// of the file system.
    pub(super) fn search(variables: Variables) -> Result<Option<Self>, Failure> {
        let working = std::env::current_dir()
            .map_err(|error| Failure::configuration(format!("working directory: {error}")))?;
        let home = variables.get("HOME")?.map(PathBuf::from);
        for folder in working.ancestors() {
            if device(folder) != device(&working) {
                break;
            }
            let (project, local) =
                (read(&folder.join(FILE_NAME))?, read(&folder.join(LOCAL_FILE_NAME))?);
            if project.is_some() || local.is_some() {
                let below = working.strip_prefix(folder).unwrap_or(Path::new("")).to_owned();
                return Ok(Some(Self { folder: folder.to_owned(), project, local, below }));
            }
            if folder.join(".git").exists() || home.as_deref() == Some(folder) {
                break;
            }
        }
        Ok(None)
    }

    /// Returns the combined settings: those of the local file, and for settings that it lacks,
    /// those of the project file.
    pub(super) fn merged(&self) -> ProjectFile {
        let mut file = self.project.clone().unwrap_or_default();
        let Some(local) = self.local.clone() else { return file };
        file.server = local.server.or(file.server);
        file.project = local.project.or(file.project);
        file.environment = local.environment.or(file.environment);
        file.branches.extend(local.branches);
        file.paths.extend(local.paths);
        if local.run != Run::default() {
            file.run = local.run;
        }
        if local.offline != Offline::default() {
            file.offline = local.offline;
        }
        if local.scan != Scan::default() {
            file.scan = local.scan;
        }
        file
    }

    pub(super) fn server(&self) -> Option<Setting<String>> {
        self.first(|file| file.server.clone().map(|url| (url, "server".to_owned())))
    }

    pub(super) fn project(&self) -> Option<Setting<String>> {
        self.first(|file| {
            let by_path = self.by_path(file, |settings| settings.project.clone());
            by_path.or_else(|| file.project.clone().map(|name| (name, "project".to_owned())))
        })
    }

    pub(super) fn environment(&self) -> Option<Setting<String>> {
        let has_branches = self.files().any(|(_, file)| !file.branches.is_empty());
        let branch = if has_branches { branch::current(&self.folder) } else { None };
        self.first(|file| {
            let by_branch = branch.as_ref().and_then(|branch| {
                let name = file.branches.get(branch)?;
                Some((name.clone(), format!("branch {branch}")))
            });
            by_branch
                .or_else(|| self.by_path(file, |settings| settings.environment.clone()))
                .or_else(|| file.environment.clone().map(|name| (name, "environment".to_owned())))
        })
    }

    /// Iterates over the project file and the local file with their names, the local file first.
    fn files(&self) -> impl Iterator<Item = (&'static str, &ProjectFile)> {
        let local = self.local.iter().map(|file| (LOCAL_FILE_NAME, file));
        local.chain(self.project.iter().map(|file| (FILE_NAME, file)))
    }

    fn first(
        &self,
        find: impl Fn(&ProjectFile) -> Option<(String, String)>,
    ) -> Option<Setting<String>> {
        self.files().find_map(|(name, file)| {
            let (value, place) = find(file)?;
            Some(Setting::new(value, Source::ProjectFile(self.folder.join(name), place)))
        })
    }

    /// Returns a setting for the working directory from the section `paths` of `file`, and the path
    /// under which the setting was found; `None` if no path with this setting matches. If several
    /// paths match, the longest takes precedence.
    fn by_path(
        &self,
        file: &ProjectFile,
        find: impl Fn(&PathSettings) -> Option<String>,
    ) -> Option<(String, String)> {
        file.paths
            .iter()
            .filter(|(path, _)| is_inside(&self.below, path))
            .filter_map(|(path, settings)| Some((path, find(settings)?)))
            .max_by_key(|(path, _)| path.components().count())
            .map(|(path, value)| (value, format!("path {}", path.display())))
    }
}

impl UserFile {
    pub(super) fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(USER_FILE_NAME);
        let file: Option<Self> = read(&path)?;
        Ok(Self { path, ..file.unwrap_or_default() })
    }

    pub(super) fn server(&self) -> Option<Setting<String>> {
        let url = self.server.clone()?;
        Some(Setting::new(url, Source::UserFile(self.path.clone(), "server")))
    }

    pub(super) fn ca_file(&self) -> Option<Setting<PathBuf>> {
        let path = self.ca_file.clone()?;
        Some(Setting::new(path, Source::UserFile(self.path.clone(), "ca_file")))
    }
}

/// Reads a settings file. Returns `None` if it does not exist. Fails if the file belongs neither to
/// the user nor to root, or is writable by everybody, because it determines where credentials are
/// sent.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Failure> {
    let refuse = |rule: &str| Failure::configuration(format!("{}: {rule}", path.display()));
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refuse(&error.to_string())),
        // A named pipe would block the program.
        Ok(metadata) if !metadata.is_file() => return Err(refuse("must be a file")),
        Ok(_) => {}
    }
    let unreadable = |error: io::Error| refuse(&error.to_string());
    let file = File::open(path).map_err(unreadable)?;
    check_owner(&file.metadata().map_err(unreadable)?).map_err(refuse)?;
    let mut text = String::new();
    let length = file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    if length as u64 > MAX_BYTES {
        return Err(refuse(&format!("must have at most {MAX_BYTES} bytes")));
    }
    toml::from_str(&text).map(Some).map_err(|error| refuse(error.to_string().trim_end()))
}

/// Deserializes the settings of folders. Fails if a path is not relative, because it would never
/// match.
fn relative_paths<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<PathBuf, PathSettings>, D::Error> {
    let paths = BTreeMap::<PathBuf, PathSettings>::deserialize(deserializer)?;
    let is_name = |part| matches!(part, Component::Normal(_));
    if paths.keys().all(|path| path.components().all(is_name)) {
        return Ok(paths);
    }
    Err(D::Error::custom("paths must be relative to the file, without `.` and `..`"))
}

#[cfg(unix)]
fn check_owner(metadata: &fs::Metadata) -> Result<(), &'static str> {
    use std::os::unix::fs::MetadataExt as _;
    const WRITABLE_BY_OTHERS: u32 = 0o002;
    let user = nix::unistd::Uid::effective();
    if metadata.uid() != user.as_raw() && metadata.uid() != 0 {
        return Err("belongs to another user, and is not used");
    }
    if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err("is writable by everybody, and is not used; repair it with chmod o-w");
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_about: &fs::Metadata) -> Result<(), &'static str> {
    Ok(())
}

#[cfg(unix)]
fn device(folder: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(folder).ok().map(|metadata| metadata.dev())
}

#[cfg(not(unix))]
fn device(_folder: &Path) -> Option<u64> {
    None
}
