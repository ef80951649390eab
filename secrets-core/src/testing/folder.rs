//! Folder for the files that tests create.

use std::path::PathBuf;

/// Returns the folder for the files that tests create: a folder inside Cargo's target folder,
/// created if it is missing. Tests do not use the system's temporary folder, because that may be
/// small or in memory.
#[must_use]
pub fn folder() -> PathBuf {
    // The target folder holds PROFILE/deps/TEST.
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(3).unwrap().join("test/tmp");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
