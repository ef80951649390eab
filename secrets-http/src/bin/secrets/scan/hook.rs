//! Git hook that scans before each commit.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use secrets_http::atomic_file::{Access, AtomicFile};

use super::git;
use crate::failure::{Exit, Failure};

/// File name of the Git hook.
const NAME: &str = "pre-commit";

/// File name under which an existing hook of the user is kept. It runs after the scan.
const KEPT: &str = "pre-commit.kept";

/// Line that shows that a hook was installed by this program.
const MARK: &str = "# Installed by `secrets scan hook install`.";

/// Installs the pre-commit hook of Git and returns its path. An existing hook is kept, and runs
/// after the scan.
pub(crate) fn install() -> Result<PathBuf, Failure> {
    let folder = git::hooks_folder()?;
    let (path, kept) = (folder.join(NAME), folder.join(KEPT));
    let script = script()?;
    fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
    if exists(&path) && !is_ours(&path)? {
        if exists(&kept) {
            let message = format!("{}: exists already; move it away first", kept.display());
            return Err(Failure::new(Exit::Conflict, message));
        }
        fs::rename(&path, &kept).map_err(|error| failed(&path, &error))?;
    }
    AtomicFile::create(&path, Access::Executable)
        .and_then(|file| file.replace(script.as_bytes()))
        .map_err(|error| failed(&path, &error))?;
    Ok(path)
}

/// Removes the pre-commit hook of Git, restores the user's earlier hook if there is one, and
/// returns the path. Returns `None` if the hook was not installed by this program.
pub(crate) fn uninstall() -> Result<Option<PathBuf>, Failure> {
    let folder = git::hooks_folder()?;
    let (path, kept) = (folder.join(NAME), folder.join(KEPT));
    if !exists(&path) || !is_ours(&path)? {
        return Ok(None);
    }
    let removed = if exists(&kept) { fs::rename(&kept, &path) } else { fs::remove_file(&path) };
    removed.map_err(|error| failed(&path, &error))?;
    Ok(Some(path))
}

fn script() -> Result<String, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(Exit::Defect, format!("own path: {error}")))?;
    let program = program.to_string_lossy();
    let program = shlex::try_quote(&program)
        .map_err(|_| Failure::new(Exit::CannotCreate, "own path: must not contain NUL"))?;
    Ok(format!(
        "#!/bin/sh
{MARK}
# `secrets scan hook uninstall` removes it.
secrets={program}
[ -x \"$secrets\" ] || secrets=secrets
\"$secrets\" scan --staged --allow-empty || {{
    echo 'secrets: the commit was stopped; `git commit --no-verify` skips all hooks' >&2
    exit 1
}}
kept=\"$(dirname \"$0\")/{KEPT}\"
[ ! -x \"$kept\" ] || exec \"$kept\" \"$@\"
"
    ))
}

/// True if the path exists. A symbolic link whose target does not exist counts as existing.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn is_ours(path: &Path) -> Result<bool, Failure> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).lines().any(|line| line == MARK)),
        // A broken link.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed(path, &error)),
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::CannotCreate, format!("{}: {error}", path.display()))
}
