//! Folder for the files of tests.

use std::path::PathBuf;

/// Returns the folder for the files of tests, under Cargo's target folder; creates it if it is
/// missing. The system's temporary folder may be small, or in memory.
#[must_use]
pub fn folder() -> PathBuf {
    // The target folder holds PROFILE/deps/TEST.
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(3).unwrap().join("test/tmp");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
