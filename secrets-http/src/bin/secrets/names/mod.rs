//! Names of projects, environments and secrets, for completion in a shell.
//!
//! The names are stored in a file in the cache folder, and used for ten minutes without a request
//! to the service. Completion prints no errors: if the service does not respond in time, completion
//! offers older names from the file, or none.

mod cache;

use std::ffi::OsString;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::{CommandFactory as _, FromArgMatches as _};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use serde_json::Value;

pub(crate) use cache::forget;

use crate::arguments::{Arguments, Global};
use crate::failure::Failure;
use crate::invocation::Invocation;

/// Time limit for loading names that are not in the cache.
const TIME_LIMIT: Duration = Duration::from_millis(300);

/// Kind of names that completion offers: projects, environments or keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Projects,
    Environments,
    Keys,
}

/// Adds completion candidates to the arguments of all commands that take a project, an environment
/// or a key.
pub(crate) fn complete_names(command: clap::Command) -> clap::Command {
    command
        .mut_args(|argument| match kind_of(argument.get_id().as_str()) {
            Some(kind) => argument.add(ArgValueCandidates::new(move || candidates(kind))),
            None => argument,
        })
        .mut_subcommands(complete_names)
}

/// Returns the kind of names that complete an argument with this ID. Arguments with the same
/// meaning have the same ID in all commands.
fn kind_of(argument: &str) -> Option<Kind> {
    match argument {
        "project" | "projects" => Some(Kind::Projects),
        "environment" | "environments" => Some(Kind::Environments),
        "key" | "keys" => Some(Kind::Keys),
        _ => None,
    }
}

fn candidates(kind: Kind) -> Vec<CompletionCandidate> {
    let names = names(kind).unwrap_or_default();
    names.into_iter().filter(|name| is_plain(name)).map(CompletionCandidate::new).collect()
}

/// True for a name that needs no quoting in a shell.
fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

/// Returns the names from the cache if they are recent, otherwise from the service. If the service
/// does not respond, returns older names from the cache, or `None` if there are none.
fn names(kind: Kind) -> Option<Vec<String>> {
    let cx = Invocation::new(&global()?).ok()?;
    let folders = cx.settings.folders.clone();
    let question = question(&cx, kind)?;
    let known = cache::names(&folders, &question);
    if let Some(known) = &known
        && known.is_recent()
    {
        return Some(known.names.clone());
    }
    let (sender, receiver) = mpsc::channel();
    // The keychain or the service may not respond; the waiting thread ends with the program.
    thread::Builder::new().spawn(move || drop(sender.send(ask(&cx, kind)))).ok()?;
    match receiver.recv_timeout(TIME_LIMIT) {
        Ok(Some(names)) => {
            cache::keep(&folders, question, names.clone());
            Some(names)
        }
        _ => known.map(|known| known.names),
    }
}

/// Parses the global options of the command line that is being completed; `None` if they are
/// invalid. The shell passes this command line after `--`.
fn global() -> Option<Global> {
    let words: Vec<OsString> =
        std::env::args_os().skip_while(|word| word != "--").skip(1).collect();
    let command = Arguments::command().ignore_errors(true);
    let mut global = Global::from_arg_matches(&command.try_get_matches_from(words).ok()?).ok()?;
    global.verbose = false;
    global.timeout = TIME_LIMIT;
    Some(global)
}

/// Returns the cache key for names of this kind; `None` if the server is unknown. The key contains
/// the server, and the project and environment if the names depend on them.
fn question(cx: &Invocation, kind: Kind) -> Option<String> {
    let origin = cx.server().ok()?.value.origin();
    let settings = &cx.settings;
    let project = settings.project.as_ref().map_or("", |setting| &setting.value);
    let environment = settings.environment.as_ref().map_or("", |setting| &setting.value);
    Some(match kind {
        Kind::Projects => origin,
        Kind::Environments => format!("{origin} {project}"),
        Kind::Keys => format!("{origin} {project} {environment}"),
    })
}

fn ask(cx: &Invocation, kind: Kind) -> Option<Vec<String>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(load(cx, kind)).ok()
}

async fn load(cx: &Invocation, kind: Kind) -> Result<Vec<String>, Failure> {
    let service = cx.service()?;
    let (response, list, name) = match kind {
        Kind::Projects => (service.value(&["projects"]).await?, "projects", "slug"),
        Kind::Environments => {
            let project = cx.project(&service).await?;
            let path = ["projects", &project, "environments"];
            (service.value(&path).await?, "environments", "name")
        }
        Kind::Keys => {
            let place = cx.place(&service).await?;
            (service.value(&place.path(&["secrets"])).await?, "secrets", "key")
        }
    };
    let rows = response.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Ok(rows.iter().filter_map(|row| row.get(name)?.as_str()).map(str::to_owned).collect())
}
