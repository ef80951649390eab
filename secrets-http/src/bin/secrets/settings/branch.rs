//! Current Git branch of a folder.

use std::path::Path;
use std::process::{Command, Stdio};

use super::variables::without_token;

/// Returns the name of the Git branch that is checked out in a folder. Returns `None` outside of a
/// repository, on a detached head, or if Git is not installed.
pub(super) fn current(folder: &Path) -> Option<String> {
    let mut command = Command::new("git");
    without_token(&mut command);
    let output = command
        .args(["symbolic-ref", "--quiet", "--short", "HEAD"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let name = String::from_utf8(output.stdout).ok()?;
    Some(name.trim_end().to_owned()).filter(|name| output.status.success() && !name.is_empty())
}
