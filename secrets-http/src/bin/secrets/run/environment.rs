//! Environment variables of the program that `secrets run` starts.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use secrets_core::crypto::Plaintext;
use secrets_core::formats::dotenv;
use secrets_core::model::SecretKey;

use super::Values;
use crate::failure::{Exit, Failure};
use crate::invocation::Place;
use crate::patterns::Patterns;
use crate::settings::{self, TOKEN_VARIABLES};

/// Names of the environment variables that the option `--clean` of `secrets run` keeps. `*` at the
/// end of a name stands for any characters.
#[cfg(unix)]
const KEPT_BY_CLEAN: [&str; 11] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "COLORTERM",
    "TZ",
    "LANG",
    "LC_*",
    "TMPDIR",
];
#[cfg(not(unix))]
const KEPT_BY_CLEAN: [&str; 11] = [
    "PATH",
    "SystemRoot",
    "SystemDrive",
    "ComSpec",
    "windir",
    "PATHEXT",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "USERNAME",
    "APPDATA",
];

/// Variables that determine which code a program executes, such as `LD_PRELOAD`. A secret may set
/// them only if `--allow` names the variable.
const CODE_LOADING: [&str; 18] = [
    "PATH",
    "LD_*",
    "DYLD_*",
    "BASH_ENV",
    "ENV",
    "IFS",
    "PS4",
    "PROMPT_COMMAND",
    "NODE_OPTIONS",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PERL5OPT",
    "RUBYOPT",
    "JAVA_TOOL_OPTIONS",
    "GIT_SSH*",
    "GIT_EXTERNAL_DIFF",
    "GIT_CONFIG_*",
    "PYTHONHOME",
];

/// Options for the environment of the command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Environment of the command")]
pub(crate) struct EnvironmentOptions {
    /// Pass on no variables of this shell except PATH, HOME, USER, LOGNAME, SHELL, TERM, COLORTERM,
    /// TZ, LANG, LC_*, TMPDIR and those of `--keep`.
    #[arg(long)]
    clean: bool,
    /// Variable that `--clean` keeps. May be repeated.
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "clean")]
    keep: Vec<OsString>,
    /// Pass on `SECRETS_TOKEN` and `SECRETS_TOKEN_FILE`, which are removed by default.
    #[arg(long)]
    keep_token: bool,
    /// Do not overwrite variables that exist already: all of them, or those with these names or
    /// patterns.
    #[arg(
        long, value_name = "NAMES", value_delimiter = ',', num_args = 0..=1, require_equals = true,
        default_missing_value = "*"
    )]
    keep_existing: Vec<String>,
    /// Pass on only the secrets whose keys match this pattern. May be repeated; replaces `only` of
    /// the project file.
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    only: Vec<String>,
    /// Leave out the secrets whose keys match this pattern. May be repeated; added to `except` of
    /// the project file.
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    except: Vec<String>,
    /// Text to add before the name of each variable.
    #[arg(long, value_name = "TEXT", value_parser = prefix)]
    prefix: Option<String>,
    /// Pass on the secret OLD as the variable NEW, without the prefix. May be repeated.
    #[arg(long, value_name = "OLD=NEW", value_parser = rename)]
    rename: Vec<(String, String)>,
    /// Allow a secret to set this variable, although the variable determines which code is
    /// executed. May be repeated.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    allow: Vec<String>,
    /// Fail unless this secret exists. May be repeated; added to `require` of the project file.
    #[arg(long, value_name = "KEY", value_delimiter = ',')]
    require: Vec<String>,
    /// Fail unless all keys of this dotenv file exist.
    #[arg(long, value_name = "FILE")]
    require_file: Option<PathBuf>,
}

/// Rules for the program's environment variables: the command-line options, combined with the
/// project file.
#[derive(Debug)]
pub(crate) struct Rules {
    options: EnvironmentOptions,
    only: Option<Patterns>,
    except: Patterns,
    keep_existing: Patterns,
    required: Vec<String>,
}

/// Environment variables of the program that `secrets run` starts.
#[derive(PartialEq, Eq)]
pub(crate) struct Environment {
    variables: BTreeMap<OsString, OsString>,
    /// Number of secrets among the variables or, with `--mount`, in the file.
    pub(crate) secrets: usize,
    /// Names of variables that cannot be used in a shell.
    pub(crate) unusual: Vec<String>,
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Environment").field("secrets", &self.secrets).finish_non_exhaustive()
    }
}

/// Returns the environment variables of this process.
pub(crate) fn parent() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}

impl EnvironmentOptions {
    /// Combines the options with the section `[run]` of the project file. Paths in that section are
    /// relative to `folder`.
    pub(crate) fn rules(
        self,
        file: &settings::Run,
        folder: Option<&Path>,
    ) -> Result<Rules, Failure> {
        let only = if self.only.is_empty() { &file.only } else { &self.only };
        let only = if only.is_empty() { None } else { Some(Patterns::new(only)?) };
        let except = Patterns::new(&[file.except.as_slice(), &self.except].concat())?;
        let keep_existing = Patterns::new(&self.keep_existing)?;
        let mut required = [file.require.as_slice(), &self.require].concat();
        if let Some(path) = &self.require_file {
            required.extend(keys_of(path)?);
        } else if let Some(path) = &file.require_file {
            required.extend(keys_of(&folder.unwrap_or(Path::new("")).join(path))?);
        }
        Ok(Rules { options: self, only, except, keep_existing, required })
    }
}

impl Rules {
    /// Builds the environment variables of the program from the variables of this process and the
    /// secrets.
    pub(crate) fn compose(
        &self,
        parent: impl Iterator<Item = (OsString, OsString)>,
        place: &Place,
        values: &Values,
    ) -> Result<Environment, Failure> {
        let mut variables = self.without_secrets(parent, place).variables;
        let named = self.named(values)?;
        let unusual: Vec<_> =
            named.keys().filter(|name| name.contains(['.', '-'])).cloned().collect();
        let secrets = named.len();
        for (name, value) in named {
            let is_kept =
                self.keep_existing.matches(&name) && variables.contains_key(OsStr::new(&name));
            if !is_kept {
                variables.insert(name.into(), value.reveal().into());
            }
        }
        Ok(Environment { variables, secrets, unusual })
    }

    /// Builds the environment variables of a program that gets its secrets in the file of
    /// `--mount`, not in variables. So the rules for the names of variables do not apply.
    pub(crate) fn mounted(
        &self,
        parent: impl Iterator<Item = (OsString, OsString)>,
        place: &Place,
        values: &Values,
    ) -> Result<Environment, Failure> {
        let secrets = self.selected(values)?.len();
        Ok(Environment { secrets, ..self.without_secrets(parent, place) })
    }

    /// Returns the environment variables that are not secrets.
    fn without_secrets(
        &self,
        parent: impl Iterator<Item = (OsString, OsString)>,
        place: &Place,
    ) -> Environment {
        let mut variables: BTreeMap<_, _> =
            parent.filter(|(name, _)| self.passes_on(name)).collect();
        variables.insert("SECRETS_PROJECT".into(), place.project.clone().into());
        variables.insert("SECRETS_ENVIRONMENT".into(), place.environment.clone().into());
        Environment { variables, secrets: 0, unusual: Vec::new() }
    }

    /// Returns the secrets that the filters `--only` and `--except` select, with their original
    /// keys.
    pub(crate) fn selected<'a>(
        &'a self,
        values: &'a Values,
    ) -> Result<Vec<&'a (SecretKey, Plaintext)>, Failure> {
        let passes = |key: &str| {
            self.only.as_ref().is_none_or(|only| only.matches(key)) && !self.except.matches(key)
        };
        let selected: Vec<_> =
            values.secrets.iter().filter(|(key, _)| passes(key.as_str())).collect();
        let exists = |name: &str| selected.iter().any(|(key, _)| key.as_str() == name);
        let renamed = self.options.rename.iter().map(|(old, _)| old);
        let missing: Vec<_> = self
            .required
            .iter()
            .chain(renamed)
            .filter(|name| !exists(name))
            .map(String::as_str)
            .collect();
        if missing.is_empty() {
            return Ok(selected);
        }
        Err(Failure::new(
            Exit::Run,
            format!("required secrets are missing: {}", missing.join(", ")),
        ))
    }

    /// Returns the environment variables that the secrets set, by name. `--rename` and `--prefix`
    /// determine the names.
    fn named<'a>(&'a self, values: &'a Values) -> Result<BTreeMap<String, &'a Plaintext>, Failure> {
        let mut named = BTreeMap::new();
        for (key, value) in self.selected(values)? {
            let name = self.name_of(key.as_str());
            if named.insert(name.clone(), value).is_some() {
                let message = format!("{name}: two secrets have this name after renaming");
                return Err(Failure::new(Exit::Run, message));
            }
        }
        let is_refused = |name: &&String| {
            matches_any(OsStr::new(name), &CODE_LOADING) && !self.options.allow.contains(name)
        };
        let refused: Vec<_> = named.keys().filter(is_refused).map(String::as_str).collect();
        if refused.is_empty() {
            return Ok(named);
        }
        let message = format!(
            "variables of these names decide which code is executed, and are not set by secrets: {}; \
             --allow NAME allows one, --except NAME leaves the secret out",
            refused.join(", ")
        );
        Err(Failure::new(Exit::Run, message))
    }

    fn name_of(&self, key: &str) -> String {
        let renamed = self.options.rename.iter().find(|(old, _)| old == key);
        match (renamed, &self.options.prefix) {
            (Some((_, new)), _) => new.clone(),
            (None, Some(prefix)) => format!("{prefix}{key}"),
            (None, None) => key.to_owned(),
        }
    }

    fn passes_on(&self, name: &OsStr) -> bool {
        if TOKEN_VARIABLES.iter().any(|credential| name == *credential) {
            return self.options.keep_token;
        }
        let is_kept = || self.options.keep.iter().any(|kept| kept == name);
        !self.options.clean || matches_any(name, &KEPT_BY_CLEAN) || is_kept()
    }
}

impl Environment {
    /// Sets exactly these variables for a command. It inherits no other variables of this process.
    pub(crate) fn apply_to(&self, command: &mut Command) {
        command.env_clear().envs(&self.variables);
    }
}

/// True if a pattern matches the name of a variable. `*` at the end of a pattern stands for any
/// characters.
fn matches_any(name: &OsStr, patterns: &[&str]) -> bool {
    let name = name.as_encoded_bytes();
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start.as_bytes()),
        None => name == pattern.as_bytes(),
    })
}

/// Reads the keys of a dotenv file.
fn keys_of(path: &Path) -> Result<Vec<String>, Failure> {
    let failed = |exit, error: &dyn std::fmt::Display| {
        Failure::new(exit, format!("{}: {error}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(|error| failed(Exit::NoInput, &error))?;
    let entries = dotenv::parse(&text).map_err(|error| failed(Exit::Data, &error))?;
    Ok(entries.into_iter().map(|(key, _)| key.as_str().to_owned()).collect())
}

fn prefix(text: &str) -> Result<String, &'static str> {
    if is_name(text) { Ok(text.to_owned()) } else { Err(NAME_RULE) }
}

fn rename(text: &str) -> Result<(String, String), &'static str> {
    let (old, new) = text.split_once('=').ok_or("must have the form OLD=NEW")?;
    if is_name(new) { Ok((old.to_owned(), new.to_owned())) } else { Err(NAME_RULE) }
}

const NAME_RULE: &str = "must be letters, digits and underscores, and not begin with a digit";

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
