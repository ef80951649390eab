//! Folder for the files that unit tests create.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::path::PathBuf;

/// Returns a folder inside Cargo's target folder, created if it is missing. Tests do not use the
/// system's temporary folder, because that may be small or in memory.
pub(crate) fn test_folder() -> PathBuf {
    // The test program is the file `PROFILE/deps/TEST` in the target folder.
    let program = std::env::current_exe().unwrap();
    let folder = program.ancestors().nth(3).unwrap().join("test/tmp");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
