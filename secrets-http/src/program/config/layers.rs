//! Layers of the configuration: flags, environment variables and the configuration file. A flag
//! overrides a variable, and a variable overrides the file.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use secrets_core::model::Plan;
use zeroize::Zeroizing;

use super::failure::Failure;
use super::plans;
use super::settings_table::{self, Setting};
use crate::similar::closest;

/// Values of the settings in each layer (flags, environment variables, configuration file), in
/// order of precedence, and the plans in the configuration file.
pub(super) struct Layers {
    layers: [(Source, BTreeMap<String, OsString>); 3],
    plans: Vec<Plan>,
}

/// Layer in which the value of a setting was found.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Flag,
    Variable,
    File(PathBuf),
}

/// Value of a setting, and the layer in which it was found. Not `Debug`, because the value may be
/// secret.
pub(super) struct Found {
    pub(super) value: Zeroizing<String>,
    source: Source,
    name: &'static str,
    is_contents: bool,
}

impl Layers {
    /// Reads all layers: flags, variables, and the configuration file.
    pub(super) fn new(
        flags: &BTreeMap<String, OsString>,
        variables: BTreeMap<String, OsString>,
        file: Option<&Path>,
    ) -> Result<Self, Failure> {
        let path = file.map(Path::to_owned).unwrap_or_default();
        let (file, plans) = file.map(read_file).transpose()?.unwrap_or_default();
        let layers = [
            (Source::Flag, flags.clone()),
            (Source::Variable, variables),
            (Source::File(path), file),
        ];
        Ok(Self { layers, plans })
    }

    /// Returns the plans defined in the configuration file.
    pub(super) fn plans(&self) -> &[Plan] {
        &self.plans
    }

    /// True if a layer contains the setting, or its companion setting with the suffix `_file`: the
    /// path of a file that contains the value.
    pub(super) fn has(&self, name: &str) -> bool {
        self.described(name).is_some()
    }

    /// Returns the name of a setting for messages, as it is given in the first layer that contains
    /// the setting or its companion setting with the suffix `_file`; `None` if no layer contains
    /// one of them.
    pub(super) fn described(&self, name: &str) -> Option<String> {
        let file_name = format!("{name}_file");
        self.layers.iter().find_map(|(source, values)| {
            let given = [name, &file_name].into_iter().find(|name| values.contains_key(*name))?;
            Some(source.name(given))
        })
    }

    /// Returns the value of a setting from the first layer that contains it; `None` if no layer
    /// contains it.
    ///
    /// If the layer contains the companion setting with the suffix `_file` instead, reads the value
    /// from that file.
    pub(super) fn find(&self, name: &'static str) -> Result<Option<Found>, Failure> {
        let file_name = format!("{name}_file");
        for (source, values) in &self.layers {
            let (value, is_contents) = match (values.get(name), values.get(&file_name)) {
                (None, None) => continue,
                (Some(_), Some(_)) => {
                    let (one, other) = (source.name(name), source.name(&file_name));
                    return Err(Failure::configuration(format!(
                        "{one} and {other} are both given: keep one"
                    )));
                }
                (Some(value), None) => (text(source, name, value)?, false),
                (None, Some(path)) => (contents(source, &file_name, Path::new(path))?, true),
            };
            return Ok(Some(Found { value, source: source.clone(), name, is_contents }));
        }
        Ok(None)
    }
}

impl Found {
    /// True if the value itself was given on the command line, where other users of the machine can
    /// see it.
    pub(super) fn is_public(&self) -> bool {
        self.source == Source::Flag && !self.is_contents
    }

    /// Returns the failure for a value that violates `rule`. The message names the setting and the
    /// rule, but does not contain the value.
    pub(super) fn breaks(&self, rule: &str) -> Failure {
        Failure::configuration(format!("{} {rule}", self.source.name(self.name)))
    }
}

impl Source {
    /// Returns the name of a setting for messages: the documented environment variable, and the
    /// name in the layer where the value was found.
    fn name(&self, name: &str) -> String {
        let variable = settings_table::variable(name);
        match self {
            Self::Flag => format!("{variable} (given as --{})", settings_table::flag(name)),
            Self::Variable => variable,
            Self::File(path) => format!("{variable} (given as {name} in {})", path.display()),
        }
    }
}

fn text(source: &Source, name: &str, value: &OsString) -> Result<Zeroizing<String>, Failure> {
    match value.to_str() {
        Some(text) => Ok(Zeroizing::new(text.to_owned())),
        None => Err(Failure::configuration(format!("{} must be UTF-8", source.name(name)))),
    }
}

/// Reads the value of a setting from a file, and removes the line break at its end.
fn contents(source: &Source, name: &str, path: &Path) -> Result<Zeroizing<String>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let (name, why) = (source.name(name), unreadable(path, &error));
        Failure::configuration(format!("{name} must name a file that can be read: {why}"))
    })?;
    let mut text = Zeroizing::new(text);
    if text.ends_with('\n') {
        text.pop();
    }
    if text.ends_with('\r') {
        text.pop();
    }
    Ok(text)
}

/// Describes why a file cannot be read. Includes the path only if it is a file name in an existing
/// folder, because any other text may be the secret itself, given to the wrong setting.
fn unreadable(path: &Path, error: &io::Error) -> String {
    let reason = reason(error);
    match path.parent().filter(|folder| folder.file_name().is_some()) {
        Some(folder) if folder.is_dir() => format!("{}: {reason}", path.display()),
        _ if path.is_absolute() => reason,
        _ => format!("{reason}; a relative path begins at the current folder"),
    }
}

/// Returns a short description of an error that occurred when a file was read.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "it does not exist".to_owned(),
        ErrorKind::PermissionDenied => "permission denied for this user".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::InvalidData => "it is not text in UTF-8".to_owned(),
        kind => kind.to_string(),
    }
}

/// Splits the environment variables into settings, by setting name, and unknown variables that
/// begin with `SECRETS_`. An empty variable counts as not set.
pub(super) fn split_variables(
    variables: Vec<(OsString, OsString)>,
) -> (BTreeMap<String, OsString>, Vec<String>) {
    let names = names();
    let (mut ours, mut unknown) = (BTreeMap::new(), Vec::new());
    for (variable, value) in variables {
        let Some(name) = variable.to_str().and_then(|name| name.strip_prefix("SECRETS_")) else {
            continue;
        };
        let key = name.to_ascii_lowercase();
        if names.contains(&key) && settings_table::variable(&key).as_str() == variable {
            if !value.is_empty() {
                ours.insert(key, value);
            }
        } else if !is_from_kubernetes(name) && !CLIENT_VARIABLES.contains(&name) {
            unknown.push(format!("SECRETS_{name}"));
        }
    }
    (ours, unknown)
}

/// Names, without the prefix `SECRETS_`, of environment variables of the program `secrets` and of
/// other clients of the service. `secrets-http` does not report them as unknown. `dev` prints
/// commands that set the first two.
const CLIENT_VARIABLES: [&str; 8] =
    ["URL", "TOKEN", "TOKEN_FILE", "PROJECT", "ENVIRONMENT", "OFFLINE", "CA_FILE", "EDITOR"];

/// True for the environment variables that Kubernetes sets in every container of a namespace that
/// contains a service named `secrets`.
fn is_from_kubernetes(name: &str) -> bool {
    name == "PORT" || name.starts_with("PORT_") || name.starts_with("SERVICE_")
}

/// Returns the documented environment variable whose name is most similar to that of an unknown
/// variable, if any is similar.
pub(super) fn similar(unknown: &str) -> Option<String> {
    let name = unknown.strip_prefix("SECRETS_")?.to_ascii_lowercase();
    closest(&name, names().iter().map(String::as_str)).map(settings_table::variable)
}

fn names() -> BTreeSet<String> {
    let all = settings_table::all();
    all.flat_map(|setting| [Some(setting.name.to_owned()), file_name_of(setting)])
        .flatten()
        .collect()
}

fn file_name_of(setting: &Setting) -> Option<String> {
    setting.has_file().then(|| setting.file_name())
}

/// Reads the configuration file. Errors contain the line or key, but never the value.
fn read_file(path: &Path) -> Result<(BTreeMap<String, OsString>, Vec<Plan>), Failure> {
    let refused =
        |why: String| Failure::configuration(format!("the file {} {why}", path.display()));
    let text = std::fs::read_to_string(path)
        .map(Zeroizing::new)
        .map_err(|error| refused(format!("cannot be read: {}", reason(&error))))?;
    let mut table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        refused(format!("is not TOML: line {line}: {}", error.message()))
    })?;
    let plans = table.remove("plans").map(plans::read).transpose().map_err(refused)?;
    let names = names();
    let mut values = BTreeMap::new();
    for (key, value) in table {
        if !names.contains(&key) {
            return Err(refused(format!("has an unknown key: {key}")));
        }
        let value = setting_text(value).ok_or_else(|| {
            refused(format!("must give {key} as text, a number, true or false, or a list of texts"))
        })?;
        values.insert(key, value.into());
    }
    Ok((values, plans.unwrap_or_default()))
}

fn setting_text(value: toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(truth) => Some(truth.to_string()),
        toml::Value::Array(items) => {
            let texts = items.iter().map(toml::Value::as_str).collect::<Option<Vec<_>>>()?;
            Some(texts.join(","))
        }
        _ => None,
    }
}
